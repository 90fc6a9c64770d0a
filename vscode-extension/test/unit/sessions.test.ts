import { beforeEach, expect, test } from 'vitest';
import type * as vscode from 'vscode';
import { explain, request } from '../../src/client';
import { UserError } from '../../src/errors';
import { CancellationError, debug, reset, select } from './vscode';
import { stopped, world } from './world';

beforeEach(reset);

test('a session counts by its server, not by its type', () => {
	const w = world();
	w.response('initialize', { supportsConfigurationDoneRequest: true });
	w.event('stopped', { threadId: 1 });
	expect(w.sessions.active()).toBeUndefined();
	const other = world();
	other.response('initialize', { supportsClew: true });
	expect(other.sessions.active()).toBeDefined();
});

test('nothing is looked at while the program runs', () => {
	const { sessions, response, event } = stopped();
	expect(sessions.selection()).toMatchObject({ threadId: 1 });
	response('next', {}, 9);
	expect(sessions.selection()).toBeUndefined();
	event('stopped', { threadId: 2 });
	expect(sessions.selection()).toMatchObject({ threadId: 2 });
	event('continued', { threadId: 2 });
	expect(sessions.selection()).toBeUndefined();
	event('stopped', { threadId: 2 });
	event('terminated');
	expect(sessions.selection()).toBeUndefined();
});

test('a step that is refused changes nothing', () => {
	const { sessions, response } = stopped();
	response('stepOut', {}, 9, false);
	expect(sessions.selection()).toBeDefined();
});

test('rows of the call stack become frames: labels do not count', () => {
	const { clew, rows } = stopped();
	rows(1, 0, [{ id: 100 }]);
	rows(1, 1, [{ id: 101, presentationHint: 'label' }, { id: 102, presentationHint: 'subtle' }, { id: 103 }]);
	expect(clew.frameIndex(1, 100)).toBe(0);
	expect(clew.frameIndex(1, 101)).toBeUndefined();
	expect(clew.frameIndex(1, 103)).toBe(2);
	expect(clew.rowOf(1, 1)).toMatchObject({ frameId: 102, subtle: true });
	rows(2, 5, [{ id: 200 }]);
	expect(clew.frameIndex(2, 200)).toBeUndefined(); // rows before it were not seen
});

test('rows of an older stop are forgotten', () => {
	const { clew, rows, event, tracker, response } = stopped();
	rows(1, 0, [{ id: 100 }]);
	tracker.onWillReceiveMessage?.({ seq: 999, type: 'request', command: 'stackTrace', arguments: { threadId: 1 } });
	event('stopped', { threadId: 1 });
	response('stackTrace', { stackFrames: [{ id: 1 }] }, 999); // of the stop before
	expect(clew.frameIndex(1, 100)).toBeUndefined();
	expect(clew.frameIndex(1, 1)).toBeUndefined();
});

test('the selected frame is what the call stack says', () => {
	const { sessions, vs } = stopped();
	select({ session: vs, threadId: 3, frameId: 42 });
	expect(sessions.selection()).toMatchObject({ threadId: 3, frameId: 42 });
	select({ session: { id: 'another' }, threadId: 3 });
	expect(sessions.selection()).toBeUndefined();
});

test('a session that ends is forgotten', () => {
	const { sessions, tracker } = stopped();
	tracker.onWillStopSession?.();
	expect(sessions.active()).toBeUndefined();
	debug.activeDebugSession = undefined;
	expect(sessions.active()).toBeUndefined();
});

test('what is cancelled because the session is asked to end is told, not what the user cancels', async () => {
	const { clew, session, tracker } = stopped();
	session.answers['clew/export'] = new Error('cancelled: the client has asked for it');
	const ask = () => request(clew, 'clew/export', { all: true, format: 'cbf' });
	await expect(ask()).rejects.toBeInstanceOf(CancellationError);
	tracker.onWillReceiveMessage?.({ seq: 7, type: 'request', command: 'disconnect', arguments: {} });
	await expect(ask()).rejects.toThrow('The debug session ended'); // before VS Code says so
});

test('a session that is restarted keeps its id, and outlives what the first still says', () => {
	const { sessions, tracker, vs } = stopped();
	const second = sessions.createDebugAdapterTracker(vs as unknown as vscode.DebugSession);
	second.onDidSendMessage?.({
		type: 'response',
		command: 'initialize',
		request_seq: 1,
		success: true,
		body: { supportsClew: true },
	});
	const restarted = sessions.active();
	tracker.onExit?.(0, undefined);
	expect(sessions.active()).toBe(restarted);
	second.onExit?.(0, undefined);
	expect(sessions.active()).toBeUndefined();
});

test('a failed launch comes with what was written until then', () => {
	const w = world();
	let heard = '';
	w.sessions.onDidFailLaunch(({ output }) => {
		heard = output;
	});
	w.event('output', { output: 'cgo: C compiler "gcc" not found' });
	w.response('launch', {}, 1, false);
	expect(heard).toBe(''); // another debugger's
	const own = world();
	own.sessions.onDidFailLaunch(({ output }) => {
		heard = output;
	});
	own.response('initialize', { supportsClew: true });
	own.event('output', { output: 'cgo: C compiler "gcc" not found' });
	own.response('launch', {}, 1, false);
	expect(heard).toContain('C compiler');
});

test('refusals say what to do', async () => {
	const actions = (e: Error) => (e instanceof UserError ? e.actions.map((a) => a.title) : undefined);
	expect(actions(explain('clew/export', 'unsupported command'))).toContain('Install or Update');
	expect(actions(explain('clew/stack', 'Unable to produce stack trace: debuggee is running'))).toContain('Pause');
	expect(explain('clew/stack', 'connection closed').message).toMatch(/ended/);
	expect(explain('clew/export', 'cancelled: as the client has asked')).toBeInstanceOf(CancellationError);
	expect(explain('clew/export', 'goroutine 7 is gone').message).toBe('goroutine 7 is gone');
	const { clew } = stopped();
	await expect(request(clew, 'clew/images', {})).rejects.toThrow('too old for clew/images');
});
