// Scenarios: glue, memory, and what is loaded.

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { callStack, imagesView, makeRoom, row, stackView, stop, stopInWhisk, webview } from './actions.mjs';
import { launchJSON, readFileSync, until } from './harness.mjs';

/** The text of the line where the program stands, in the editor. */
async function topLine(w) {
	const lit = await w.page.locator('.debug-top-stack-frame-line').first().boundingBox();
	for (const line of await w.page.locator('.editor-instance .view-line').all()) {
		const box = await line.boundingBox();
		if (box && lit && Math.abs(box.y - lit.y) < box.height / 2) return line.innerText();
	}
	return '';
}

/** Opens a row of a tree. */
async function expand(w, view, text) {
	const found = row(w, view, text);
	await until(`the children of ${text}`, async () => {
		if ((await found.getAttribute('aria-expanded', { timeout: 5_000 })) === 'true') return true;
		await found.click({ timeout: 5_000 });
		return false;
	});
}

/** Opens the memory of a variable, returns the bytes that are shown, and closes it. */
async function openMemory(w, name) {
	const variable = row(w, 'Variables', name);
	await until(`the memory of ${name}`, async () => {
		await variable.hover({ timeout: 5_000 });
		await variable.locator('.codicon-debug-inspect-memory').click({ timeout: 5_000 });
		return true;
	});
	const page = await webview(w);
	const bytes = await page.locator('pre').innerText();
	await w.shot(`memory-${name}`);
	await w.page
		.locator('.tab.active', { hasText: /memory|bin/i })
		.first()
		.click();
	await w.page.keyboard.press('Control+W');
	return bytes;
}

export const loaded = {
	// Glue between Go and C is folded into a row that unfolds it; a step out of C passes it.
	async glue(w, { workspace, program }) {
		launchJSON(workspace, [{ type: 'clew', request: 'launch', name: 'Glue', mode: 'exec', program }]);
		await w.breakpoint('native.c', 9);
		await stopInWhisk(w);
		const glue = /_cgo_|_Cfunc_|cgocall|crosscall2/;
		await makeRoom(w, callStack);
		await row(w, callStack, 'PAUSED ON BREAKPOINT').locator('.monaco-tl-twistie').click();
		const folded = await w.sees(callStack, 'froth', 'refill', 'grind');
		assert.ok(!folded.some((r) => glue.test(r)), folded.join('\n'));
		const behind = folded[folded.findIndex((r) => r.startsWith('froth')) + 1];
		assert.match(behind, /^Show \d+ More/, folded.join('\n'));
		await w.shot('glue-folded');
		await row(w, callStack, behind).click();
		const unfolded = await w.sees(callStack, '_Cfunc_froth', 'runtime.asmcgocall');
		const hidden = Number(/\d+/.exec(behind)[0]);
		assert.equal(
			unfolded.findIndex((r) => r.startsWith('main.refill')),
			folded.findIndex((r) => r.startsWith('main.refill')) + hidden - 1,
		);
		const subtle = w.pane(callStack).locator('.stack-frame.disabled', { hasText: 'main._Cfunc_froth' });
		assert.equal(await subtle.count(), 1);
		await w.shot('glue');

		await makeRoom(w, callStack, stackView);
		await w.page.keyboard.press('Shift+F11');
		await w.sees(stackView, '0 froth');
		await w.page.keyboard.press('Shift+F11');
		const line =
			readFileSync(join(workspace, 'main.go'))
				.toString()
				.split('\n')
				.findIndex((l) => l.includes('C.froth(')) + 1;
		assert.match((await w.sees(stackView, '0 main.refill'))[0], new RegExp(`main\\.go:${line}`));
		await w.page.locator('.tab.active', { hasText: 'main.go' }).waitFor();
		await until('the line to be lit', async () => /C\.froth/.test(await topLine(w)));
		await w.shot('glue-out');
		await stop(w);
	},

	// The memory of a variable and of a register, in the editor that VS Code opens for it.
	async memory(w, { workspace, program }) {
		launchJSON(workspace, [
			{ type: 'clew', request: 'launch', name: 'Memory', mode: 'exec', program, showRegisters: true },
		]);
		await w.breakpoint('native.c', 9);
		await stopInWhisk(w);
		await makeRoom(w, 'Variables');
		await expand(w, 'Variables', 'Locals');
		const milk = await openMemory(w, 'milk');
		assert.match(milk, /^22 00 00 00 /); // 2 * 17
		await expand(w, 'Variables', 'Registers');
		// rbp points to the caller's, which is not far above on the same stack, and to the return address.
		const rbp = await openMemory(w, 'Rbp');
		const [caller, to] = [0, 8].map((at) =>
			rbp
				.split(' ')
				.slice(at, at + 8)
				.reverse()
				.join(''),
		);
		const value = /0x([0-9a-f]+)/.exec(await row(w, 'Variables', 'Rbp').innerText())[1].padStart(16, '0');
		const above = BigInt(`0x${caller}`) - BigInt(`0x${value}`);
		assert.ok(above > 0n && above < 4096n, `rbp ${value}: ${rbp}`);
		await makeRoom(w, stackView);
		await row(w, stackView, '1 froth').locator('.monaco-tl-twistie').click();
		await w.sees(stackView, `0x${to.replace(/^0+/, '')}`);
		await stop(w);
	},

	// The images with their unwind information, and the protocol's modules, which say the same.
	async modules(w, { workspace, program }) {
		launchJSON(workspace, [{ type: 'clew', request: 'launch', name: 'Modules', mode: 'exec', program }]);
		await w.breakpoint('native.c', 9);
		await stopInWhisk(w);
		await w.widen(480);
		await makeRoom(w, imagesView);
		const images = await w.sees(imagesView, 'barista.exe', 'libc.so');
		const file = join(workspace, '.vscode/modules.json');
		rmSync(file, { force: true });
		await w.command('Stand-In: Write Modules');
		const modules = await until('the modules', async () => JSON.parse(readFileSync(file).toString()));
		for (const { name, unwind, addressRange } of modules) {
			const shown = images.find((r) => r.startsWith(name));
			assert.ok(shown, `${name} is in none of ${images.join(', ')}`);
			assert.match(addressRange, /^0x[0-9a-f]+-0x[0-9a-f]+$/);
			for (const strategy of unwind.matchAll(/([a-z]+) \d+\.\d %/g))
				assert.ok(shown.includes(strategy[1]), `${unwind}; ${shown}`);
		}
		assert.equal(modules.length, images.length);
		assert.match(modules.find((m) => m.name.startsWith('libc.so')).unwind, /dwarfcfi \d/);

		await w.shot('modules');
		await stop(w);
	},
};
