import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { imagesOf } from '../../src/decode';

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
