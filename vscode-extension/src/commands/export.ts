// Exports: stacks to files or to the clipboard.

import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { request } from '../client';
import { messageOf, UserError } from '../errors';
import type { Exported, ExportFormat } from '../protocol';
import type { Selection, Sessions } from '../sessions';
import type { Stacks } from '../stacks';
import { frameLine } from '../text';
import { visible } from '../visible';
import { frameOf, selectionOf } from './context';

interface Format {
	format: ExportFormat;
	label: string;
	description: string;
	/** The ending of the file's name; "" for several files in a folder. */
	ending: string;
}

export const formats: Format[] = [
	{ format: 'cbf', label: 'CBF', description: 'Compact Backtrace Format, with the image map: a folder', ending: '' },
	{ format: 'swift', label: 'Swift envelope', description: 'one line of JSON for each stack', ending: '.swift.json' },
	{ format: 'pprof', label: 'pprof', description: 'a goroutine profile for go tool pprof', ending: '.pb.gz' },
	{ format: 'otlp', label: 'OTLP', description: 'a profile for OpenTelemetry', ending: '.otlp.pb' },
	{ format: 'json', label: 'JSON', description: 'every frame with its evidence', ending: '.json' },
	{ format: 'text', label: 'Text', description: 'as clew stack prints it', ending: '.txt' },
];

/** Names that a server may give files: nothing that leaves the folder, or that cannot be seen. */
function checkedName(name: string): string {
	if (name === '' || name === '.' || name === '..' || name !== basename(name)) {
		throw new UserError(`The debugger names a file "${name}", which is not inside the chosen folder.`);
	}
	return visible(name);
}

/** Writes a file whole or not at all. */
export async function writeWhole(path: string, data: Uint8Array): Promise<void> {
	const temp = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
	try {
		await writeFile(temp, data);
		await rename(temp, path);
	} catch (err) {
		await rm(temp, { force: true });
		throw new UserError(`${path} cannot be written: ${messageOf(err)}`);
	}
}

/** Where one stack's CBF goes: the map of images lies beside it, of the same name. */
function beside(path: string, name: string): string {
	if (!name.endsWith('.cif')) return path;
	return path.endsWith('.cbf') ? `${path.slice(0, -4)}.cif` : `${path}.cif`;
}

async function ask(at: Selection, args: { threadId?: number; all?: boolean; format: ExportFormat }): Promise<Exported> {
	const answer = await request(at.clew, 'clew/export', args);
	if (!Array.isArray(answer.files) || answer.files.length === 0)
		throw new UserError('The debugger has exported no file.');
	return answer;
}

const data = (file: { data: string }) => Buffer.from(file.data, 'base64');

/** Reports the written files, and offers to open them. */
async function tell(path: string, answer: Exported): Promise<void> {
	const count = answer.stacks === undefined || answer.stacks === 1 ? '' : ` ${answer.stacks} stacks,`;
	const cut = answer.truncated ? ` ${answer.truncated} truncated,` : '';
	const chosen = await vscode.window.showInformationMessage(`Exported:${count}${cut} ${path}`, 'Open', 'Copy Path');
	if (chosen === 'Copy Path') await vscode.env.clipboard.writeText(path);
	if (chosen !== 'Open') return;
	if (/\.(cbf|cif|swift\.json)$/.test(path))
		await vscode.commands.executeCommand('clew.openFile', vscode.Uri.file(path));
	else if (/\.(json|txt)$/.test(path)) await vscode.window.showTextDocument(vscode.Uri.file(path));
	else await vscode.commands.executeCommand('revealInExplorer', vscode.Uri.file(path));
}

function folder(): vscode.Uri {
	return vscode.workspace.workspaceFolders?.[0]?.uri ?? vscode.Uri.file(tmpdir());
}

/** Export Stack as CBF. */
export async function exportStack(sessions: Sessions, args: unknown[]): Promise<void> {
	const at = selectionOf(sessions, args);
	const answer = await ask(at, { threadId: at.threadId, format: 'cbf' }); // of this stop, however long the dialog is open
	const name = answer.files.find((f) => f.name.endsWith('.cbf'))?.name ?? 'stack.cbf';
	const target = await vscode.window.showSaveDialog({
		title: 'Export Stack as CBF',
		defaultUri: vscode.Uri.joinPath(folder(), checkedName(name)),
		filters: { 'Compact Backtrace Format': ['cbf'] },
	});
	if (!target) return;
	const files = [...answer.files].sort((a) => (a.name.endsWith('.cif') ? -1 : 1)); // who finds the stack finds its images
	for (const f of files) await writeWhole(beside(target.fsPath, f.name), data(f));
	void tell(target.fsPath, answer);
}

