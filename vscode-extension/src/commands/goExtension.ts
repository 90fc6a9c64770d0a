// Has the Go extension (golang.go) use clew for its own debug sessions: type go,
// tests, code lenses. It looks for Delve in go.alternateTools.

import * as vscode from 'vscode';
import type { Binary } from '../binary';

const section = 'go.alternateTools';

function tools(): Record<string, string> {
	return { ...vscode.workspace.getConfiguration().inspect<Record<string, string>>(section)?.globalValue };
}

async function set(value: Record<string, string>): Promise<void> {
	const empty = Object.keys(value).length === 0;
	await vscode.workspace
		.getConfiguration()
		.update(section, empty ? undefined : value, vscode.ConfigurationTarget.Global);
}

/** Use with the Go Extension. What was set before is kept, for the way back. */
export async function useWithGo(binary: Binary, state: vscode.Memento): Promise<void> {
	if (!vscode.extensions.getExtension('golang.go')) {
		const chosen = await vscode.window.showWarningMessage(
			'The Go extension (golang.go) is not installed. Sessions of type "clew" need nothing of it.',
			'Find It',
		);
		if (chosen) await vscode.commands.executeCommand('workbench.extensions.search', 'golang.go');
		return;
	}
	const path = await binary.path();
	const before = tools();
	if (before.dlv !== path) await state.update('dlvBefore', before.dlv ?? '');
	await set({ ...before, dlv: path });
	const chosen = await vscode.window.showInformationMessage(
		`The Go extension's debug sessions use clew now (go.alternateTools.dlv is ${path}). Nothing in launch.json has to change.`,
		'Undo',
	);
	if (chosen === 'Undo') await undoUseWithGo(state);
}

/** Stop Using with the Go Extension. */
export async function undoUseWithGo(state: vscode.Memento): Promise<void> {
	const now = tools();
	const before = state.get<string>('dlvBefore', '');
	if (before) now.dlv = before;
	else delete now.dlv;
	await set(now);
	await state.update('dlvBefore', undefined);
	await vscode.window.showInformationMessage(
		before ? `The Go extension uses ${before} again.` : 'The Go extension uses its own Delve again.',
	);
}
