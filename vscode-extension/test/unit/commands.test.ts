import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { request } from '../../src/client';
import { selectionOf } from '../../src/commands/context';
import { copyFrame, copyStack, exportAll, exportStack, reportWrongStack } from '../../src/commands/export';
import { undoUseWithGo, useWithGo } from '../../src/commands/goExtension';
import { Stacks } from '../../src/stacks';
import { CancellationError, reset, seen, select, Uri, workspace } from './vscode';
import { stopped, world } from './world';

let folder: string;
beforeEach(() => {
	reset();
	folder = mkdtempSync(join(tmpdir(), 'clew-unit-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const base64 = (s: string) => Buffer.from(s).toString('base64');
const files = (...names: string[]) => ({
	files: names.map((name) => ({ name, data: base64(`data of ${name}`) })),
	stacks: 1,
	truncated: 0,
});

test('a stack is written with its images beside it', async () => {
	const { sessions, session } = stopped();
	session.answers['clew/export'] = files('goroutine-1.cbf', 'goroutine-1.cif');
	seen.saveTo = Uri.file(join(folder, 'mine.cbf'));
	await exportStack(sessions, []);
	expect(session.asked.at(-1)?.args).toEqual({ threadId: 1, format: 'cbf' });
	expect(readdirSync(folder).sort()).toEqual(['mine.cbf', 'mine.cif']);
	expect(readFileSync(join(folder, 'mine.cif'), 'utf8')).toBe('data of goroutine-1.cif');
});

test('all stacks go to a folder, and no name leaves it', async () => {
	const { sessions, session } = stopped();
	seen.pick = (all) => all[0];
	seen.saveTo = Uri.file(join(folder, 'stacks'));
	session.answers['clew/export'] = files('goroutine-1.cbf', 'images.cif', 'index.json');
	await exportAll(sessions, []);
	expect(readdirSync(join(folder, 'stacks')).sort()).toEqual(['goroutine-1.cbf', 'images.cif', 'index.json']);
	workspace.workspaceFolders = [{ uri: Uri.file(folder) }];
	await exportAll(sessions, []);
	expect(seen.proposed?.path).toBe(join(folder, 'stacks-2')); // the first one is there already
	workspace.workspaceFolders = undefined;
	session.answers['clew/export'] = files('../../evil');
	await expect(exportAll(sessions, [])).rejects.toThrow('is not inside the chosen folder');
	expect(readdirSync(folder)).toEqual(['stacks']);
});

test('an export that was cancelled, or whose session ended, writes nothing', async () => {
	const { sessions, session, clew, vs } = stopped();
	seen.saveTo = Uri.file(join(folder, 'mine.cbf'));
	session.answers['clew/export'] = new Error('cancelled: as the client has asked');
	await expect(exportStack(sessions, [])).rejects.toBeInstanceOf(CancellationError);
	sessions.remove(vs); // VS Code cancels waiting requests then, and so does the server
	await expect(request(clew, 'clew/export', { all: true, format: 'cbf' })).rejects.toThrow('The debug session ended');
	expect(readdirSync(folder)).toEqual([]);
});

test('an export whose connection is gone writes nothing', async () => {
	const { sessions, session } = stopped();
	seen.saveTo = Uri.file(join(folder, 'mine.cbf'));
	session.answers['clew/export'] = new Error('connection closed');
	await expect(exportStack(sessions, [])).rejects.toThrow('The debug session ended');
	expect(readdirSync(folder)).toEqual([]);
});

test('a file that cannot be written is named', async () => {
	const { sessions, session } = stopped();
	session.answers['clew/export'] = files('a.cbf');
	seen.saveTo = Uri.file(join(folder, 'no', 'such', 'a.cbf'));
	await expect(exportStack(sessions, [])).rejects.toThrow(/no\/such\/a\.cbf cannot be written/);
});

test('stacks and frames are copied as text', async () => {
	const { sessions, session } = stopped();
	session.answers['clew/export'] = { files: [{ name: 'goroutine-1.txt', data: base64('goroutine 1\n') }] };
	await copyStack(sessions, []);
	expect(seen.clipboard).toBe('goroutine 1\n');
	await copyFrame(sessions, new Stacks(), []);
	expect(seen.clipboard).toBe('#0 0x4bef57 stop_here at /src/native.c:13 (registers, context)');
});

test('a report says what the snapshot contains before it is saved', async () => {
	const { sessions, session } = stopped();
	session.answers['clew/export'] = files('goroutine-1.snapshot.json');
	seen.saveTo = Uri.file(join(folder, 'wrong.json'));
	await reportWrongStack(sessions, []);
	expect(readdirSync(folder)).toEqual([]); // not agreed to
	seen.press = 'Save...';
	await reportWrongStack(sessions, []);
	expect(readdirSync(folder)).toEqual(['wrong.json']);
	expect(seen.infos.at(-1)).toContain('Stack memory may hold secrets');
});

test('a command is about what it was called on', () => {
	const { sessions, vs } = stopped();
	select({ session: vs, threadId: 4 });
	expect(selectionOf(sessions, []).threadId).toBe(4);
	const thread = { sessionId: 'session-1', threadId: 'thread:session-1:7' };
	expect(selectionOf(sessions, [7, thread])).toMatchObject({ threadId: 7 });
	expect(selectionOf(sessions, ['session-1', { sessionId: 'session-1' }])).toMatchObject({ threadId: 4 });
});

/** What VS Code passes to a command of a frame's menu: the row counts labels. */
const callStackRow = (thread: number, at: number, session = 'session-1') => ({
	sessionId: session,
	threadId: `thread:${session}:${thread}`,
	frameId: `stackframe:thread:${session}:${thread}:${at}:native.c`,
});

test('a frame is that of the row of the call stack, selected or not', async () => {
	const { sessions, vs, rows } = stopped();
	rows(1, 0, [{ id: 100 }, { id: 101, presentationHint: 'label' }, { id: 102 }, { id: 103 }]);
	select({ session: vs, threadId: 1, frameId: 100 });
	await copyFrame(sessions, new Stacks(), ['file:///src/native.c', callStackRow(1, 2)]);
	expect(seen.clipboard).toMatch(/^#1 0x4bef70 /);
	for (const nothing of [1, 9]) {
		// A label, and a row that was never seen: not another frame in its stead.
		await expect(copyFrame(sessions, new Stacks(), ['', callStackRow(1, nothing)])).rejects.toThrow('is not a frame');
	}
	select({ session: vs, threadId: 1, frameId: 4711 });
	await expect(copyFrame(sessions, new Stacks(), [])).rejects.toThrow('is not a frame');
});

test('never another session than that of the row', () => {
	const { sessions, vs } = stopped();
	const second = sessions.createDebugAdapterTracker({ id: 'session-2' } as never);
	const row = callStackRow(1, 0, 'session-2');
	select({ session: vs, threadId: 1 });
	expect(() => selectionOf(sessions, ['', row])).toThrow('not debugged with clew');
	const say = (m: object) => second.onDidSendMessage?.({ seq: 1, ...m });
	say({ type: 'response', command: 'initialize', request_seq: 1, success: true, body: { supportsClew: true } });
	expect(() => selectionOf(sessions, ['', row])).toThrow('The program is running');
	say({ type: 'event', event: 'stopped', body: { threadId: 9 } });
	expect(selectionOf(sessions, ['', { sessionId: 'session-2' }])).toMatchObject({ threadId: 9 });
});

test('without a session, or while the program runs, it says so', () => {
	const { sessions, response } = stopped();
	response('continue', {}, 1);
	expect(() => selectionOf(sessions, [])).toThrow('The program is running');
	expect(() => selectionOf(world().sessions, [])).toThrow('No program is debugged');
});

test('the Go extension is given clew, and its own debugger back', async () => {
	const state = new Map<string, unknown>();
	const memento = {
		get: (k: string, or: unknown) => state.get(k) ?? or,
		update: async (k: string, v: unknown) => void state.set(k, v),
	} as never;
	const binary = { path: async () => '/opt/clew' } as never;
	await useWithGo(binary, memento);
	expect(seen.updates).toEqual([]); // golang.go is not there
	seen.extensions.add('golang.go');
	seen.settings['go.alternateTools'] = { gopls: '/opt/gopls', dlv: '/opt/dlv' };
	await useWithGo(binary, memento);
	expect(seen.settings['go.alternateTools']).toEqual({ gopls: '/opt/gopls', dlv: '/opt/clew' });
	await useWithGo(binary, memento); // twice is once
	await useWithGo({ path: async () => '/opt/newer/clew' } as never, memento);
	expect(seen.settings['go.alternateTools']).toEqual({ gopls: '/opt/gopls', dlv: '/opt/newer/clew' });
	await undoUseWithGo(memento);
	expect(seen.settings['go.alternateTools']).toEqual({ gopls: '/opt/gopls', dlv: '/opt/dlv' });
	await undoUseWithGo(memento); // the user's choice stays
	expect(seen.settings['go.alternateTools']).toEqual({ gopls: '/opt/gopls', dlv: '/opt/dlv' });
	expect(seen.infos.at(-1)).toContain('Nothing was changed');
	seen.workspaceSettings['go.alternateTools'] = { dlv: '/here/dlv' };
	await useWithGo(binary, memento);
	expect(seen.infos.at(-1)).toContain('go.alternateTools.dlv is /here/dlv there');
});
