// The clew executable: found, checked, installed on request.

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import * as vscode from 'vscode';
import { messageOf, showLogAction, UserError } from './errors';
import type { Log } from './log';
import { type RunResult, run } from './run';

const module = 'github.com/clewdbg/clew/cmd/clew';
const exe = process.platform === 'win32' ? 'clew.exe' : 'clew';

/** Whether a file can be executed. */
export async function isExecutable(path: string): Promise<boolean> {
	try {
		await access(path, constants.X_OK);
		return (await stat(path)).isFile();
	} catch {
		return false;
	}
}

/** The first of the folders' files of that name that can be executed. */
export async function findIn(folders: string[], name: string): Promise<string | undefined> {
	for (const folder of folders) {
		if (folder === '') continue;
		const path = join(folder, name);
		if (await isExecutable(path)) return path;
	}
	return undefined;
}

/** PATH's folders. */
export function pathFolders(env: NodeJS.ProcessEnv = process.env): string[] {
	return (env.PATH ?? '').split(delimiter);
}

/** Where `go install` puts executables. */
export function goBins(env: NodeJS.ProcessEnv = process.env): string[] {
	if (env.GOBIN) return [env.GOBIN];
	const paths = env.GOPATH ? env.GOPATH.split(delimiter) : [join(homedir(), 'go')];
	return paths.map((p) => join(p, 'bin'));
}

/** Where this go puts executables: what `go env -w` has set counts too. */
async function installFolders(go: string): Promise<string[]> {
	const { code, stdout } = await run(go, ['env', 'GOBIN', 'GOPATH'], { timeout: 30_000 });
	const [bin, path] = stdout.split(/\r?\n/);
	if (code !== 0 || (!bin && !path)) return goBins();
	return bin ? [bin] : [join((path ?? '').split(delimiter)[0] ?? '', 'bin')];
}

/** The go command, where there is one: in PATH, or where its installer puts it. */
export function findGo(usual = ['/usr/local/go/bin']): Promise<string | undefined> {
	const name = process.platform === 'win32' ? 'go.exe' : 'go';
	const root = process.env.GOROOT ? [join(process.env.GOROOT, 'bin')] : [];
	return findIn([...pathFolders(), ...root, ...usual], name);
}

/** The environment for clew: Go is in its PATH where it was found elsewhere, as editors have not always the shell's PATH. */
export async function environment(): Promise<NodeJS.ProcessEnv> {
	const go = await findGo();
	if (!go || pathFolders().includes(dirname(go))) return process.env;
	return { ...process.env, PATH: [process.env.PATH, dirname(go)].filter(Boolean).join(delimiter) };
}

/** The version in the answer to `clew version --json`. */
export function versionOf(text: string): string | undefined {
	try {
		const { version, delve } = JSON.parse(text) as { version?: unknown; delve?: unknown };
		return typeof version === 'string' && typeof delve === 'string' ? version : undefined;
	} catch {
		return undefined;
	}
}

/** The clew executable. */
export class Binary {
	/** Executables that were found to be good, by path, with their time of change. */
	private readonly checked = new Map<string, number>();

	/** bundled: the folder in the extension where a release for one platform has clew. */
	constructor(
		private readonly log: Log,
		private readonly bundled?: string,
	) {}

	private actions() {
		return [
			{ title: 'Install', run: () => vscode.commands.executeCommand('clew.install') },
			{ title: 'Choose Executable...', run: () => vscode.commands.executeCommand('clew.locate') },
		];
	}

	/** The executable's path, checked. */
	async path(): Promise<string> {
		const path = await this.find();
		await this.check(path);
		return path;
	}

	/** Searches: setting, PATH, where `go install` puts it, the extension itself. */
	async find(): Promise<string> {
		const setting = vscode.workspace.getConfiguration('clew').get<string>('path', '').trim();
		if (setting !== '') {
			const path = setting.startsWith('~/') ? join(homedir(), setting.slice(2)) : setting;
			if (!isAbsolute(path)) {
				const found = await findIn(pathFolders(), path);
				if (found) return found;
				throw new UserError(
					`The setting clew.path is "${setting}", which is not an absolute path and not in PATH.`,
					this.actions(),
				);
			}
			if (!(await isExecutable(path))) {
				throw new UserError(
					`The setting clew.path names ${path}, which is not there or cannot be executed.`,
					this.actions(),
				);
			}
			return path;
		}
		const found = await findIn([...pathFolders(), ...goBins(), this.bundled ?? ''], exe);
		if (!found)
			throw new UserError('The clew debugger is not installed (not in PATH, $GOBIN or $GOPATH/bin).', this.actions());
		return found;
	}

	/** Whether it is clew at all, and new enough: asked of each executable once. */
	private async check(path: string): Promise<void> {
		const changed = (await stat(path)).mtimeMs;
		if (this.checked.get(path) === changed) return;
		let answer: RunResult;
		try {
			answer = await run(path, ['version', '--json'], { timeout: 30_000 });
		} catch (err) {
			throw new UserError(`${path} cannot be run: ${messageOf(err)}.`, this.actions());
		}
		const version = versionOf(answer.stdout);
		if (answer.code !== 0 || !version) {
			// Delve has the command, and no such flag.
			const old = answer.stderr.includes('unknown flag');
			throw new UserError(
				old
					? `${path} is Delve without clew, or a clew too old for this extension.`
					: `${path} is not the clew debugger.`,
				this.actions(),
			);
		}
		this.checked.set(path, changed);
		this.log.line(`clew: ${path}, ${version}`);
	}

	/** Installs the newest clew by `go install`, with progress; returns its path. */
	async install(): Promise<string> {
		const go = await findGo();
		if (!go) {
			throw new UserError(
				'Go is not installed (no `go` in PATH): it is needed to install clew and to build programs.',
				[
					{
						title: 'How to Install Go',
						run: () => vscode.env.openExternal(vscode.Uri.parse('https://go.dev/doc/install')),
					},
				],
			);
		}
		const path = await vscode.window.withProgress(
			{ location: vscode.ProgressLocation.Notification, title: 'Installing clew', cancellable: true },
			async (progress, token) => {
				progress.report({ message: `go install ${module}@latest` });
				this.log.line(`${go} install ${module}@latest`);
				const result = await run(go, ['install', `${module}@latest`], { token, hear: (text) => this.log.text(text) });
				if (result.code !== 0) {
					const last = result.stderr.trim().split('\n').at(-1) ?? '';
					throw new UserError(`clew could not be installed: ${last}`, [showLogAction]);
				}
				const folders = await installFolders(go);
				const path = await findIn(folders, exe);
				if (!path) throw new UserError(`clew was installed, but is not in ${folders.join(' or ')}.`, [showLogAction]);
				return path;
			},
		);
		await this.check(path);
		// Another one goes before it, or it lies where it is not searched.
		const named = (await this.find().catch(() => undefined)) !== path;
		if (named) await this.remember(path);
		await vscode.window.showInformationMessage(
			`clew is installed: ${path}.${named ? ' The setting clew.path names it now.' : ''}`,
		);
		return path;
	}

	private async remember(path: string): Promise<void> {
		await vscode.workspace.getConfiguration('clew').update('path', path, vscode.ConfigurationTarget.Global);
	}

	/** Has the user choose the executable, and keeps it in the settings. */
	async locate(): Promise<string | undefined> {
		const chosen = await vscode.window.showOpenDialog({ title: 'The clew executable', canSelectMany: false });
		const path = chosen?.[0]?.fsPath;
		if (!path) return undefined;
		await this.check(path);
		await this.remember(path);
		return path;
	}
}
