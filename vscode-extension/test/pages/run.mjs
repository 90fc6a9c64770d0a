// The stack map in a browser, without VS Code: in the colours of each kind of theme, and in half an editor.
// What axe objects to fails, and what cannot be reached. Screenshots go to output/.
//
//   CLEW_E2E_MODULES   folder with playwright-core installed
//   CHROMIUM           the browser (default: /usr/bin/chromium)

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';
import { themes } from './themes.mjs';

const here = import.meta.dirname;
const extension = join(here, '../..');
const output = join(here, 'output');
const { chromium } = createRequire(join(process.env.CLEW_E2E_MODULES ?? extension, 'package.json'))('playwright-core');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const stack = JSON.parse(readFileSync(join(extension, 'test/testdata/stack.json'), 'utf8'));
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];

/** The extension's own page, and its own script with VS Code's side played. */
async function sources() {
	const page = { stdin: { contents: "export * from './src/map/render.ts'", resolveDir: extension, loader: 'ts' } };
	const script = { entryPoints: [join(extension, 'src/webview/map.ts')] };
	const text = async (options) =>
		(await build({ ...options, bundle: true, write: false, format: 'esm' })).outputFiles[0].text;
	const url = `data:text/javascript;base64,${Buffer.from(await text(page)).toString('base64')}`;
	const host =
		'globalThis.sent = []; globalThis.acquireVsCodeApi = () => ({ postMessage: (m) => sent.push(m), getState() {}, setState() {} });';
	return { ...(await import(url)), script: `${host}\n${await text(script)}` };
}

/** What a user of half an editor gets: every column can be scrolled to, and the details lie above it, whole. */
function reach() {
	const { document, innerWidth, innerHeight } = globalThis;
	const inside = (box) => box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight;
	return [...document.querySelectorAll('section.column')].map((column) => {
		const frame = column.querySelector('.frame');
		frame.scrollIntoView({ block: 'nearest', inline: 'end' });
		const box = document.getElementById('details').getBoundingClientRect();
		return { frame: inside(frame.getBoundingClientRect()), details: inside(box) && box.height > 60 };
	});
}

const { page: pageOf, render, script } = await sources();
mkdirSync(output, { recursive: true });
const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
	args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});
let failed = 0;
try {
	for (const [name, colors] of Object.entries(themes)) {
		const page = await browser.newPage({ viewport: { width: 500, height: 780 }, bypassCSP: true });
		const style = Object.entries(colors).map(([key, value]) => `--vscode-${key}:${value}`);
		const html = pageOf(render(stack, false), '', '', '').replace(
			'<body>',
			`<body class="vscode-${name}" style="${style.join(';')}">`,
		);
		await page.setContent(html);
		await page.addScriptTag({ content: script, type: 'module' });
		await page.waitForFunction(() => globalThis.sent?.some((m) => m.ready));
		await page.evaluate(() => globalThis.postMessage({ select: 1 }, '*'));
		await page.locator('.frame.selected').focus();
		await page.screenshot({ path: join(output, `map-${name}.png`) });
		await page.evaluate(axe);
		const { violations, passes } = await page.evaluate((runOnly) => globalThis.axe.run({ runOnly }), rules);
		const problems = violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(' ')}`);
		try {
			assert.deepEqual(problems, []);
			assert.ok(
				passes.some((p) => p.id === 'color-contrast'),
				'no contrast was looked at',
			);
			assert.match(await page.locator('#details').innerText(), /#1 froth.*rbp\+16/s);
			assert.deepEqual(await page.evaluate(reach), Array(2).fill({ frame: true, details: true }));
			await page.locator('.frame.selected').press('Enter');
			assert.ok(await page.evaluate(() => globalThis.sent.some((m) => m.go === 1)), 'Enter goes nowhere');
			await page.screenshot({ path: join(output, `map-${name}-goroutine.png`) });
			console.log(`ok ${name}: ${passes.length} rules of axe`);
		} catch (err) {
			failed++;
			console.log(`FAILED ${name}: ${err.message}`);
		}
		await page.close();
	}
} finally {
	await browser.close();
}
process.exit(failed ? 1 : 0);
