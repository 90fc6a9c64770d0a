// Says how a session's server is reached: one that runs already, one that is
// started, or one in a terminal, where the program can read the user's input.

import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { type Binary, environment } from '../binary';
import { messageOf, UserError } from '../errors';
import type { Servers } from './server';

/** How long a server in a terminal may take until it listens, in milliseconds. */
const patience = 60_000;

export class AdapterFactory implements vscode.DebugAdapterDescriptorFactory, vscode.Disposable {
	private readonly terminals = new Map<string, { terminal: vscode.Terminal; folder: string }>();

	constructor(
		private readonly binary: Binary,
		private readonly servers: Servers,
	) {}

	async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
		const config = session.configuration;
		if (config.port !== undefined)
			return new vscode.DebugAdapterServer(Number(config.port), config.host ?? '127.0.0.1');
		const path = await this.binary.path();
		if (config.console === 'integratedTerminal') return this.inTerminal(session, path);
		const args = [...this.args(config), '--listen=127.0.0.1:0'];
		const { host, port } = await this.servers.start(session.id, path, args, config.dlvCwd, await environment());
		return new vscode.DebugAdapterServer(port, host);
	}

	/** The arguments of `clew dap`, but for where it listens. */
	private args(config: vscode.DebugConfiguration): string[] {
		const settings = vscode.workspace.getConfiguration('clew');
		const file = settings.get<string>('configFile', '');
		const log = settings.get<string>('log', '');
		return [
			'dap',
			...(file ? [`--clew-config=${file}`] : []),
			...(log ? ['--log', `--log-output=${log}`] : []),
			...((config.dapFlags as string[] | undefined) ?? []),
		];
	}

	/** Starts the server in a terminal. It listens at a socket in a folder that only this user can enter. */
	private async inTerminal(session: vscode.DebugSession, path: string): Promise<vscode.DebugAdapterDescriptor> {
		const folder = await mkdtemp(join(tmpdir(), 'clew-'));
		const socket = join(folder, 'dap');
		const terminal = vscode.window.createTerminal({
			name: session.name,
			shellPath: path,
			shellArgs: [...this.args(session.configuration), `--listen=unix:${socket}`],
			cwd: session.configuration.dlvCwd,
			env: { PATH: (await environment()).PATH },
			isTransient: true,
		});
		this.terminals.set(session.id, { terminal, folder });
		terminal.show(true);
		const until = Date.now() + patience;
		try {
			while (
				!(await access(socket).then(
					() => true,
					() => false,
				))
			) {
				if (terminal.exitStatus) throw await this.whyEnded(session, path);
				if (Date.now() > until) throw new UserError('clew dap does not listen in the terminal.');
				await new Promise((r) => setTimeout(r, 50));
			}
		} catch (err) {
			terminal.dispose();
			await rm(folder, { recursive: true, force: true });
			throw new Error(messageOf(err));
		}
		return new vscode.DebugAdapterNamedPipeServer(socket);
	}

	/** The last output of a server that ended in its terminal, which is gone with it: printed again where it can be read. */
	private async whyEnded(session: vscode.DebugSession, path: string): Promise<Error> {
		const args = [...this.args(session.configuration), '--listen=127.0.0.1:0'];
		try {
			await this.servers.start(session.id, path, args, session.configuration.dlvCwd, await environment());
			this.servers.stop(session.id);
			return new UserError('clew dap ended in the terminal before it listened.');
		} catch (err) {
			return new UserError(messageOf(err));
		}
	}

	/** Forgets a session that has ended. Its terminal stays, for the program's output. */
	ended(session: vscode.DebugSession): void {
		const folder = this.terminals.get(session.id)?.folder;
		this.terminals.delete(session.id);
		if (folder) void rm(folder, { recursive: true, force: true });
		this.servers.stopLater(session.id);
	}

	dispose(): void {
		for (const { terminal } of this.terminals.values()) terminal.dispose();
	}
}
