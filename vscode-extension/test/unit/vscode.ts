// A stand-in for VS Code's API: as much of it as the extension uses, with what a
// test wants to see kept in `seen`.

type Listener<T> = (e: T) => unknown;

export class Disposable {
	constructor(readonly dispose: () => void = () => undefined) {}
}

export class EventEmitter<T> {
	private listeners = new Set<Listener<T>>();
	event = (l: Listener<T>) => {
		this.listeners.add(l);
		return new Disposable(() => void this.listeners.delete(l));
	};
	fire(e?: T) {
		for (const l of [...this.listeners]) l(e as T);
	}
	dispose() {
		this.listeners.clear();
	}
}

export class CancellationError extends Error {}
export class ThemeIcon {
	constructor(
		readonly id: string,
		readonly color?: unknown,
	) {}
}
export class ThemeColor {
	constructor(readonly id: string) {}
}
export class TreeItem {
	[key: string]: unknown;
	constructor(
		readonly label: string,
		readonly collapsibleState = 0,
	) {}
}
export class MarkdownString {
	value = '';
	appendText(s: string) {
		this.value += s;
		return this;
	}
	appendCodeblock(s: string) {
		this.value += `\`\`\`\n${s}\n\`\`\``;
		return this;
	}
}
export class Range {
	constructor(
		readonly startLine: number,
		readonly startCharacter: number,
		readonly endLine: number,
		readonly endCharacter: number,
	) {}
}
export class RelativePattern {
	constructor(
		readonly base: unknown,
		readonly pattern: string,
	) {}
}
export class DebugAdapterServer {
	constructor(
		readonly port: number,
		readonly host?: string,
	) {}
}
export class DebugAdapterNamedPipeServer {
	constructor(readonly path: string) {}
}
export class Uri {
	private constructor(
		readonly scheme: string,
		readonly path: string,
	) {}
	static file = (path: string) => new Uri('file', path);
	static parse = (s: string) => new Uri(s.split(':')[0] ?? '', s.slice(s.indexOf(':') + 1));
	static from = (p: { scheme: string; path: string }) => new Uri(p.scheme, p.path);
	static joinPath = (u: Uri, ...parts: string[]) => new Uri(u.scheme, [u.path, ...parts].join('/'));
	get fsPath() {
		return this.path;
	}
	toString() {
		return `${this.scheme}://${this.path}`;
	}
}

export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 };
export const ViewColumn = { Beside: -2 };
export const ProgressLocation = { Notification: 15 };
export const ConfigurationTarget = { Global: 1, Workspace: 2 };
export const DebugConfigurationProviderTriggerKind = { Initial: 1, Dynamic: 2 };

/** State that a test sets and checks. */
export const seen = {
	errors: [] as string[],
	infos: [] as string[],
	/** Which button of a message is pressed, by its title. */
	press: undefined as string | undefined,
	clipboard: '',
	commands: [] as [string, ...unknown[]][],
	contexts: {} as Record<string, unknown>,
	settings: {} as Record<string, unknown>,
	/** Those of the workspace, which go before. */
	workspaceSettings: {} as Record<string, unknown>,
	updates: [] as [string, unknown][],
	saveTo: undefined as Uri | undefined,
	/** The proposal of a dialog. */
	proposed: undefined as Uri | undefined,
	picks: [] as { label: string }[][],
	/** The choice of a list. */
	pick: undefined as ((items: { label: string }[]) => unknown) | undefined,
	log: '',
	shown: [] as { uri: Uri; options?: unknown }[],
	extensions: new Set<string>(),
	/** The action of a command of VS Code. */
	builtin: {} as Record<string, () => void>,
	treeViews: {} as Record<string, { visible: boolean; revealed: unknown[]; treeDataProvider: unknown }>,
};

const fresh = structuredClone({ ...seen, pick: undefined, extensions: undefined, builtin: undefined });

/** Makes everything as it was at first. */
export function reset() {
	Object.assign(seen, structuredClone(fresh), { pick: undefined, extensions: new Set(), builtin: {} });
	registered.clear();
	debug.activeStackItem = undefined;
	debug.activeDebugSession = undefined;
}

const registered = new Map<string, (...args: unknown[]) => unknown>();
const none = () => new Disposable();

