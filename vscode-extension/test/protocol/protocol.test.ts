import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DebugProtocol } from '@vscode/debugprotocol';
import { afterEach, expect, inject, test } from 'vitest';
import { request } from '../../src/client';
import { layOut } from '../../src/map/model';
import type { ExportFormat, Frame } from '../../src/protocol';
import { Stacks } from '../../src/stacks';
import { frameName } from '../../src/text';
import { Session } from './session';

const clew = (...args: string[]) => execFileSync(inject('clew'), args, { maxBuffer: 1 << 28 });
const whisk = () => ({ path: join(inject('source'), 'native.c'), line: 9 });
const exec = (...args: string[]) => ({ mode: 'exec', program: inject('program'), args });

let session: Session;
afterEach(() => session.stop());

async function rows(thread: number): Promise<DebugProtocol.StackFrame[]> {
	// In the pages that VS Code asks for.
	const out: DebugProtocol.StackFrame[] = [];
	for (const [startFrame, levels] of [
		[0, 1],
		[1, 19],
		[20, 200],
	]) {
		const args = { threadId: thread, startFrame, levels };
		const { body } = await session.send<DebugProtocol.StackTraceResponse>('stackTrace', args);
		out.push(...body.stackFrames);
	}
	return out;
}

async function whole(thread: number): Promise<Frame[]> {
	const stack = new Stacks().of(session.clew, thread);
	await stack.ensure(Number.POSITIVE_INFINITY);
	return stack.frames;
}

async function exported(args: { threadId?: number; all?: boolean }, format: ExportFormat) {
	const { files } = await request(session.clew, 'clew/export', { ...args, format });
	return new Map(files.map((f) => [f.name, Buffer.from(f.data, 'base64')]));
}

const decoded = (path: string) => JSON.parse(clew('decode', '--format', 'json', path).toString());

test('the Stack view and VS Code speak of the same frames, C frames with their names', async () => {
	session = await Session.start();
	const thread = await session.launch(exec(), [whisk()]);
	const shown = await rows(thread);
	const frames = await whole(thread);
	expect(shown.map((r) => r.name)).not.toContainEqual(expect.stringContaining('???'));
	expect(frames.slice(0, 2).map(frameName)).toEqual(['whisk', 'froth']);
	expect(frames.map(frameName)).toContain('crush');
	expect(frames.at(-1)?.function).toBe('runtime.goexit');
	for (const row of shown) {
		const index = session.clew.frameIndex(thread, row.id);
		if (row.presentationHint === 'label') expect(index).toBeUndefined();
		else expect(frames[index ?? -1]?.pc).toBe(row.instructionPointerReference);
	}
});

test('the map has the goroutine, the system stack and the switches between them', async () => {
	session = await Session.start();
	const thread = await session.launch(exec(), [whisk()]);
	const answer = await request(session.clew, 'clew/stack', { threadId: thread });
	const map = layOut(answer.frames, answer.segments ?? []);
	expect(map.columns.map((c) => c.kind)).toEqual(['g0', 'goroutine']);
	expect(map.switches).toHaveLength(3); // C to Go, its callback to C, C to Go
	for (const c of map.columns) {
		let end = 0n;
		for (const f of c.frames) {
			expect(f.low).toBeGreaterThanOrEqual(end);
			end = f.high;
		}
	}
});

test('an export equals the output of clew stack at the same stop', async () => {
	session = await Session.start();
	const thread = await session.launch(exec(), [whisk()]);
	const home = join(inject('home'), 'export');
	mkdirSync(home, { recursive: true });
	clew('stack', '--break', 'native.c:9', '--format', 'cbf', '-o', join(home, 'cli.cbf'), '--', inject('program'));
	const files = await exported({ threadId: thread }, 'cbf');
	const [backtrace] = [...files].filter(([name]) => name.endsWith('.cbf')).map(([, data]) => data);
	expect(backtrace?.equals(readFileSync(join(home, 'cli.cbf')))).toBe(true);

	const addresses = (frames: { address: string }[]) => frames.map((f) => f.address);
	const [envelope] = (await exported({ threadId: thread }, 'swift')).values();
	writeFileSync(join(home, 'x.swift.json'), envelope ?? '');
	const fromSwift = decoded(join(home, 'x.swift.json'));
	const fromCBF = decoded(join(home, 'cli.cbf'));
	const all = addresses(fromCBF.frames ?? fromCBF.stacks?.[0]?.frames);
	expect(all).toEqual((await whole(thread)).filter((f) => !f.inlined).map((f) => f.pc));
	expect(addresses(fromSwift.frames ?? fromSwift.stacks?.[0]?.frames)).toEqual(all);
});

test('a snapshot yields the same stack offline', async () => {
	session = await Session.start();
	const thread = await session.launch(exec(), [whisk()]);
	const [snapshot] = (await exported({ threadId: thread }, 'snapshot')).values();
	const path = join(inject('home'), 'wrong.json');
	writeFileSync(path, snapshot ?? '');
	const offline = JSON.parse(clew('unwind', '--root', '/', path).toString());
	expect(offline.stacks[0].frames.map((f: Frame) => f.pc)).toEqual((await whole(thread)).map((f) => f.pc));
});

