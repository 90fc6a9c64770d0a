import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BacktraceEditor, imagesOf } from '../../src/decode';
import { UserError } from '../../src/errors';
import { reset, seen, Uri } from './vscode';

test('the image map of a backtrace is the one beside it, or the one of the folder', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'clew-'));
	try {
		const path = (name: string) => join(folder, name);
		expect(await imagesOf(path('a.cbf'))).toBeUndefined();
		writeFileSync(path('images.cif'), '');
		expect(await imagesOf(path('a.cbf'))).toBe(path('images.cif'));
		writeFileSync(path('a.cif'), '');
		expect(await imagesOf(path('a.cbf'))).toBe(path('a.cif'));
		expect(await imagesOf(path('A.CBF'))).toBe(path('images.cif'));
		// An image map needs none, and an envelope has its own.
		expect(await imagesOf(path('a.cif'))).toBeUndefined();
		expect(await imagesOf(path('a.json'))).toBeUndefined();
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('a backtrace that is opened without clew says so in its place, and what mends it', async () => {
	reset();
	const installed: string[] = [];
	const action = { title: 'Install', run: () => installed.push('clew') };
	const path = () => Promise.reject(new UserError('The clew debugger is not installed.', [action]));
	const panel = { webview: { html: '' }, onDidDispose: () => undefined };
	seen.press = 'Install';
	const uri = Uri.file('/tmp/none.cbf');
	await new BacktraceEditor({ path } as never).resolveCustomEditor({ uri } as never, panel as never);
	expect(panel.webview.html).toContain('is not installed');
	await new Promise((r) => setImmediate(r));
	expect([seen.errors, installed]).toEqual([['The clew debugger is not installed.'], ['clew']]);
});