/** A name that nothing in the folder has: a dialog that is given a folder that exists enters it. */
async function free(name: string): Promise<vscode.Uri> {
	for (let n = 1; ; n++) {
		const uri = vscode.Uri.joinPath(folder(), n === 1 ? name : `${name}-${n}`);
		const there = await access(uri.fsPath).then(
			() => true,
			() => false,
		);
		if (!there) return uri;
	}
}

/** Export All Stacks. The server shows its progress, which can be cancelled. */
export async function exportAll(sessions: Sessions, args: unknown[]): Promise<void> {
	const at = selectionOf(sessions, args);
	const chosen = await vscode.window.showQuickPick(formats, { title: 'Export All Stacks', placeHolder: 'Format' });
	if (!chosen) return;
	const answer = await ask(at, { all: true, format: chosen.format });
	const several = answer.files.length > 1 || chosen.ending === '';
	const target = await vscode.window.showSaveDialog({
		title: several ? 'A folder for the stacks' : 'Export All Stacks',
		defaultUri: several ? await free('stacks') : vscode.Uri.joinPath(folder(), `stacks${chosen.ending}`),
	});
	if (!target) return;
	if (several) {
		await mkdir(target.fsPath, { recursive: true });
		for (const f of answer.files) await writeWhole(join(target.fsPath, checkedName(f.name)), data(f));
	} else {
		for (const f of answer.files) await writeWhole(target.fsPath, data(f));
	}
	void tell(target.fsPath, answer);
}

/** Copy Stack. */
export async function copyStack(sessions: Sessions, args: unknown[]): Promise<void> {
	const at = selectionOf(sessions, args);
	await toClipboard(await ask(at, { threadId: at.threadId, format: 'text' }), 'stack');
}

/** Copy All Stacks. */
export async function copyAll(sessions: Sessions, args: unknown[]): Promise<void> {
	await toClipboard(await ask(selectionOf(sessions, args), { all: true, format: 'text' }), 'stacks');
}

async function toClipboard(answer: Exported, what: string): Promise<void> {
	await vscode.env.clipboard.writeText(answer.files.map((f) => data(f).toString('utf8')).join('\n'));
	vscode.window.setStatusBarMessage(`clew: ${what} copied`, 3_000);
}

/** Copy Frame. */
export async function copyFrame(sessions: Sessions, stacks: Stacks, args: unknown[]): Promise<void> {
	const { stack, index } = await frameOf(sessions, stacks, args);
	const frame = stack.frames[index];
	if (frame) await vscode.env.clipboard.writeText(frameLine(frame));
	vscode.window.setStatusBarMessage('clew: frame copied', 3_000);
}

/** The contents of a snapshot, in words. */
export const snapshotContents =
	'The snapshot holds the registers of the thread, the stack memory and the code that were read to unwind it, ' +
	'and the paths of the executable and its libraries. Stack memory may hold secrets of the program: look before you send it.';

/** Report a Wrong Stack. */
export async function reportWrongStack(sessions: Sessions, args: unknown[]): Promise<void> {
	const at = selectionOf(sessions, args);
	const answer = await ask(at, { threadId: at.threadId, format: 'snapshot' });
	const go = await vscode.window.showInformationMessage(
		'Save a snapshot of this stack?',
		{ modal: true, detail: `${snapshotContents}\n\nIt gives the same stack offline: clew unwind FILE.` },
		'Save...',
	);
	if (!go) return;
	const target = await vscode.window.showSaveDialog({
		title: 'Save the snapshot',
		defaultUri: vscode.Uri.joinPath(folder(), 'wrong-stack.snapshot.json'),
	});
	const [file] = answer.files;
	if (!target || !file) return;
	await writeWhole(target.fsPath, data(file));
	const chosen = await vscode.window.showInformationMessage(
		`Saved: ${target.fsPath}. ${snapshotContents}`,
		'Open an Issue',
		'Look at It',
	);
	if (chosen === 'Look at It') await vscode.window.showTextDocument(target);
	if (chosen === 'Open an Issue') {
		await vscode.env.openExternal(vscode.Uri.parse('https://github.com/clewdbg/clew/issues/new'));
	}
}
