// Completes launch configurations, and offers some where there are none.

import { stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import * as vscode from 'vscode';
import { type Binary, findGo } from '../binary';
import { messageOf, showError, UserError } from '../errors';
import { readEnvFiles } from './envFile';
import { processNamed } from './processes';

/** Modes that build, and need Go. */
const builds = new Set(['debug', 'test']);

/** Splits a command line into words: quotes and backslashes as in a shell. */
export function words(text: string): string[] {
	const out: string[] = [];
	for (const m of text.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g)) {
		out.push(
			m[0].replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g, (_, d?: string, s?: string, c?: string) =>
				d !== undefined ? d.replace(/\\(["\\$`])/g, '$1') : (s ?? c ?? ''),
			),
		);
	}
	return out;
}

/** The settings that clew uses where the configuration leaves something out. */
export function fromSettings(config: vscode.DebugConfiguration): void {
	const settings = vscode.workspace.getConfiguration('clew');
	const own = { ...config.clew };
	const strategies = settings.get<string[]>('strategies', []);
	const plugins = settings.get<object[]>('plugins', []);
	if (own.strategies === undefined && strategies.length > 0) own.strategies = strategies;
	if (own.plugins === undefined && plugins.length > 0) own.plugins = plugins;
	const names = settings.get<string>('names', 'short');
	if (names !== 'short') own.names ??= names;
	own.annotate ??= settings.get<string>('annotate', 'labels');
	config.clew = own;
}

export class ConfigurationProvider implements vscode.DebugConfigurationProvider {
	constructor(private readonly binary: Binary) {}

	/** Fills in missing fields; variables are not substituted yet. */
	resolveDebugConfiguration(
		folder: vscode.WorkspaceFolder | undefined,
		config: vscode.DebugConfiguration,
	): vscode.ProviderResult<vscode.DebugConfiguration> {
		const file = vscode.window.activeTextEditor?.document.uri;
		if (!config.type && !config.request && !config.name) {
			Object.assign(config, { type: 'clew', request: 'launch', mode: 'auto', name: 'Debug with clew' });
			config.program = file?.scheme === 'file' ? dirname(file.fsPath) : folder ? folder.uri.fsPath : undefined;
		}
		if (config.request === 'attach') {
			config.mode ??= config.port !== undefined ? 'remote' : 'local';
			if (config.mode === 'local' && config.processId === undefined && config.waitFor === undefined) {
				config.processId = '${command:pickProcess}';
			}
		} else {
			config.request ??= 'launch';
			config.mode ??= 'auto';
			config.program ??= config.mode === 'replay' ? undefined : '${fileDirname}';
			if (config.mode === 'auto') config.mode = file?.fsPath.endsWith('_test.go') ? 'test' : 'debug';
		}
		fromSettings(config);
		return config;
	}

	/** Checks and completes, variables substituted; undefined ends the launch, after a message. */
	async resolveDebugConfigurationWithSubstitutedVariables(
		folder: vscode.WorkspaceFolder | undefined,
		config: vscode.DebugConfiguration,
	): Promise<vscode.DebugConfiguration | undefined> {
		try {
			const done = await complete(folder, config);
			// Here, and not where it is started: what ends a launch here shows one message, with what mends it.
			if (done.port === undefined && done.debugServer === undefined) await this.binary.path();
			return done;
		} catch (err) {
			await showError(err);
			return undefined;
		}
	}
}

async function complete(
	folder: vscode.WorkspaceFolder | undefined,
	config: vscode.DebugConfiguration,
): Promise<vscode.DebugConfiguration> {
	const openLaunch = {
		title: 'Open launch.json',
		run: () => vscode.commands.executeCommand('workbench.action.debug.configure'),
	};
	const absolute = (path: string) => (isAbsolute(path) || !folder ? path : join(folder.uri.fsPath, path));
	if (typeof config.args === 'string') config.args = words(config.args);
	if (config.envFile !== undefined) {
		const files: string[] = [config.envFile].flat();
		try {
			config.env = { ...(await readEnvFiles(files.map(absolute))), ...config.env };
		} catch (err) {
			throw new UserError(`The file of envFile cannot be read: ${messageOf(err)}`, [openLaunch]);
		}
		delete config.envFile;
	}
	if (config.request === 'attach') {
		if (config.mode === 'remote') {
			if (config.port === undefined && config.debugServer === undefined) {
				throw new UserError('To attach to a remote server, the configuration needs its "port".', [openLaunch]);
			}
			return config;
		}
		if (typeof config.processId === 'string' && config.processId !== '') {
			config.processId = /^\d+$/.test(config.processId)
				? Number(config.processId)
				: await processNamed(config.processId);
		}
		return config;
	}
	if (config.console === 'integratedTerminal') config.outputMode ??= 'local';
	config.outputMode ??= 'remote'; // the program's output goes through the protocol
	if (!builds.has(config.mode)) config.rebuild ??= false; // a restart would try to build without sources
	if (config.port !== undefined || config.debugServer !== undefined) return config; // paths are the server's
	if (config.mode === 'core' && !config.coreFilePath) {
		throw new UserError('To look at a core file, the configuration needs its "coreFilePath".', [openLaunch]);
	}
	for (const key of ['program', 'coreFilePath'] as const) {
		if (!config[key]) continue;
		config[key] = absolute(config[key]);
		const there = await stat(config[key]).catch(() => undefined);
		if (!there)
			throw new UserError(`The configuration's "${key}" is ${config[key]}, which is not there.`, [openLaunch]);
		if (key === 'program' && config.mode !== 'replay') {
			config.dlvCwd ??= there.isDirectory() ? config.program : dirname(config.program);
			if (!builds.has(config.mode) && there.isDirectory()) {
				throw new UserError(
					`The configuration's "program" is the folder ${config.program}; mode "${config.mode}" needs an executable.`,
					[openLaunch],
				);
			}
		}
	}
	if (config.dlvCwd) config.dlvCwd = absolute(config.dlvCwd);
	if (builds.has(config.mode)) {
		if (!config.program)
			throw new UserError('Open a Go file or a folder first: there is nothing to debug.', [openLaunch]);
		if (!(await findGo())) {
			throw new UserError('Go is not installed (no `go` in PATH), so the program cannot be built.', [
				{
					title: 'How to Install Go',
					run: () => vscode.env.openExternal(vscode.Uri.parse('https://go.dev/doc/install')),
				},
				openLaunch,
			]);
		}
	}
	return config;
}

/** Configurations that are offered where launch.json has none. */
export class DynamicConfigurations implements vscode.DebugConfigurationProvider {
	provideDebugConfigurations(): vscode.DebugConfiguration[] {
		const base = { type: 'clew', request: 'launch' };
		return [
			{ ...base, name: 'clew: Debug Package', mode: 'debug', program: '${fileDirname}' },
			{ ...base, name: 'clew: Debug Tests of Package', mode: 'test', program: '${fileDirname}' },
			{
				type: 'clew',
				request: 'attach',
				name: 'clew: Attach to Process',
				mode: 'local',
				processId: '${command:pickProcess}',
			},
			{
				type: 'clew',
				request: 'attach',
				name: 'clew: Connect to Server',
				mode: 'remote',
				host: '127.0.0.1',
				port: 2345,
			},
		];
	}
}
