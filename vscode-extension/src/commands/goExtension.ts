// Has the Go extension (golang.go) use clew for its own debug sessions: type go,
// tests, code lenses. It looks for Delve in go.alternateTools.

import * as vscode from 'vscode';
import { type Binary, findGo } from '../binary';
import { run } from '../run';
import { judge, warning } from './goVersion';

const section = 'go.alternateTools';

/** The Go extension's new setting and its old one; kept under this key. */
interface Given {
	path: string;
	before?: string;
}
const key = 'goGiven';

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
			'The Go extension (golang.go) is not installed. Sessions of type "clew" do not need it.',
			'Find It',
		);
		if (chosen) await vscode.commands.executeCommand('workbench.extensions.search', 'golang.go');
		return;
	}
	const path = await binary.path();
	const now = tools();
	const known = state.get<Given>(key);
	// Given twice, by another path perhaps: the setting from before clew stays.
	const before = known && now.dlv === known.path ? known.before : now.dlv === path ? undefined : now.dlv;
	await state.update(key, { path, before } satisfies Given);
	await set({ ...now, dlv: path });
	const effective = vscode.workspace.getConfiguration().get<Record<string, string>>(section)?.dlv;
	if (effective !== path) {
		await vscode.window.showWarningMessage(
			`The settings of this workspace name another debugger and override yours: go.alternateTools.dlv is ${effective} there. Remove it to have the Go extension use clew here.`,
		);
		return;
	}
	const bites = await objection(path);
	if (bites) await vscode.window.showWarningMessage(bites);
	const chosen = await vscode.window.showInformationMessage(
		`The Go extension's debug sessions use clew now (go.alternateTools.dlv is ${path}). Nothing in launch.json has to change.`,
		'Undo',
	);
	if (chosen === 'Undo') await undoUseWithGo(state);
}

/** What the Go extension has against this executable, by its own comparison of versions. */
async function objection(path: string): Promise<string | undefined> {
	const go = await findGo();
	if (!go) return undefined;
	const stamp = await run(go, ['version', '-m', path], { timeout: 30_000 }).catch(() => undefined);
	const checks = vscode.workspace.getConfiguration().get<string>('go.toolsManagement.checkForUpdates');
	return warning(judge(stamp?.stdout ?? ''), checks);
}

/** Stop Using with the Go Extension. A debugger that the user has chosen is left alone. */
export async function undoUseWithGo(state: vscode.Memento): Promise<void> {
	const now = tools();
	const known = state.get<Given>(key);
	if (!known || now.dlv !== known.path) {
		const what = now.dlv ? `go.alternateTools.dlv is ${now.dlv}` : 'go.alternateTools.dlv is not set';
		await vscode.window.showInformationMessage(
			`The Go extension could not be set to use clew: ${what}. Nothing was changed.`,
		);
		return;
	}
	if (known.before) now.dlv = known.before;
	else delete now.dlv;
	await set(now);
	await state.update(key, undefined);
	await vscode.window.showInformationMessage(
		known.before ? `The Go extension uses ${known.before} again.` : 'The Go extension uses its own Delve again.',
	);
}
