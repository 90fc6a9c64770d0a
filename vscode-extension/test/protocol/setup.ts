// Builds clew and the program that the protocol tests debug.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
	interface ProvidedContext {
		clew: string;
		/** Folder of the program's sources. */
		source: string;
		program: string;
		home: string;
	}
}

export default function setup(project: TestProject) {
	const home = mkdtempSync(join(tmpdir(), 'clew-protocol-'));
	const clew = process.env.CLEW ?? join(home, 'clew');
	const root = join(import.meta.dirname, '../../..');
	if (!process.env.CLEW) execFileSync('go', ['build', '-o', clew, './cmd/clew'], { cwd: root, stdio: 'inherit' });
	const source = join(home, 'barista');
	cpSync(join(import.meta.dirname, '../testdata/program'), source, { recursive: true });
	const program = join(home, 'barista.exe');
	execFileSync('go', ['build', '-gcflags=all=-N -l', '-o', program, '.'], { cwd: source, stdio: 'inherit' });
	project.provide('clew', clew);
	project.provide('source', source);
	project.provide('program', program);
	project.provide('home', home);
	return () => rmSync(home, { recursive: true, force: true });
}
