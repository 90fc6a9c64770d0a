// Actions of a user, and their visible results.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { themes } from '../pages/themes.mjs';
import { callStack, imagesView, makeRoom, row, stackView, stop, stopInWhisk, webview } from './actions.mjs';
import { colorThemes, countingRelay, existsSync, launchJSON, patience, readFileSync, until } from './harness.mjs';
import { loaded } from './loaded.mjs';

/** A server that outlives its sessions, and its port. */
async function serve(clew, cwd) {
	const server = spawn(clew, ['dap', '--multi', '--listen=127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'], cwd });
	let output = '';
	server.stdout.on('data', (d) => {
		output += d;
	});
	const port = Number(await until('clew dap to listen', async () => /listening at: .*:(\d+)/.exec(output)?.[1]));
	return { server, port };
}

/** The open map in every kind of theme, in the colours that test/pages draws it in; the window's own theme comes last. */
async function mapInThemes(w, own) {
	for (const theme of [...Object.keys(themes).filter((t) => t !== own), own]) {
		await w.useTheme(theme);
		const map = await webview(w);
		await map.waitForSelector(`body.${colorThemes[theme].page}`);
		const differ = await map.evaluate(
			(colors) => {
				const { document, getComputedStyle } = globalThis;
				const probe = document.body.appendChild(document.createElement('i'));
				const shown = (color) => {
					probe.style.color = '';
					probe.style.color = color;
					return getComputedStyle(probe).color;
				};
				const pairs = Object.keys(colors).map((c) => [c, shown(`var(--vscode-${c})`), shown(colors[c])]);
				probe.remove();
				return pairs.filter(([, here, there]) => here !== there);
			},
			Object.fromEntries(Object.entries(themes[theme]).filter(([, value]) => value.startsWith('#'))),
		);
		assert.deepEqual(differ, [], `colours of ${theme}: VS Code's, and those of test/pages`);
		await w.shot(`map-${theme}`);
	}
}

/** More frames in the map, by keyboard: the first of them has the focus. */
async function showMore(w) {
	await w.command('Clew: Show Stack Map');
	const map = await webview(w);
	await map.locator('#more').focus();
	await map.locator('#more').press('Enter');
	await until('the focus on frame 100', async () =>
		(await webview(w)).evaluate(() => globalThis.document.activeElement?.dataset.index === '100'),
	);
	await w.page.keyboard.press('Control+W');
	await w.page.locator('.tab', { hasText: 'Stack Map' }).waitFor({ state: 'detached' });
	await w.command('View: Show Run and Debug'); // keys go nowhere while the page that had them is going
}

/** How long VS Code says that it took to load and activate the extension, in milliseconds. */
async function activation(w) {
	await w.command('Developer: Show Running Extensions');
	const editor = w.page.locator('.runtime-extensions-editor');
	const extension = editor.locator('.extension', { hasText: 'clew: Go stacks' }).first();
	const found = await until('the time of activation', async () => {
		if ((await extension.count()) > 0) {
			return /Activation: (\d+)\s*ms/.exec(await extension.locator('.activation-time').innerText({ timeout: 5_000 }));
		}
		await editor.locator('.monaco-list').first().press('PageDown', { timeout: 5_000 }); // the slowest come first
		return undefined;
	});
	return Number(found[1]);
}

