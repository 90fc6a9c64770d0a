// Wires the extension together. Nothing here asks for anything: that happens when
// a session, a view or a command needs it.

import { join } from 'node:path';
import * as vscode from 'vscode';
import { Binary } from './binary';
import { copyAll, copyFrame, copyStack, exportAll, exportStack, reportWrongStack } from './commands/export';
import { focusFrame } from './commands/focus';
import { undoUseWithGo, useWithGo } from './commands/goExtension';
import { Documents, reunwind, showRule } from './commands/unwinding';
import { AdapterFactory } from './debug/adapter';
import { whyNotBuilt } from './debug/build';
import { ConfigurationProvider, DynamicConfigurations } from './debug/configuration';
import { pickProcess } from './debug/processes';
import { Servers } from './debug/server';
import { BacktraceEditor, openFile } from './decode';
import { messageOf, showError, UserError } from './errors';
import { Log } from './log';
import { MapPanel } from './map/panel';
import { Sessions } from './sessions';
import { type PagedStack, Stacks } from './stacks';
import { ImagesView } from './views/imagesView';
import { StackView } from './views/stackView';

/** What else an extension may ask for: how long activation took, in milliseconds. */
export interface Api {
	activation: number;
}

export function activate(context: vscode.ExtensionContext): Api {
	const started = performance.now();
	const log = new Log();
	const binary = new Binary(log, join(context.extensionUri.fsPath, 'bin'));
	const servers = new Servers(log);
	const sessions = new Sessions();
	const stacks = new Stacks();
	const documents = new Documents();
	const adapters = new AdapterFactory(binary, servers);
	const stackView = new StackView(sessions, stacks);
	const imagesView = new ImagesView(sessions);
	const go = async (stack: PagedStack, index: number) => void (await focusFrame(stack, index));
	const map = new MapPanel(context.extensionUri, sessions, stacks, go);

	const commands: Record<string, (...args: unknown[]) => unknown> = {
		'clew.focusFrame': (...args) => {
			const node = args[0] as { stack: PagedStack; index: number } | undefined;
			return node && focusFrame(node.stack, node.index);
		},
		'clew.showMap': () => map.open(),
		'clew.showPlace': (...args) => {
			const of = args[0] as { variable?: { name?: string } } | undefined;
			return of?.variable?.name ? map.show(of.variable.name) : map.open();
		},
		'clew.refresh': () => imagesView.refresh(),
		'clew.showMore': () => stackView.showMore(),
		'clew.showOwn': () => stackView.showOwn(),
		'clew.exportStack': (...args) => exportStack(sessions, args),
		'clew.exportAll': (...args) => exportAll(sessions, args),
		'clew.copyStack': (...args) => copyStack(sessions, args),
		'clew.copyFrame': (...args) => copyFrame(sessions, stacks, args),
		'clew.copyAll': (...args) => copyAll(sessions, args),
		'clew.openFile': (...args) => openFile(binary, documents, args),
		'clew.showRule': (...args) => showRule(sessions, stacks, documents, args),
		'clew.reunwind': (...args) => reunwind(sessions, stackView, args),
		'clew.reportWrongStack': (...args) => reportWrongStack(sessions, args),
		'clew.useWithGo': () => useWithGo(binary, context.globalState),
		'clew.undoUseWithGo': () => undoUseWithGo(context.globalState),
		'clew.install': () => binary.install(),
		'clew.locate': () => binary.locate(),
		'clew.showLog': () => log.show(),
	};
	for (const [id, what] of Object.entries(commands)) {
		context.subscriptions.push(
			vscode.commands.registerCommand(id, async (...args: unknown[]) => {
				try {
					return await what(...args);
				} catch (err) {
					log.line(`${id}: ${messageOf(err)}`);
					void showError(err);
				}
			}),
		);
	}

	const setContext = () => {
		const active = sessions.active();
		void vscode.commands.executeCommand('setContext', 'clew.active', active !== undefined);
		void vscode.commands.executeCommand('setContext', 'clew.stopped', active?.stopped === true);
	};
	const dynamic = vscode.DebugConfigurationProviderTriggerKind.Dynamic;
	context.subscriptions.push(
		log,
		servers,
		sessions,
		adapters,
		stackView,
		imagesView,
		map,
		vscode.commands.registerCommand('clew.pickProcess', pickProcess),
		vscode.debug.registerDebugAdapterTrackerFactory('*', sessions),
		vscode.debug.registerDebugAdapterDescriptorFactory('clew', adapters),
		vscode.debug.registerDebugConfigurationProvider('clew', new ConfigurationProvider(binary)),
		vscode.debug.registerDebugConfigurationProvider('clew', new DynamicConfigurations(), dynamic),
		vscode.workspace.registerTextDocumentContentProvider(Documents.scheme, documents),
		vscode.workspace.onDidCloseTextDocument((d) => documents.closed(d)),
		vscode.window.registerCustomEditorProvider('clew.backtrace', new BacktraceEditor(binary)),
		vscode.debug.onDidTerminateDebugSession((s) => {
			sessions.remove(s);
			adapters.ended(s);
		}),
		sessions.onDidChange(setContext),
		sessions.onDidFailLaunch(({ output }) => explainFailedBuild(log, output)),
		vscode.debug.onDidChangeActiveDebugSession(setContext),
	);
	return { activation: performance.now() - started };
}

/** Says that a build failed, why, and what mends it: neither VS Code nor Delve shows more than the debug console. */
function explainFailedBuild(log: Log, output: string): void {
	const why = whyNotBuilt(output);
	if (!why) return;
	log.text(output); // the debug console may show another session's
	void showError(new UserError(why, [{ title: 'Show Output', run: () => log.show() }]));
}
