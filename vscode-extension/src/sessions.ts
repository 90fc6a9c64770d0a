// Which debug sessions have clew behind them, and which frames VS Code has of
// them. A session counts by its server's answer to `initialize`, not by its type:
// one of type `go` counts too.

import type { DebugProtocol } from '@vscode/debugprotocol';
import * as vscode from 'vscode';

/** A row of a call stack as VS Code has it. */
export interface Row {
	frameId: number;
	/** It stands between frames and is not a frame. */
	label: boolean;
	/** VS Code folds it. */
	subtle: boolean;
}

/** A debug session with clew behind it. */
export class ClewSession {
	/** Counts stops and all else that makes a stack stale. */
	epoch = 0;
	stopped = false;
	/** The session is over, was asked to end, or its server is another one now. */
	ended = false;
	/** The thread that the last stop was about. */
	stoppedThread: number | undefined;
	private rows = new Map<number, Row[]>();

	constructor(readonly session: vscode.DebugSession) {}

	stale(): void {
		this.epoch++;
		this.rows.clear();
	}

	noteRows(threadId: number, start: number, frames: DebugProtocol.StackFrame[]): void {
		const rows = this.rows.get(threadId) ?? [];
		this.rows.set(threadId, rows);
		frames.forEach((f, i) => {
			rows[start + i] = {
				frameId: f.id,
				label: f.presentationHint === 'label',
				subtle: f.presentationHint === 'subtle',
			};
		});
	}

	/** The index in clew's stack of a frame that VS Code has: labels do not count. */
	frameIndex(threadId: number, frameId: number): number | undefined {
		let index = 0;
		for (const row of this.rows.get(threadId) ?? []) {
			if (row === undefined) return undefined; // a gap: not all rows before were seen
			if (row.frameId === frameId) return row.label ? undefined : index;
			if (!row.label) index++;
		}
		return undefined;
	}

	/** A row by its place in the call stack, labels counted, as far as VS Code has asked for it. */
	rowAt(threadId: number, row: number): Row | undefined {
		return this.rows.get(threadId)?.[row];
	}

	/** The place of a row in the call stack, labels counted. */
	placeOf(threadId: number, frameId: number): number | undefined {
		const place = this.rows.get(threadId)?.findIndex((r) => r?.frameId === frameId);
		return place === -1 ? undefined : place;
	}

	/** The row of a frame, as far as VS Code has asked for it. */
	rowOf(threadId: number, index: number): Row | undefined {
		let at = 0;
		for (const row of this.rows.get(threadId) ?? []) {
			if (row === undefined) return undefined;
			if (row.label) continue;
			if (at === index) return row;
			at++;
		}
		return undefined;
	}
}

/** The selection: a thread of a session, and a frame of it if one is selected. */
export interface Selection {
	clew: ClewSession;
	threadId: number;
	frameId?: number;
}

/** Follows every debug session's messages. */
export class Sessions implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
	private readonly sessions = new Map<string, ClewSession>();
	private readonly changed = new vscode.EventEmitter<void>();
	private readonly launchFailed = new vscode.EventEmitter<{ session: vscode.DebugSession; output: string }>();
	/** Stops, continues, ends, and whatever makes a stack stale. */
	readonly onDidChange = this.changed.event;
	/** A launch that failed, with the output until then. */
	readonly onDidFailLaunch = this.launchFailed.event;

	dispose(): void {
		this.changed.dispose();
		this.launchFailed.dispose();
	}

	get(session: vscode.DebugSession | undefined): ClewSession | undefined {
		return session && this.sessions.get(session.id);
	}

	byId(id: string): ClewSession | undefined {
		return this.sessions.get(id);
	}

	/** The selected session, if clew is behind it. */
	active(): ClewSession | undefined {
		return this.get(vscode.debug.activeStackItem?.session ?? vscode.debug.activeDebugSession);
	}

	/** The selected thread, if it is stopped. */
	selection(): Selection | undefined {
		const clew = this.active();
		if (!clew?.stopped) return undefined;
		const item = vscode.debug.activeStackItem;
		if (item && item.session.id === clew.session.id) {
			return { clew, threadId: item.threadId, frameId: 'frameId' in item ? item.frameId : undefined };
		}
		return clew.stoppedThread === undefined ? undefined : { clew, threadId: clew.stoppedThread };
	}

	createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
		return new Tracker(this, session);
	}

	add(session: vscode.DebugSession): ClewSession {
		const clew = new ClewSession(session);
		const before = this.sessions.get(session.id);
		if (before) before.ended = true;
		this.sessions.set(session.id, clew);
		this.changed.fire();
		return clew;
	}

	/** Forgets a session. One that is restarted keeps its id: with clew, only if it is that one still. */
	remove(session: vscode.DebugSession, clew?: ClewSession): void {
		const known = this.sessions.get(session.id);
		if (!known || (clew && known !== clew)) return;
		known.ended = true;
		this.sessions.delete(session.id);
		this.changed.fire();
	}

	fire(): void {
		this.changed.fire();
	}

	failed(session: vscode.DebugSession, output: string): void {
		this.launchFailed.fire({ session, output });
	}
}