export const scenarios = {
	...loaded,
	async stack(w, { workspace, home, program, clew, must, theme }) {
		launchJSON(workspace, [{ type: 'clew', request: 'launch', name: 'Barista', mode: 'exec', program }]);
		await w.breakpoint('native.c', 9);
		await stopInWhisk(w);

		// The call stack: C functions with names, nothing unknown.
		// A view has the rows only that it shows.
		const first = await w.sees(stackView, 'whisk', 'froth');
		await row(w, stackView, '0 whisk').click();
		await w.page.keyboard.press('End');
		const rows = [...first, ...(await w.sees(stackView, 'main.main', 'end: runtime.goexit'))];
		assert.ok(!rows.some((r) => r.includes('???')), rows.join('\n'));
		const shown = await w.rows(callStack);
		assert.ok(!shown.some((r) => r.includes('???')), shown.join('\n'));
		await w.page.keyboard.press('Home');

		// A frame's evidence, and the frame selected by it.
		await row(w, stackView, '1 froth').locator('.monaco-tl-twistie').click();
		await w.sees(stackView, 'trust', 'cfa');
		await w.widen(480);
		await makeRoom(w, stackView);
		await w.shot('stack');
		await makeRoom(w, callStack, stackView);
		await row(w, stackView, '1 froth').locator('.label-name').click();
		await until(
			'the frame to be selected',
			async () =>
				(await row(w, callStack, 'froth').getAttribute('class'))?.includes('selected') ||
				(await w.page.locator('.debug-focused-stack-frame-line').count()) > 0,
		);

		// The stack map, by keyboard.
		await w.command('View: Hide Panel').catch(() => undefined);
		await w.command('View: Toggle Primary Side Bar Visibility');
		await w.command('Clew: Show Stack Map');
		const map = await webview(w);
		await map.locator('.frame').first().waitFor();
		assert.equal(await map.locator('section.column').count(), 2);
		assert.equal(await map.locator('svg > path').count(), 3); // C to Go, back to C, C to Go
		await map.locator('.frame[data-index="0"]').focus();
		await map.locator('.frame[data-index="0"]').press('ArrowDown');
		await until('the details', async () => (await map.locator('#details h3').innerText()).includes('#1 froth'));
		assert.match(await map.locator('#details').innerText(), /cfa\s+= rbp\+16/);
		await w.shot('map');
		await mapInThemes(w, theme);
		await w.page.keyboard.press('Control+W');
		await w.command('View: Show Run and Debug');

		// Exported, and opened again; it equals the output of clew stack.
		const file = join(workspace, 'mine.cbf');
		rmSync(file, { force: true }); // of a failed attempt
		await w.command('Clew: Export Stack as CBF...');
		await w.answer('goroutine-1.cbf', file);
		await w.message(`Exported: ${file}`);
		assert.ok(existsSync(join(workspace, 'mine.cif')));
		must(clew, ['stack', '--break', 'native.c:9', '--format', 'cbf', '-o', join(home, 'cli.cbf'), '--', program]);
		assert.ok(
			readFileSync(file).equals(readFileSync(join(home, 'cli.cbf'))),
			'the exported file differs from that of clew stack',
		);
		await w.message('Exported:', 'Open');
		await until('the file as a document', async () =>
			(await w.page.locator('.tab.active').innerText()).includes('mine.cbf'),
		);
		await until('its frames', async () =>
			// Each with its image, from the .cif beside the file.
			/0x[0-9a-f]+\s+barista\.exe\+0x/.test(await w.page.locator('.editor-instance .view-lines').first().innerText()),
		);
		await w.shot('cbf');
		await w.page.keyboard.press('Control+W');

		await stop(w);
	},

	// A step in C; a restart; the end.
	async stepping(w, { workspace, program }) {
		launchJSON(workspace, [{ type: 'clew', request: 'launch', name: 'Barista', mode: 'exec', program }]);
		await w.breakpoint('native.c', 9);
		await stopInWhisk(w);
		await w.page.keyboard.press('F10');
		await until(
			'the step',
			async () =>
				(await w.rows(callStack)).some((r) => /native\.c 10/.test(r)) ||
				(await row(w, stackView, '0 whisk').innerText()).includes('native.c:10'),
		);
		await w.page.keyboard.press('Control+Shift+F5');
		await until('the stop after the restart', async () =>
			(await row(w, stackView, '0 whisk').innerText()).includes('native.c:9'),
		);
		await stop(w);
	},

	async thread(w, { workspace, program }) {
		launchJSON(workspace, [
			{ type: 'clew', request: 'launch', name: 'Thread', mode: 'exec', program, args: ['thread'] },
		]);
		await w.breakpoint('native.c', 9);
		await stopInWhisk(w);
		await w.sees(stackView, '2 barista');
		await w.widen(480);
		await makeRoom(w, imagesView);
		await w.sees(imagesView, 'barista.exe');
		await row(w, imagesView, 'barista.exe').click();
		await w.sees(imagesView, 'dwarfcfi', 'range');
		await w.shot('images');
		await stop(w);
	},

	async core(w, { workspace, home, program }) {
		const pattern = readFileSync('/proc/sys/kernel/core_pattern', 'utf8').trim();
		if (pattern.startsWith('|')) {
			console.log(`LEFT OUT: core files go to ${pattern}`);
			assert.notEqual(process.env.CI, 'true');
			return;
		}
		spawnSync('sh', ['-c', 'ulimit -c unlimited && exec "$0" spill', program], {
			cwd: home,
			env: { ...process.env, GOTRACEBACK: 'crash' },
		});
		const name = readdirSync(home).find((f) => f.startsWith('core'));
		assert.ok(name, 'no core file was written');
		launchJSON(workspace, [
			{ type: 'clew', request: 'launch', name: 'Core', mode: 'core', program, coreFilePath: join(home, name) },
		]);
		await w.openFile('native.c');
		await w.page.keyboard.press('F5');
		await w.command('View: Show Run and Debug');
		await w.pane(stackView).waitFor({ state: 'visible' });
		await makeRoom(w, stackView);
		await w.sees(stackView, 'raise', 'abort', 'spill');
		await row(w, stackView, 'spill').locator('.label-name').click();
		await w.page.keyboard.press('End');
		await w.sees(stackView, 'main.main', 'end: runtime.goexit');
		await stop(w);
	},

	// Weaker evidence is shown in the call stack itself: a row before the first such frame.
	async labels(w, { workspace, program }) {
		launchJSON(workspace, [
			{
				type: 'clew',
				request: 'launch',
				name: 'Weak',
				mode: 'exec',
				program,
				args: ['thread'],
				clew: { strategies: ['fpwalk'] },
			},
		]);
		await w.breakpoint('native.c', 9);
		await stopInWhisk(w);
		await w.sees(stackView, 'fpwalk, frame-pointer');
		await row(w, stackView, '1 froth').locator('.label-name').click(); // opens the thread's row in the call stack
		const label = w.pane(callStack).locator('.stack-frame.label').first();
		await label.waitFor();
		assert.match(await label.innerText(), /^-- .*frame pointer.* --$/);
		await until('the frame below the label to be selected', async () =>
			(await row(w, callStack, 'froth').getAttribute('class'))?.includes('selected'),
		);
		// The menu of a row is about that row, not about the one that is selected.
		await row(w, callStack, 'barista').click({ button: 'right' });
		const copy = w.page.locator('.monaco-menu .action-label', { hasText: 'Copy Frame' }).first();
		await copy.waitFor();
		await until('the menu to take a click', async () => {
			await copy.click({ timeout: 5_000 }); // it takes no click just after it appears
			return copy.waitFor({ state: 'hidden', timeout: 2_000 }).then(() => true);
		});
		await until('frame 2 in the clipboard', async () =>
			/^#2 0x[0-9a-f]+ barista at /.test(await w.page.evaluate(() => navigator.clipboard.readText())),
		);
		const shown = await w.rows(callStack);
		assert.ok(!shown.some((r) => r.includes('???')), shown.join('\n'));
		await stop(w);
	},

	// As one lives beside golang.go: type go, and a server that runs already.
	async go(w, { workspace, program, clew }) {
		const { server, port } = await serve(clew, workspace);
		try {
			launchJSON(workspace, [
				{ type: 'go', request: 'launch', name: 'Go', mode: 'exec', program, debugServer: port, stackTraceDepth: 50 },
			]);
			await w.breakpoint('native.c', 9);
			await stopInWhisk(w);
			await w.command('Clew: Copy Stack');
			await until('the stack in the clipboard', async () =>
				/froth/.test(await w.page.evaluate(() => navigator.clipboard.readText())),
			);
			await stop(w);
			assert.equal(server.exitCode, null); // it outlives its session
		} finally {
			server.kill('SIGTERM');
		}
	},

	// Attached to a server that has the program already.
	async remote(w, { workspace, program, clew }) {
		const server = spawn(clew, ['exec', program, '--headless', '--accept-multiclient', '--listen=127.0.0.1:0'], {
			stdio: ['ignore', 'pipe', 'inherit'],
			cwd: workspace,
		});
		try {
			let output = '';
			server.stdout.on('data', (d) => {
				output += d;
			});
			const port = Number(await until('clew exec to listen', async () => /listening at: .*:(\d+)/.exec(output)?.[1]));
			launchJSON(workspace, [
				{ type: 'clew', request: 'attach', name: 'Remote', mode: 'remote', host: '127.0.0.1', port },
			]);
			await w.breakpoint('native.c', 9);
			await stopInWhisk(w);
			await stop(w);
			assert.equal(server.exitCode, null); // the session ends, not the program
		} finally {
			server.kill('SIGTERM');
		}
	},

	// 10,000 goroutines, and 10,000 frames: nothing is asked that is not shown.
	async many(w, { workspace, program, clew }) {
		for (const what of ['crowd', 'deep']) {
			const { server, port } = await serve(clew, workspace);
			const relay = await countingRelay(port);
			try {
				launchJSON(workspace, [
					{
						type: 'clew',
						request: 'launch',
						name: what,
						mode: 'exec',
						program,
						args: [what],
						debugServer: relay.port,
						hideSystemGoroutines: true,
					},
				]);
				if (what === 'crowd') await w.breakpoint('native.c', 9);
				await stopInWhisk(w);
				await w.page.keyboard.press('F10');
				await until('the step', async () => (await row(w, stackView, '0 whisk').innerText()).includes('native.c:10'));
				// Two stops: VS Code asks for the first frame, then for a page; the view for one page.
				assert.ok(relay.count('stackTrace') <= 12, `stackTrace was asked ${relay.count('stackTrace')} times`);
				assert.ok(relay.count('clew/stack') <= 4, `clew/stack was asked ${relay.count('clew/stack')} times`);
				assert.equal(relay.count('clew/images'), 0); // the view is folded
				assert.equal(relay.count('clew/export'), 0);
				if (what === 'deep') await showMore(w);
				await stop(w);
			} finally {
				relay.close();
				server.kill('SIGTERM');
			}
		}
	},

	// A configuration that cannot work: one message, and what mends it.
	async mistakes(w, { workspace, home }) {
		launchJSON(workspace, [
			{ type: 'clew', request: 'launch', name: 'None', mode: 'exec', program: join(home, 'none.exe') },
		]);
		await w.openFile('main.go');
		await until('the message', async () => {
			await w.page.keyboard.press('F5');
			await w.page
				.locator('.notification-list-item', { hasText: 'which is not there' })
				.first()
				.waitFor({ timeout: 15_000 });
			return true;
		});
		await w.message('which is not there', 'Open launch.json');
		await w.page.locator('.tab.active', { hasText: 'launch.json' }).waitFor({ timeout: patience });

		// 50 ms are the aim; a far longer time is no slow machine's fault.
		const took = await activation(w);
		console.log(`  VS Code loaded and activated the extension in ${took} ms`);
		assert.ok(took <= 1_000, `activation took ${took} ms`);
	},
};
