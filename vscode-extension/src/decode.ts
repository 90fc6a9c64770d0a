// CBF, image maps and Swift's envelopes, made readable by `clew decode`.

import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as vscode from 'vscode';
import type { Binary } from './binary';
import type { Documents } from './commands/unwinding';
import { messageOf, showError, UserError } from './errors';
import { escapeHTML } from './map/render';
import { run } from './run';
import { baseName } from './text';

/** A file in words. Of a corrupt one the readable part, with the error below it. */
export async function decode(binary: Binary, path: string): Promise<{ text: string; problem?: string }> {
	const args = ['decode', '--format', 'text', path];
	const images = await imagesOf(path);
	if (images) args.push('--images', images);
	const result = await run(await binary.path(), args, { timeout: 120_000 });
	if (result.code === 0) return { text: result.stdout };
	const problem = result.stderr.trim() || `clew decode ended with status ${result.code}`;
	if (result.stdout.trim() === '') {
		throw new UserError(`${baseName(path)} cannot be decoded: ${problem.replace(/^clew: /, '')}`);
	}
	return { text: result.stdout, problem };
}

/** The image map that was exported with a backtrace: x.cif beside x.cbf, or images.cif for the whole folder. */
export async function imagesOf(path: string): Promise<string | undefined> {
	if (!/\.cbf$/i.test(path)) return undefined;
	for (const candidate of [path.replace(/cbf$/i, 'cif'), join(dirname(path), 'images.cif')]) {
		if (
			await access(candidate).then(
				() => true,
				() => false,
			)
		)
			return candidate;
	}
	return undefined;
}

/** Open CBF File. */
export async function openFile(binary: Binary, documents: Documents, args: unknown[]): Promise<void> {
	const given = args.find((a): a is vscode.Uri => a instanceof vscode.Uri);
	const uri =
		given ??
		(
			await vscode.window.showOpenDialog({
				title: 'Open a backtrace',
				filters: { 'Backtraces (*.cbf, *.cif, *.json)': ['cbf', 'cif', 'json'], 'All files': ['*'] },
			})
		)?.[0];
	if (!uri) return;
	const { text, problem } = await decode(binary, uri.fsPath);
	await documents.show(`${baseName(uri.fsPath)}.txt`, problem ? `${text}\n${problem}\n` : text);
}

/** Shows such a file where it is opened like any other. */
export class BacktraceEditor implements vscode.CustomReadonlyEditorProvider {
	constructor(private readonly binary: Binary) {}

	openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
		return { uri, dispose: () => undefined };
	}

	async resolveCustomEditor(document: vscode.CustomDocument, panel: vscode.WebviewPanel): Promise<void> {
		const show = async () => {
			let body: string;
			try {
				const { text, problem } = await decode(this.binary, document.uri.fsPath);
				body = `<pre>${escapeHTML(text)}</pre>${problem ? `<p class="problem">${escapeHTML(problem)}</p>` : ''}`;
			} catch (err) {
				body = `<p class="problem">${escapeHTML(messageOf(err))}</p>`;
				if (err instanceof UserError && err.actions.length > 0) void showError(err); // with what mends it
			}
			panel.webview.html = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Backtrace</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>pre { font-family: var(--vscode-editor-font-family, monospace); font-size: var(--vscode-editor-font-size); color: var(--vscode-editor-foreground); tab-size: 4; }
.problem { color: var(--vscode-errorForeground); }</style></head><body>${body}</body></html>`;
		};
		const watcher = vscode.workspace.createFileSystemWatcher(
			new vscode.RelativePattern(vscode.Uri.joinPath(document.uri, '..'), baseName(document.uri.fsPath)),
		);
		watcher.onDidChange(show);
		panel.onDidDispose(() => watcher.dispose());
		await show();
	}
}