test('images say who knows their code, plugins how they are; other strategies give another stack', async () => {
	session = await Session.start();
	const thread = await session.launch(exec(), [whisk()]);
	const frames = await whole(thread);
	const { images } = await request(session.clew, 'clew/images', {});
	const own = images.find((i) => i.path === inject('program'));
	expect(own?.unwind.find((u) => u.strategy === 'dwarfcfi')?.frames).toBeGreaterThan(0);
	const { plugins } = await request(session.clew, 'clew/plugins', {});
	expect(plugins.map((p) => p.name)).toContain('fpwalk');
	const other = await request(session.clew, 'clew/reunwind', { threadId: thread, strategies: ['fpwalk'] });
	expect(other.frames.map((f) => f.strategy)).not.toContain('dwarfcfi');
	expect(other.frames.map((f) => f.pc)).toEqual(frames.map((f) => f.pc));
	expect(other.frames[1]?.trust).toBe('frame-pointer');
});

test('a thread of C has its stack', async () => {
	session = await Session.start();
	const thread = await session.launch(exec('thread'), [whisk()]);
	const names = (await whole(thread)).map(frameName);
	expect(names.slice(0, 3)).toEqual(['whisk', 'froth', 'barista']);
	expect((await rows(thread)).map((r) => r.name).join()).not.toContain('???');
});

test('10,000 frames: a page is a page', async () => {
	session = await Session.start();
	const thread = await session.launch(exec('deep'), [whisk()]);
	const stack = new Stacks().of(session.clew, thread);
	await stack.ensure(50);
	expect(stack.frames).toHaveLength(50);
	expect(stack.complete).toBe(false);
	const all = await request(session.clew, 'clew/stack', { threadId: thread });
	expect(all.frames.length).toBeGreaterThan(10_000);
});

test('a program that does not build says why', async () => {
	session = await Session.start();
	const source = join(inject('home'), 'broken');
	cpSync(inject('source'), source, { recursive: true });
	writeFileSync(join(source, 'broken.go'), 'package main\n\nfunc broken() int { return "no" }\n');
	let output = '';
	session.client.on('output', (e) => {
		output += e.body.output;
	});
	const config = { mode: 'debug', program: source, dlvCwd: source, env: { CGO_ENABLED: '1' } };
	await expect(session.launch(config)).rejects.toThrow(/launch/i);
	expect(output).toContain('broken.go:3');
});

/** A core file of the program, as the kernel writes it. */
function dump(): string {
	const folder = join(inject('home'), 'core');
	mkdirSync(folder, { recursive: true });
	spawnSync('sh', ['-c', 'ulimit -c unlimited && exec "$0" spill', inject('program')], {
		cwd: folder,
		env: { ...process.env, GOTRACEBACK: 'crash' },
	});
	const [name] = readdirSync(folder);
	if (!name) throw new Error('no core file was written');
	return join(folder, name);
}

test('a core file is looked at with its executable, and with no other', async (t) => {
	const pattern = readFileSync('/proc/sys/kernel/core_pattern', 'utf8').trim();
	if (/[|/]/.test(pattern)) {
		const why = `core files go to ${pattern}; set kernel.core_pattern to core`;
		if (process.env.CI === 'true') throw new Error(why);
		return t.skip(`LEFT OUT: ${why}`);
	}
	const core = dump();
	session = await Session.start();
	const thread = await session.launch({ mode: 'core', program: inject('program'), coreFilePath: core });
	const names = (await whole(thread)).map(frameName);
	expect(names).toContain('spill');
	expect(names).toContain('main.main');
	await session.stop();
	session = await Session.start();
	await expect(session.launch({ mode: 'core', program: inject('clew'), coreFilePath: core })).rejects.toThrow(
		'Failed to launch', // all that the client says of an error; clew's own tests read the rest
	);
});

test('an invalid core file is refused', async () => {
	session = await Session.start();
	const core = join(inject('home'), 'no-core');
	writeFileSync(core, 'this is no core file\n'.repeat(100));
	await expect(session.launch({ mode: 'core', program: inject('program'), coreFilePath: core })).rejects.toThrow(
		/core/i,
	);
});

test('a restart comes to the same stop', async () => {
	session = await Session.start();
	const first = await whole(await session.launch(exec(), [whisk()]));
	const [initialized, stopped] = [session.event('initialized'), session.event('stopped')];
	await session.send('restart', { arguments: { request: 'launch', outputMode: 'remote', ...exec(), rebuild: false } });
	await initialized;
	await session.client.setBreakpointsRequest({ source: { path: whisk().path }, breakpoints: [{ line: whisk().line }] });
	await session.client.configurationDoneRequest();
	const again = await whole((await stopped).body.threadId);
	expect(again.map(frameName)).toEqual(first.map(frameName));
});

test('a session that ends during an export says so', async () => {
	session = await Session.start();
	await session.launch(exec('crowd'), [whisk()]);
	const failed = request(session.clew, 'clew/export', { all: true, format: 'json' }).then(
		() => 'done',
		(err) => err,
	);
	await session.disconnect();
	// Whichever came first; but an answer, and no half a file.
	const outcome = await Promise.race([failed, new Promise((r) => setTimeout(r, 60_000, 'nothing'))]);
	expect(outcome).not.toBe('nothing');
});
