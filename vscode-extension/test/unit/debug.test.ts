import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Binary, environment, findGo } from '../../src/binary';
import { whyNotBuilt } from '../../src/debug/build';
import { ConfigurationProvider, words } from '../../src/debug/configuration';
import { parseEnvFile } from '../../src/debug/envFile';
import { fromProc } from '../../src/debug/processes';
import { lastWords, Servers } from '../../src/debug/server';
import { activate } from '../../src/extension';
import { Log } from '../../src/log';
import { run } from '../../src/run';
import { CancellationError, reset, seen, Uri, window } from './vscode';

let folder: string;
beforeEach(() => {
	reset();
	folder = mkdtempSync(join(tmpdir(), 'clew-unit-'));
});
afterEach(() => {
	vi.unstubAllEnvs();
	rmSync(folder, { recursive: true });
});

/** Writes an executable that does what a shell script says. */
function script(name: string, text: string): string {
	const path = join(folder, name);
	writeFileSync(path, `#!/bin/sh\n${text}\n`);
	chmodSync(path, 0o755);
	return path;
}

const good = `echo '{"version":"v1.28.0","delve":"v1.27.2"}'`;
const resolve = (config: object) =>
	new ConfigurationProvider({ path: async () => '/clew' } as never).resolveDebugConfigurationWithSubstitutedVariables(
		{ uri: Uri.file(folder) } as never,
		{ type: 'clew', name: 'x', request: 'launch', ...config } as never,
	);

test('F5 without launch.json debugs the package of the open file, its tests in a test file', async () => {
	const provider = new ConfigurationProvider({} as never);
	window.activeTextEditor = { document: { uri: Uri.file('/src/shop/bar.go') } };
	const config = (await provider.resolveDebugConfiguration(undefined, {} as never)) as Record<string, unknown>;
	expect(config).toMatchObject({ type: 'clew', request: 'launch', mode: 'debug', program: '/src/shop' });
	window.activeTextEditor = { document: { uri: Uri.file('/src/shop/bar_test.go') } };
	expect(await provider.resolveDebugConfiguration(undefined, {} as never)).toMatchObject({ mode: 'test' });
	window.activeTextEditor = undefined;
	const attach = { type: 'clew', name: 'a', request: 'attach' };
	expect(await provider.resolveDebugConfiguration(undefined, attach)).toMatchObject({
		mode: 'local',
		processId: '${command:pickProcess}',
	});
});

test('settings fill in what the configuration leaves out', async () => {
	seen.settings['clew.strategies'] = ['fpwalk'];
	seen.settings['clew.plugins'] = [{ name: 'mine', path: '/p' }];
	const provider = new ConfigurationProvider({} as never);
	const of = async (clew?: object) => {
		const config = { type: 'clew', name: 'x', request: 'launch', clew };
		const resolved = await provider.resolveDebugConfiguration(undefined, config as never);
		return resolved?.clew;
	};
	expect(await of()).toEqual({ strategies: ['fpwalk'], plugins: [{ name: 'mine', path: '/p' }], annotate: 'labels' });
	expect(await of({ strategies: ['scan'], annotate: 'off' })).toMatchObject({ strategies: ['scan'], annotate: 'off' });
	seen.settings['clew.names'] = 'full';
	expect(await of()).toMatchObject({ names: 'full' });
	expect(await of({ names: 'short' })).toMatchObject({ names: 'short' });
});

test('configurations are completed: arguments, environment, folders', async () => {
	writeFileSync(join(folder, '.env'), 'A=1\nB="two words"\n');
	const config = await resolve({
		mode: 'debug',
		program: '.',
		args: `-x "a b" 'c d' e\\ f`,
		envFile: '.env',
		env: { A: 'mine' },
	});
	expect(config).toMatchObject({
		args: ['-x', 'a b', 'c d', 'e f'],
		env: { A: 'mine', B: 'two words' },
		outputMode: 'remote',
	});
	expect(config?.dlvCwd).toBe(join(folder, '.'));
	expect(config?.rebuild).toBeUndefined();
	const program = script('program', 'exit 0');
	expect(await resolve({ mode: 'exec', program })).toMatchObject({ rebuild: false });
});

test.each([
	[{ mode: 'core', program: '.' }, 'needs its "coreFilePath"'],
	[{ mode: 'exec', program: 'none' }, 'which is not there'],
	[{ mode: 'exec', program: '.' }, 'needs an executable'],
	[{ mode: 'debug', program: '.', envFile: 'none' }, 'envFile cannot be read'],
	[{ request: 'attach', mode: 'remote' }, 'needs its "port"'],
	[{ request: 'attach', mode: 'local', processId: 'no such process' }, 'No process is called'],
])('a configuration that cannot work says why: %j', async (config, why) => {
	expect(await resolve(config)).toBeUndefined();
	expect(seen.errors).toHaveLength(1);
	expect(seen.errors[0]).toContain(why);
});