type StackRequest = { threadId: number; start: number; epoch: number };

/** Follows one session's messages. */
class Tracker implements vscode.DebugAdapterTracker {
	private clew: ClewSession | undefined;
	private readonly asked = new Map<number, StackRequest>();
	private output: string[] | undefined = [];

	constructor(
		private readonly sessions: Sessions,
		private readonly session: vscode.DebugSession,
	) {}

	onWillReceiveMessage(m: DebugProtocol.ProtocolMessage): void {
		const request = m as DebugProtocol.Request;
		if (m.type !== 'request' || !this.clew) return;
		// Its answer, and the session's end, come after the refusals of the requests that the server drops for it.
		if (request.command === 'disconnect' || request.command === 'terminate') this.clew.ended = true;
		if (request.command !== 'stackTrace') return;
		const args = request.arguments as DebugProtocol.StackTraceArguments;
		this.asked.set(m.seq, { threadId: args.threadId, start: args.startFrame ?? 0, epoch: this.clew.epoch });
	}

	onDidSendMessage(m: DebugProtocol.ProtocolMessage): void {
		if (m.type === 'response') this.onResponse(m as DebugProtocol.Response);
		else if (m.type === 'event') this.onEvent(m as DebugProtocol.Event);
	}

	private onResponse(m: DebugProtocol.Response): void {
		switch (m.command) {
			case 'initialize':
				if (m.success && m.body?.supportsClew === true) this.clew = this.sessions.add(this.session);
				break;
			case 'launch':
				if (!m.success && this.clew) this.sessions.failed(this.session, (this.output ?? []).join(''));
				this.output = undefined;
				break;
			case 'attach':
				this.output = undefined;
				break;
			case 'continue':
			case 'next':
			case 'stepIn':
			case 'stepOut':
			case 'stepBack':
			case 'reverseContinue':
			case 'restart':
				// Not every server tells of it by an event too.
				if (m.success && this.clew?.stopped) {
					this.clew.stopped = false;
					this.clew.stale();
					this.sessions.fire();
				}
				break;
			case 'stackTrace': {
				const asked = this.asked.get(m.request_seq);
				this.asked.delete(m.request_seq);
				if (asked && m.success && this.clew?.epoch === asked.epoch) {
					this.clew.noteRows(asked.threadId, asked.start, m.body?.stackFrames ?? []);
				}
				break;
			}
		}
	}

	private onEvent(m: DebugProtocol.Event): void {
		if (m.event === 'output') this.output?.push(String(m.body?.output ?? ''));
		if (!this.clew) return;
		switch (m.event) {
			case 'stopped':
				this.clew.stale();
				this.clew.stopped = true;
				this.clew.stoppedThread = m.body?.threadId;
				break;
			case 'continued':
				this.clew.stale();
				this.clew.stopped = false;
				break;
			case 'invalidated':
				this.clew.stale();
				break;
			case 'terminated':
			case 'exited':
				this.clew.stopped = false;
				this.clew.stale();
				break;
			default:
				return;
		}
		this.sessions.fire();
	}

	onWillStopSession(): void {
		this.forget();
	}

	onExit(): void {
		this.forget();
	}

	private forget(): void {
		if (this.clew) this.sessions.remove(this.session, this.clew);
	}
}
