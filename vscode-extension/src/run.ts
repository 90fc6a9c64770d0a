// Runs a program to its end and returns its output.

import { type ChildProcess, spawn } from 'node:child_process';
import * as vscode from 'vscode';

export interface RunResult {
	/** Undefined where a signal ended it. */
	code: number | undefined;
	stdout: string;
	stderr: string;
}

export interface RunOptions {
	cwd?: string;
	env?: NodeJS.ProcessEnv;
	stdin?: string;
	/** In milliseconds. */
	timeout?: number;
	token?: vscode.CancellationToken;
	/** Receives both outputs, as they come. */
	hear?: (text: string) => void;
}

/** Output beyond this is a mistake. */
const most = 256 << 20;

/** Ends a program and the processes that it has started: it leads a group of its own. */
function killAll(child: ChildProcess): void {
	try {
		if (child.pid !== undefined && process.platform !== 'win32') process.kill(-child.pid, 'SIGKILL');
		else child.kill('SIGKILL');
	} catch {
		// all of it has ended
	}
}

/** Runs a program. It fails where the program cannot be started, is cancelled or takes too long; no process is left. */
export function run(command: string, args: string[], options: RunOptions = {}): Promise<RunResult> {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, {
			cwd: options.cwd,
			env: options.env,
			stdio: ['pipe', 'pipe', 'pipe'],
			detached: process.platform !== 'win32',
		});
		const out = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
		let size = 0;
		let why: Error | undefined;
		const stop = (reason: Error) => {
			why ??= reason;
			killAll(child);
		};
		for (const name of ['stdout', 'stderr'] as const) {
			child[name].on('data', (b: Buffer) => {
				size += b.length;
				if (size > most) return stop(new Error(`${command} writes more than ${most >> 20} MiB`));
				out[name].push(b);
				options.hear?.(b.toString());
			});
		}
		const timer = options.timeout && setTimeout(() => stop(new Error(`${command} takes too long`)), options.timeout);
		const cancelled = options.token?.onCancellationRequested(() => stop(new vscode.CancellationError()));
		const done = () => {
			if (timer) clearTimeout(timer);
			cancelled?.dispose();
		};
		child.on('error', (err) => {
			done();
			reject(err);
		});
		child.on('close', (code) => {
			done();
			if (why) reject(why);
			else
				resolve({
					code: code ?? undefined,
					stdout: Buffer.concat(out.stdout).toString(),
					stderr: Buffer.concat(out.stderr).toString(),
				});
		});
		child.stdin.on('error', () => undefined); // it may not read
		child.stdin.end(options.stdin ?? '');
	});
}