test('Go is found outside of PATH, and given to clew', async () => {
	vi.stubEnv('PATH', '/nowhere');
	vi.stubEnv('GOROOT', '');
	expect(await findGo([])).toBeUndefined();
	const go = script('go', '');
	expect(await findGo([folder])).toBe(go);
	mkdirSync(join(folder, 'bin'));
	vi.stubEnv('GOROOT', folder);
	symlinkSync(go, join(folder, 'bin/go'));
	expect((await environment()).PATH).toBe(`/nowhere:${join(folder, 'bin')}`);
});

test('words are split as a shell does', () => {
	expect(words('')).toEqual([]);
	expect(words(`a  "b \\"c\\"" 'd\\e' f"g"h`)).toEqual(['a', 'b "c"', 'd\\e', 'fgh']);
});

test('environment files', () => {
	const text = [
		'\ufeff# comment',
		'export A=1',
		'B = "x\\ny"',
		"C='$A ${A}'",
		'D=${A}${HOMELESS}',
		'no variable',
		'E=',
	].join('\r\n');
	expect(parseEnvFile(text, {})).toEqual({ A: '1', B: 'x\ny', C: '$A ${A}', D: '1', E: '' });
});

test('processes are read from /proc; what has ended or has no command line is left out', async () => {
	mkdirSync(join(folder, '12'));
	writeFileSync(join(folder, '12/cmdline'), '/bin/shop\0-v\0');
	symlinkSync('/bin/shop (deleted)', join(folder, '12/exe'));
	mkdirSync(join(folder, '2'));
	writeFileSync(join(folder, '2/cmdline'), '');
	mkdirSync(join(folder, '13'));
	mkdirSync(join(folder, 'self'));
	expect(await fromProc(folder)).toEqual([{ pid: 12, name: 'shop', commandLine: '/bin/shop -v' }]);
});

test('clew is found in the setting, in PATH, and where go install puts it', async () => {
	const path = script('clew', good);
	vi.stubEnv('PATH', folder);
	expect(await new Binary(new Log()).path()).toBe(path);
	vi.stubEnv('PATH', '/nowhere');
	vi.stubEnv('GOBIN', folder);
	expect(await new Binary(new Log()).path()).toBe(path);
	vi.stubEnv('GOBIN', '/nowhere');
	await expect(new Binary(new Log()).path()).rejects.toThrow('not installed');
	seen.settings['clew.path'] = path;
	expect(await new Binary(new Log()).path()).toBe(path);
	seen.settings['clew.path'] = join(folder, 'none');
	await expect(new Binary(new Log()).path()).rejects.toThrow('not there or cannot be executed');
});

test.each([
	['echo hello', 'is not the clew debugger'],
	['exit 3', 'is not the clew debugger'],
	['echo "Error: unknown flag: --json" >&2; exit 1', 'Delve without clew, or a clew too old'],
	[`echo '{"version":3}'`, 'is not the clew debugger'],
])('an executable that is no clew, or an old one, is refused: %s', async (text, why) => {
	seen.settings['clew.path'] = script('clew', text);
	await expect(new Binary(new Log()).path()).rejects.toThrow(why);
});

test('an executable is looked at again when it has changed', async () => {
	seen.settings['clew.path'] = script('clew', good);
	const binary = new Binary(new Log());
	await binary.path();
	await new Promise((r) => setTimeout(r, 20));
	script('clew', 'exit 1');
	await expect(binary.path()).rejects.toThrow('is not the clew debugger');
});

test('a server is reached where it says that it listens', async () => {
	const log = new Log();
	const servers = new Servers(log);
	const path = script('server', 'echo warm-up; echo "DAP server listening at: 127.0.0.1:4711"; exec sleep 60');
	expect(await servers.start('s', path, [], folder)).toEqual({ host: '127.0.0.1', port: 4711 });
	expect(seen.log).toContain('warm-up');
	servers.dispose();
});

test('an error shows the last output of a server that does not start', async () => {
	const servers = new Servers(new Log());
	const path = script('server', 'echo "clew: clew.json: unknown key strategis" >&2; exit 2');
	await expect(servers.start('s', path, [], folder)).rejects.toThrow('unknown key strategis');
	await expect(servers.start('s', join(folder, 'none'), [], folder)).rejects.toThrow('ENOENT');
});

test("a server's last words are its error, not the usage below it", () => {
	expect(lastWords('Error: unknown flag: --bogus\nUsage:\n  clew dap [flags]\n\n  --last\n')).toBe(
		'unknown flag: --bogus',
	);
	expect(lastWords('panic: no\ngoroutine 1\n')).toBe('goroutine 1');
	expect(lastWords('')).toBe('');
});

