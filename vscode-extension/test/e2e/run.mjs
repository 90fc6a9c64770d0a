// End-to-end tests: the packaged extension in a real VS Code, driven as a user
// would. Arguments: names of scenarios (default: all), and --theme=NAME, a kind of
// theme (default: dark). Screenshots go to output/NAME/.
//
//   CLEW               the clew executable (default: built)
//   CLEW_E2E_MODULES   folder with code-server and playwright-core installed
//   CHROMIUM           the browser (default: /usr/bin/chromium)

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code, colorThemes, Window } from './harness.mjs';
import { scenarios } from './scenarios.mjs';

const here = import.meta.dirname;
const extension = join(here, '../..');

function must(command, args, options = {}) {
	const done = spawnSync(command, args, { encoding: 'utf8', timeout: 600_000, ...options });
	if (done.status !== 0)
		throw new Error(`${command} ${args.join(' ')}: ${done.error?.message ?? ''}${done.stdout}${done.stderr}`);
	return done.stdout;
}

const wanted = process.argv.slice(2).filter((a) => !a.startsWith('--theme='));
const theme = process.argv.find((a) => a.startsWith('--theme='))?.slice('--theme='.length) ?? 'dark';
if (!colorThemes[theme]) throw new Error(`no theme ${theme}; there are ${Object.keys(colorThemes).join(', ')}`);
const output = join(here, 'output', theme);
const home = mkdtempSync(join(tmpdir(), 'clew-e2e-work-'));
let passed = 0;
let failed = 0;
let again = 2; // how many failures may be played once more
let code;
for (const signal of ['SIGINT', 'SIGTERM']) {
	process.on(signal, async () => {
		await code?.stop();
		rmSync(home, { recursive: true, force: true, maxRetries: 5 });
		process.exit(1);
	});
}
try {
	const clew = process.env.CLEW ?? join(home, 'clew');
	if (!process.env.CLEW) must('go', ['build', '-o', clew, './cmd/clew'], { cwd: join(extension, '..') });
	const workspace = join(home, 'barista');
	cpSync(join(here, '../testdata/program'), workspace, { recursive: true });
	must('go', ['build', '-gcflags=all=-N -l', '-o', join(home, 'barista.exe'), '.'], { cwd: workspace });
	const vsix = join(extension, 'dist/clew.vsix');
	code = await Code.start({
		vsix,
		extensions: ['go-stand-in', 'hex-stand-in'].map((name) => packed(home, name)),
		workspace,
		machine: { 'clew.path': clew },
		settings: { 'clew.log': 'dap', 'workbench.colorTheme': colorThemes[theme].id },
	});
	const context = { clew, workspace, home, program: join(home, 'barista.exe'), must, code, theme };
	for (const [name, scenario] of Object.entries(scenarios)) {
		if (wanted.length > 0 && !wanted.includes(name)) continue;
		// A browser that draws late on a busy machine is no fault of the extension's: what
		// fails is played once more, and reported as unsteady.
		const first = await play(name, scenario, context);
		if (first || (again-- > 0 && (await play(name, scenario, context)))) {
			passed++;
			if (!first) console.log(`UNSTEADY ${name}: failed, and passed when played again`);
		} else failed++;
	}
} catch (err) {
	failed++;
	console.log(`FAILED: ${err.stack}\n${code?.log ?? ''}`);
} finally {
	await code?.stop();
	rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || passed === 0 ? 1 : 0);

/** Plays a scenario in a window of its own. */
async function play(name, scenario, context) {
	const started = Date.now();
	const took = () => `${Math.round((Date.now() - started) / 1000)} s`;
	const window = new Window(await code.open(), output);
	await window.inTheme(theme);
	try {
		await scenario(window, context);
		console.log(`ok ${name} (${took()})`);
		return true;
	} catch (err) {
		await window.shot(`failed-${name}`).catch(() => undefined);
		console.log(`FAILED ${name} (${took()}; see output/${theme}/failed-${name}.png)\n  ${err.stack}`);
		console.log(`  log: ${code.extensionLog().slice(-3000)}`);
		console.log(`  messages: ${JSON.stringify(await window.messages().catch(() => []))}`);
		return false;
	} finally {
		await code.context.close();
	}
}

/** Packs an extension that stands in for another, and returns its path. */
function packed(folder, name) {
	const source = join(here, name);
	const out = join(folder, `${name}.vsix`);
	must(
		process.execPath,
		[
			join(extension, 'node_modules/@vscode/vsce/vsce'),
			'package',
			'--no-dependencies',
			'--allow-missing-repository',
			'--skip-license',
			'-o',
			out,
		],
		{ cwd: source },
	);
	if (!existsSync(out)) throw new Error(`no ${name}.vsix`);
	return out;
}
