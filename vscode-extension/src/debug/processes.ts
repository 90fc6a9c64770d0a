// Processes of this machine, to choose one to attach to.

import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import * as vscode from 'vscode';
import { UserError } from '../errors';
import { run } from '../run';
import { choice, visible } from '../visible';

export interface Process {
	pid: number;
	name: string;
	commandLine: string;
}

/** All processes that can be seen, newest first, this one left out. */
export async function processes(): Promise<Process[]> {
	const all = process.platform === 'linux' ? await fromProc('/proc') : await fromPS();
	return all.filter((p) => p.pid !== process.pid).sort((a, b) => b.pid - a.pid);
}

/** Reads /proc. Kernel threads, which have no command line, are left out. */
export async function fromProc(root: string): Promise<Process[]> {
	const found = await Promise.all(
		(await readdir(root))
			.filter((d) => /^\d+$/.test(d))
			.map(async (d): Promise<Process | undefined> => {
				try {
					const line = (await readFile(`${root}/${d}/cmdline`, 'utf8')).replace(/\0+$/, '').replaceAll('\0', ' ');
					const path = await readlink(`${root}/${d}/exe`).catch(() => undefined);
					const name = path ? basename(path.replace(/ \(deleted\)$/, '')) : basename(line.split(' ')[0] ?? '');
					return line === '' ? undefined : { pid: Number(d), name, commandLine: line };
				} catch {
					return undefined; // it has ended
				}
			}),
	);
	return found.filter((p) => p !== undefined);
}

async function fromPS(): Promise<Process[]> {
	const { stdout } = await run('ps', ['-axo', 'pid=,comm='], { timeout: 10_000 });
	const out: Process[] = [];
	for (const line of stdout.split('\n')) {
		const [, pid, command] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
		if (pid && command) out.push({ pid: Number(pid), name: basename(command), commandLine: command });
	}
	return out;
}

/** Has the user choose. The answer is a string, as variables of launch.json are; undefined ends the launch. */
export async function pickProcess(): Promise<string | undefined> {
	const items = processes().then((all) =>
		all.map((p) => ({ label: choice(p.name), description: String(p.pid), detail: choice(p.commandLine) })),
	);
	const chosen = await vscode.window.showQuickPick(items, {
		title: 'Attach to Process',
		placeHolder: 'Type its name, number or command line',
		matchOnDescription: true,
		matchOnDetail: true,
	});
	return chosen?.description;
}

/** The process of that name, chosen by the user where there are several. */
export async function processNamed(name: string): Promise<number> {
	const all = (await processes()).filter((p) => p.name === name);
	if (all.length > 1) {
		const chosen = await vscode.window.showQuickPick(
			all.map((p) => ({ label: String(p.pid), description: choice(p.name), detail: choice(p.commandLine) })),
			{ title: `Several processes are called ${visible(name)}` },
		);
		if (!chosen) throw new vscode.CancellationError();
		return Number(chosen.label);
	}
	const [only] = all;
	if (!only) throw new UserError(`No process is called "${name}". Start it first, or use "waitFor".`);
	return only.pid;
}