test.each([
	[
		'Build Error: go build -o x\n# example.com/x\n./broken.go:3:30: cannot use "no"\n (exit status 1)\n',
		'broken.go:3:30',
	],
	['Build Error: go build\ngo: go.mod file not found\n', 'go: go.mod file not found'],
	['Building\ncgo: C compiler "gcc" not found: exec: "gcc"\n', 'no C compiler is installed'],
	[
		'Build Error: go build\npackage x: build constraints exclude all Go files in /x (exit status 1)',
		'finds no C compiler',
	],
	[
		'Build Error: go build\npackage x: C source files not allowed when not using cgo or SWIG: a.c',
		'finds no C compiler',
	],
])('a build that failed says why: %j', (output, why) => {
	expect(whyNotBuilt(output)).toContain(why);
});

test('a launch that failed for another reason is no failed build', () => {
	expect(whyNotBuilt("Type 'dlv help' for list of commands.\n")).toBeUndefined();
});

/** A go command that installs a clew, into a folder of its own as `go env -w` may have set. */
function fakeGo(install: string): string {
	const bin = join(folder, 'elsewhere');
	mkdirSync(bin);
	script('go', `case $1 in env) echo "${bin}"; echo /nowhere ;; install) ${install} ;; esac`);
	vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
	vi.stubEnv('GOBIN', '/nowhere');
	return join(bin, 'clew');
}

test('an installed clew is found, and goes before one that is named by the setting', async () => {
	const goodOne = script('good', good);
	const path = fakeGo(`cp ${goodOne} ${folder}/elsewhere/clew`);
	seen.settings['clew.path'] = script('old', 'echo "--listen"');
	const binary = new Binary(new Log());
	expect(await binary.install()).toBe(path);
	expect(seen.settings['clew.path']).toBe(path);
	expect(seen.infos.at(-1)).toContain(path);
	expect(await binary.path()).toBe(path);
});

test('an installation that failed, or gave nothing, says so', async () => {
	fakeGo('echo "go: no such host" >&2; exit 1');
	await expect(new Binary(new Log()).install()).rejects.toThrow('could not be installed: go: no such host');
	script('go', 'exit 0');
	await expect(new Binary(new Log()).install()).rejects.toThrow('was installed, but is not in /nowhere');
});

test('a program that is cancelled is ended, with what it has started', async () => {
	const mark = join(folder, 'mark');
	const path = script('parent', `(sleep 1; touch ${mark}) & echo ready; wait`);
	let cancel: () => void = () => undefined;
	const token = {
		onCancellationRequested: (f: () => void) => {
			cancel = f;
			return { dispose: () => undefined };
		},
	};
	const done = run(path, [], { token: token as never, hear: () => cancel() });
	await expect(done).rejects.toBeInstanceOf(CancellationError);
	await new Promise((r) => setTimeout(r, 1_500));
	expect(existsSync(mark)).toBe(false);
});

test('a program that takes too long is ended', async () => {
	const path = script('slow', 'exec sleep 60');
	await expect(run(path, [], { timeout: 100 })).rejects.toThrow('takes too long');
});

test('every command and view of the manifest exists, and every setting that is read', () => {
	const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
	const subscriptions: unknown[] = [];
	const api = activate({ subscriptions, extensionUri: Uri.file('/'), globalState: new Map() } as never);
	// The best of some: a machine that is busy says nothing of the extension.
	const again = () => activate({ subscriptions, extensionUri: Uri.file('/'), globalState: new Map() } as never);
	expect(Math.min(api.activation, ...Array.from({ length: 9 }, () => again().activation))).toBeLessThan(50);
	const declared = manifest.contributes.commands.map((c: { command: string }) => c.command);
	const source = readFileSync(new URL('../../src/extension.ts', import.meta.url), 'utf8');
	for (const id of declared) expect(source).toContain(`'${id}'`);
	expect(Object.keys(seen.treeViews).sort()).toEqual(['clew.images', 'clew.stack']);
	for (const menus of Object.values(manifest.contributes.menus) as { command: string }[][]) {
		for (const { command } of menus) expect(declared).toContain(command);
	}
	// Of the call stack's menus all that can be about a row; a session's row is shown only where there are several.
	const menus = manifest.contributes.menus['debug/callstack/context'] as { command: string; when: string }[];
	const inMenu = (type: string) => menus.filter((m) => m.when.includes(type)).map((m) => m.command.slice(5));
	const ofThread = ['copyAll', 'copyStack', 'exportAll', 'exportStack', 'reportWrongStack', 'reunwind', 'showMap'];
	expect(inMenu('thread').sort()).toEqual(ofThread);
	expect(inMenu('stackFrame').sort()).toEqual([...ofThread, 'copyFrame', 'showRule'].sort());
	// Numbers stay numbers where a snippet is inserted: "^" has VS Code leave out the quotation marks.
	for (const { body } of manifest.contributes.debuggers[0].configurationSnippets) {
		if (body.port !== undefined) expect(body.port).toMatch(/^\^/);
	}
	expect(manifest.contributes.debuggers[0].languages).toBeUndefined(); // F5 stays the Go extension's
	expect(manifest.dependencies).toBeUndefined();
});
