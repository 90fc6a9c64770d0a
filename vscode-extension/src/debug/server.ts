// Starts `clew dap` for one session, and sees that it does not outlive it.

import { type ChildProcess, spawn } from 'node:child_process';
import type * as vscode from 'vscode';
import { showLogAction, UserError } from '../errors';
import type { Log } from '../log';

const banner = /^DAP server listening at: (.*):(\d+)\s*$/m;

/** How long the server may take until it listens, in milliseconds. It is far above the usual time. */
const patience = 60_000;

/** Why a server has ended, of all that it wrote: the line that says so (the usage may follow it), else the last. */
export function lastWords(text: string): string {
	const lines = text.trim().split('\n');
	return (lines.findLast((l) => /^(Error|clew): /.test(l)) ?? lines.at(-1) ?? '').replace(/^(Error|clew): /, '').trim();
}

/** Servers that run, by session. */
export class Servers implements vscode.Disposable {
	private readonly running = new Map<string, ChildProcess>();

	constructor(private readonly log: Log) {}

	/** Starts a server and returns the address that it listens on. */
	start(
		sessionId: string,
		command: string,
		args: string[],
		cwd: string | undefined,
		env: NodeJS.ProcessEnv = process.env,
	): Promise<{ host: string; port: number }> {
		return new Promise((resolve, reject) => {
			this.log.line(`${command} ${args.join(' ')}${cwd ? `   (in ${cwd})` : ''}`);
			const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
			this.running.set(sessionId, child);
			let seen = '';
			let ready = false;
			const fail = (why: string) => {
				if (ready) return;
				ready = true;
				clearTimeout(timer);
				this.stop(sessionId);
				reject(new UserError(`clew dap did not start: ${why}`, [showLogAction]));
			};
			const timer = setTimeout(() => fail('it does not listen'), patience);
			const hear = (data: Buffer) => {
				const text = data.toString();
				this.log.text(text);
				if (ready) return;
				seen += text;
				const [, host, port] = banner.exec(seen) ?? [];
				if (host === undefined || port === undefined) return;
				ready = true;
				clearTimeout(timer);
				resolve({ host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) });
			};
			child.stdout.on('data', hear);
			child.stderr.on('data', hear);
			child.on('error', (err) => fail(err.message));
			// A session that is restarted keeps its id: the entry may be the next server's.
			child.on('exit', () => this.running.get(sessionId) === child && this.running.delete(sessionId));
			// Not before its last words were read.
			child.on('close', (code, signal) => {
				const how = signal ?? `status ${code}`;
				this.log.line(`clew dap ended (${how})`);
				fail(lastWords(seen) || `it ended with ${how}`);
			});
		});
	}

	/** Ends the session's server if it is still there: it ends by itself when its client is gone, but for what hangs. */
	stop(sessionId: string): void {
		this.running.get(sessionId)?.kill('SIGTERM');
	}

	/** How many servers run. */
	get count(): number {
		return this.running.size;
	}

	/** How long a server may take to end by itself after its session, in milliseconds. */
	stopLater(sessionId: string, after = 15_000): void {
		const child = this.running.get(sessionId);
		if (child) setTimeout(() => child.exitCode === null && child.kill('SIGTERM'), after).unref();
	}

	dispose(): void {
		for (const child of this.running.values()) child.kill('SIGTERM');
	}
}
