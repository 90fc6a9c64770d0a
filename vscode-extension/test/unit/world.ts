// A debug session that answers as clew does, for tests.

import type * as vscode from 'vscode';
import type { Frame, Stack } from '../../src/protocol';
import { type ClewSession, Sessions } from '../../src/sessions';
import { debug } from './vscode';

/** The demo's stack in small: C on the system stack, Go on a goroutine's. */
export const stack: Stack = {
	thread: 77,
	goroutine: 1,
	frames: [
		{
			index: 0,
			kind: 'pc',
			pc: '0x4bef57',
			cfa: '0x7ffc0010',
			sp: '0x7ffc0008',
			fp: '0x7ffc0020',
			function: 'stop_here',
			file: '/src/native.c',
			line: 13,
			image: '/bin/demo',
			offset: '0x4bef57',
			strategy: 'registers',
			trust: 'context',
			rule: 'cfa=rsp+8; ra=[cfa-8]; fp=unchanged',
		},
		{
			index: 1,
			kind: 'ra',
			pc: '0x4bef70',
			cfa: '0x7ffc0040',
			sp: '0x7ffc0010',
			fp: '0x7ffc0030',
			image: '/lib/libfroth.so',
			offset: '0x1f70',
			strategy: 'fpwalk',
			trust: 'frame-pointer',
			rule: 'cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]',
			rejected: [
				{ strategy: 'dwarfcfi', reason: 'SP is below the callee', check: 'order', rule: 'R3, R10', cfa: '0x7ffb0000' },
			],
		},
		{
			index: 2,
			kind: 'ra',
			pc: '0x48bd84',
			cfa: '0xc000ac18',
			sp: '0x7ffc0040',
			function: 'runtime.asmcgocall',
			file: '/go/src/runtime/asm_amd64.s',
			line: 995,
			image: '/bin/demo',
			strategy: 'dwarfcfi',
			trust: 'cfi',
			rule: 'cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]',
		},
		{
			index: 3,
			kind: 'ra',
			pc: '0x484abf',
			sp: '0xc000ac18',
			function: 'example.com/shop/bar.refill',
			inlined: true,
			strategy: 'gopclntab',
			trust: 'cfi',
		},
		{
			index: 4,
			kind: 'ra',
			pc: '0x484abf',
			cfa: '0xc000ac50',
			sp: '0xc000ac18',
			function: 'runtime.cgocall',
			file: '/go/src/runtime/cgocall.go',
			line: 185,
			image: '/bin/demo',
			strategy: 'gopclntab',
			trust: 'cfi',
			rule: 'cfa=rsp+56; ra=[cfa-8]; fp=[cfa-16]',
		},
	],
	stop: 'truncated',
	reason: 'no strategy knows the caller',
	segments: [
		{ kind: 'g0', low: '0x7ff00000', high: '0x7ffc1000' },
		{ kind: 'goroutine', low: '0xc000a000', high: '0xc000b000' },
	],
};

/** A stack of that many frames, 16 bytes each. */
export function deep(count: number): Frame[] {
	return Array.from({ length: count }, (_, index) => ({
		index,
		kind: index === 0 ? 'pc' : 'ra',
		pc: `0x${(0x400000 + index).toString(16)}`,
		sp: `0x${(0x7f000000 + 16 * index).toString(16)}`,
		cfa: `0x${(0x7f000010 + 16 * index).toString(16)}`,
		function: `f${index}`,
		file: '/src/deep.c',
		line: index + 1,
		strategy: 'dwarfcfi',
		trust: 'cfi',
		rule: 'cfa=rsp+16; ra=[cfa-8]',
	}));
}

type Arguments = { startFrame?: number; levels?: number };

/** A session whose server knows one stack, with what it was asked. */
export class FakeSession {
	readonly asked: { command: string; args: Arguments & Record<string, unknown> }[] = [];
	readonly id = 'session-1';
	configuration = {};
	answers: Record<string, unknown> = {};

	constructor(public stack: Stack) {}

	async customRequest(command: string, args: Arguments & Record<string, unknown> = {}): Promise<unknown> {
		this.asked.push({ command, args });
		const answer = this.answers[command];
		if (answer instanceof Error) throw answer;
		if (answer !== undefined) return answer;
		if (command !== 'clew/stack' && command !== 'clew/reunwind') throw new Error('unsupported command');
		const start = args.startFrame ?? 0;
		const frames = this.stack.frames.slice(start, args.levels ? start + args.levels : undefined);
		return { ...this.stack, frames };
	}
}

let seq = 0;

/** A session at a stop, followed by a tracker as VS Code would have it. */
export function world(of: Stack = stack) {
	const session = new FakeSession(of);
	const vs = session as unknown as vscode.DebugSession;
	const sessions = new Sessions();
	const tracker = sessions.createDebugAdapterTracker(vs);
	const say = (type: string, m: object) => tracker.onDidSendMessage?.({ seq: ++seq, type, ...m });
	const response = (command: string, body: object = {}, request_seq = 0, success = true) =>
		say('response', { command, body, request_seq, success });
	const event = (name: string, body: object = {}) => say('event', { event: name, body });
	const rows = (threadId: number, startFrame: number, stackFrames: object[]) => {
		const asked = ++seq;
		tracker.onWillReceiveMessage?.({
			seq: asked,
			type: 'request',
			command: 'stackTrace',
			arguments: { threadId, startFrame },
		});
		response('stackTrace', { stackFrames }, asked);
	};
	debug.activeDebugSession = vs;
	return { session, vs, sessions, tracker, response, event, rows };
}

/** The same, introduced and stopped. */
export function stopped(of: Stack = stack) {
	const w = world(of);
	w.response('initialize', { supportsClew: true });
	w.event('stopped', { threadId: 1, reason: 'breakpoint' });
	return { ...w, clew: w.sessions.get(w.vs) as ClewSession };
}