export const commands = {
	registerCommand(id: string, f: (...args: unknown[]) => unknown) {
		registered.set(id, f);
		return new Disposable(() => void registered.delete(id));
	},
	async executeCommand(id: string, ...args: unknown[]) {
		seen.commands.push([id, ...args]);
		if (id === 'setContext') seen.contexts[String(args[0])] = args[1];
		seen.builtin[id]?.();
		return registered.get(id)?.(...args);
	},
};

async function message(rest: unknown[]) {
	const buttons = rest.filter((r) => typeof r === 'string');
	return buttons.find((b) => b === seen.press);
}

export const window = {
	activeTextEditor: undefined as { document: { uri: Uri } } | undefined,
	createOutputChannel: () => ({
		appendLine(s: string) {
			seen.log += `${s}\n`;
		},
		append(s: string) {
			seen.log += s;
		},
		show: () => undefined,
		dispose: () => undefined,
	}),
	showErrorMessage(text: string, ...rest: unknown[]) {
		seen.errors.push(text);
		return message(rest);
	},
	showInformationMessage(text: string, ...rest: unknown[]) {
		seen.infos.push(text);
		return message(rest);
	},
	showWarningMessage(text: string, ...rest: unknown[]) {
		seen.infos.push(text);
		return message(rest);
	},
	setStatusBarMessage: none,
	async showQuickPick(items: { label: string }[] | Promise<{ label: string }[]>) {
		const all = await items;
		seen.picks.push(all);
		return seen.pick?.(all);
	},
	showSaveDialog: async (options?: { defaultUri?: Uri }) => {
		seen.proposed = options?.defaultUri;
		return seen.saveTo;
	},
	showOpenDialog: async () => seen.saveTo && [seen.saveTo],
	showTextDocument: async (uri: Uri, options?: unknown) => void seen.shown.push({ uri, options }),
	createTreeView(id: string, options: { treeDataProvider: unknown }) {
		const view = { visible: true, revealed: [] as unknown[], treeDataProvider: options.treeDataProvider };
		seen.treeViews[id] = view;
		return {
			get visible() {
				return view.visible;
			},
			onDidChangeVisibility: new EventEmitter<{ visible: boolean }>().event,
			reveal: async (node: unknown) => void view.revealed.push(node),
			dispose: () => undefined,
		};
	},
	createWebviewPanel: () => {
		throw new Error('no webviews here');
	},
	createTerminal: () => {
		throw new Error('no terminals here');
	},
	registerCustomEditorProvider: none,
	withProgress: (_: unknown, f: (p: unknown, t: unknown) => unknown) =>
		f({ report: () => undefined }, { onCancellationRequested: none }),
};

export const workspace = {
	workspaceFolders: undefined as { uri: Uri }[] | undefined,
	getConfiguration(section = '') {
		const key = (name: string) => (section ? `${section}.${name}` : name);
		return {
			get: (name: string, or: unknown) => seen.workspaceSettings[key(name)] ?? seen.settings[key(name)] ?? or,
			inspect: (name: string) => ({ globalValue: seen.settings[key(name)] }),
			async update(name: string, value: unknown) {
				seen.updates.push([key(name), value]);
				seen.settings[key(name)] = value;
			},
		};
	},
	registerTextDocumentContentProvider: none,
	onDidCloseTextDocument: none,
	createFileSystemWatcher: () => ({ onDidChange: none, dispose: () => undefined }),
};

const stackItem = new EventEmitter<unknown>();
const debugSession = new EventEmitter<unknown>();

export const debug = {
	activeStackItem: undefined as unknown,
	activeDebugSession: undefined as unknown,
	onDidChangeActiveStackItem: stackItem.event,
	onDidChangeActiveDebugSession: debugSession.event,
	onDidTerminateDebugSession: none,
	registerDebugAdapterTrackerFactory: none,
	registerDebugAdapterDescriptorFactory: none,
	registerDebugConfigurationProvider: none,
};

/** Selects something in the call stack. */
export function select(item: unknown) {
	debug.activeStackItem = item;
	stackItem.fire(item);
}

export const env = {
	clipboard: {
		async writeText(s: string) {
			seen.clipboard = s;
		},
	},
	openExternal: async (u: Uri) => void seen.commands.push(['openExternal', u.toString()]),
};

export const extensions = {
	getExtension: (id: string) => (seen.extensions.has(id) ? { id } : undefined),
};
