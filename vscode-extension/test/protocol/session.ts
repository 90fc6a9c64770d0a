// A debug session without VS Code: the extension's own parts between a protocol
// client and the real server.

import type { Socket } from 'node:net';
import { DebugClient } from '@vscode/debugadapter-testsupport';
import type { DebugProtocol } from '@vscode/debugprotocol';
import { inject } from 'vitest';
import type * as vscode from 'vscode';
import { Servers } from '../../src/debug/server';
import { Log } from '../../src/log';
import { type ClewSession, Sessions } from '../../src/sessions';
import { debug } from '../unit/vscode';

/** How long an event may take, in milliseconds. */
const patience = 120_000;

let count = 0;

export class Session {
	readonly sessions = new Sessions();
	readonly client = new DebugClient('none', '', 'clew', { cwd: inject('source') });
	private readonly servers = new Servers(new Log());
	readonly id = `session-${++count}`;
	private readonly vs = { id: this.id, customRequest: (c: string, a: object) => this.custom(c, a) };
	private ended: Promise<unknown> | undefined;
	private tracker: vscode.DebugAdapterTracker;

	private constructor() {
		this.client.defaultTimeout = patience;
		this.tracker = this.sessions.createDebugAdapterTracker(this.vs as unknown as vscode.DebugSession);
		debug.activeDebugSession = this.vs;
	}

	/** Starts a server as the extension does, and connects. */
	static async start(args: string[] = []): Promise<Session> {
		const s = new Session();
		const { port } = await s.servers.start(
			s.id,
			inject('clew'),
			['dap', '--listen=127.0.0.1:0', ...args],
			inject('source'),
		);
		await s.client.start(port);
		// A server that ends its session may reset the connection.
		(s.client as unknown as { _socket?: Socket })._socket?.on('error', () => undefined);
		for (const name of ['stopped', 'continued', 'invalidated', 'terminated', 'exited', 'output']) {
			s.client.on(name, (e) => s.tracker.onDidSendMessage?.(e));
		}
		return s;
	}

	/** A request whose answer the tracker sees too, as in VS Code. */
	async send<T extends DebugProtocol.Response>(command: string, args: object = {}): Promise<T> {
		const seq = ++count * 1000;
		this.tracker.onWillReceiveMessage?.({ seq, type: 'request', command, arguments: args });
		const answer = (await this.client.send(command, args)) as T;
		this.tracker.onDidSendMessage?.({ ...answer, command, request_seq: seq, type: 'response' });
		return answer;
	}

	private async custom(command: string, args: object): Promise<unknown> {
		return (await this.client.send(command, args)).body;
	}

	get clew(): ClewSession {
		const clew = this.sessions.active();
		if (!clew) throw new Error('the server did not announce that it is clew');
		return clew;
	}

	/** Goes to the first stop; returns the thread. */
	async launch(config: object, breakpoints: { path: string; line: number }[] = []): Promise<number> {
		await this.send('initialize', {
			adapterID: 'clew',
			linesStartAt1: true,
			columnsStartAt1: true,
			pathFormat: 'path',
			supportsProgressReporting: true,
		});
		const initialized = this.client.waitForEvent('initialized', patience);
		const launched = this.client.send('launch', { request: 'launch', outputMode: 'remote', ...config });
		await Promise.race([initialized, launched]);
		for (const b of breakpoints) {
			await this.client.setBreakpointsRequest({ source: { path: b.path }, breakpoints: [{ line: b.line }] });
		}
		const stopped = this.client.waitForEvent('stopped', patience);
		await this.client.configurationDoneRequest();
		await launched;
		return (await stopped).body.threadId;
	}

	/** The next event of that kind. */
	event(name: string): Promise<DebugProtocol.Event> {
		return this.client.waitForEvent(name, patience);
	}

	/** Ends the session, once. */
	disconnect(): Promise<unknown> {
		this.ended ??= this.client.disconnectRequest({ terminateDebuggee: true });
		return this.ended;
	}

	/** Ends the session, and whatever of it does not end by itself. */
	async stop(): Promise<void> {
		const bounded = (p: Promise<unknown>, limit: number) =>
			Promise.race([p.catch(() => undefined), new Promise((r) => setTimeout(r, limit))]);
		await bounded(this.disconnect(), 20_000);
		await bounded(this.client.stop(), 200); // it never says that it is done
		this.servers.dispose();
		for (const end = Date.now() + patience; this.servers.count > 0; await new Promise((r) => setTimeout(r, 50))) {
			if (Date.now() > end) throw new Error('the server has not ended');
		}
	}
}
