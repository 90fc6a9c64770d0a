// What a user does, and what must be seen then.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { existsSync, launchJSON, patience, readFileSync, sleep, until } from './harness.mjs';

const stackView = 'Stack (clew)';
const imagesView = 'Images (clew)';
const callStack = 'Call Stack';

/** The row of a view that has this text. */
const row = (w, view, text) => w.pane(view).locator('.monaco-list-row', { hasText: text }).first();

/** Gives the side bar's room to the views that a scenario is about. */
async function makeRoom(w, ...wanted) {
	for (const title of ['Variables', 'Watch', 'Breakpoints', callStack, stackView, imagesView]) {
		await w.fold(title, wanted.includes(title));
	}
}

/** Starts the only configuration and waits for a stop in whisk. */
async function stopInWhisk(w) {
	await w.page.keyboard.press('F5');
	await w.sees(callStack, 'whisk');
	await makeRoom(w, callStack, stackView);
	await w.sees(stackView, '0 whisk', '1 froth');
}

async function stop(w) {
	await w.page.keyboard.press('Shift+F5');
	await until(
		'the session to end',
		async () =>
			(await w.page.locator('.debug-toolbar, .codicon-debug-stop, .codicon-debug-disconnect').count()) === 0 ||
			(await w.page.locator('.statusbar.debugging, .part.statusbar.status-bar-debugging').count()) === 0,
	);
	await until(
		'the view to go',
		async () => (await w.pane(stackView).count()) === 0 || !(await w.pane(stackView).isVisible()),
	);
}

/** The page inside of a webview. */
async function webview(w) {
	return until('the webview', async () => {
		for (const frame of w.page.frames()) {
			if (
				frame.parentFrame()?.parentFrame() &&
				(await frame
					.locator('.frame, .bar, pre')
					.count()
					.catch(() => 0)) > 0
			)
				return frame;
		}
		return undefined;
	});
}

export const scenarios = {
	async stack(w, { workspace, home, program, clew, must }) {
		launchJSON(workspace, [{ type: 'clew', request: 'launch', name: 'Barista', mode: 'exec', program }]);
		await w.breakpoint('native.c', 9);
		await stopInWhisk(w);

		// The call stack: C functions with names, nothing unknown.
		const rows = await w.sees(stackView, 'froth', 'crush', 'main.main', 'end: runtime.goexit').catch(async () => {
			await row(w, stackView, '0 whisk').click();
			await w.page.keyboard.press('End');
			return w.sees(stackView, 'main.main', 'end: runtime.goexit');
		});
		assert.ok(!rows.some((r) => r.includes('???')), rows.join('\n'));
		const shown = await w.rows(callStack);
		assert.ok(!shown.some((r) => r.includes('???')), shown.join('\n'));
		await w.page.keyboard.press('Home');

		// A frame's evidence, and the frame selected by it.
		await row(w, stackView, '1 froth').locator('.monaco-tl-twistie').click();
		await w.sees(stackView, 'trust', 'cfa');
		await w.shot('stack');
		await row(w, stackView, '1 froth').locator('.label-name').click();
		await until(
			'the frame to be selected',
			async () =>
				(await row(w, callStack, 'froth').getAttribute('class'))?.includes('selected') ||
				(await w.page.locator('.debug-focused-stack-frame-line').count()) > 0,
		);

		// The stack map, by keyboard.
		await w.command('View: Hide Panel').catch(() => undefined);
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
		await w.page.keyboard.press('Control+W');

		// Exported, and opened again; it is what clew stack writes.
		const file = join(workspace, 'mine.cbf');
		await w.command('Clew: Export Stack as CBF...');
		await w.answer(file);
		await w.message('Exported:');
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
			/0x[0-9a-f]+/.test(await w.page.locator('.editor-instance .view-lines').first().innerText()),
		);
		await w.shot('cbf');
		await w.page.keyboard.press('Control+W');

		// A step in C; a restart; the end.
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
		await w.fold(imagesView, true);
		await w.fold(stackView, false);
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
		await w.pane(stackView).waitFor({ state: 'visible' });
		await makeRoom(w, callStack, stackView);
		await w.sees(stackView, 'spill', 'main.main');
		await stop(w);
	},

	// As one lives beside golang.go: type go, and a server that runs already.
	async go(w, { workspace, program, clew }) {
		const server = spawn(clew, ['dap', '--multi', '--listen=127.0.0.1:0'], {
			stdio: ['ignore', 'pipe', 'inherit'],
			cwd: workspace,
		});
		try {
			let said = '';
			server.stdout.on('data', (d) => {
				said += d;
			});
			const port = Number(await until('clew dap to listen', async () => /listening at: .*:(\d+)/.exec(said)?.[1]));
			launchJSON(workspace, [
				{ type: 'go', request: 'launch', name: 'Go', mode: 'exec', program, debugServer: port, stackTraceDepth: 50 },
			]);
			await w.breakpoint('native.c', 9);
			await stopInWhisk(w);
			await w.command('Clew: Copy Stack');
			await stop(w);
			assert.equal(server.exitCode, null); // it outlives its session
		} finally {
			server.kill('SIGTERM');
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
		await sleep(0);
	},
};
