// The Stack view: the frames of the selected thread, each with its evidence. It
// requests what it shows, and nothing while it is hidden.

import * as vscode from 'vscode';
import { pageSize } from '../client';
import { messageOf, showError } from '../errors';
import type { Frame, Rejected, Trust } from '../protocol';
import type { ClewSession, Sessions } from '../sessions';
import { PagedStack, type Stacks } from '../stacks';
import {
	endOf,
	equations,
	fileLine,
	frameName,
	framePlace,
	kindMeaning,
	refusal,
	ruleLink,
	strategyText,
	trustMeaning,
} from '../text';
import { visible } from '../visible';

export type Node =
	| { kind: 'frame'; stack: PagedStack; index: number }
	| { kind: 'text'; label: string; description?: string; tooltip?: string; icon?: string; command?: vscode.Command }
	| { kind: 'rejected'; all: Rejected[] }
	| { kind: 'more'; stack: PagedStack };

/** The icon of each level of trust: told by shape as well as by colour. */
export const trustIcons: Record<Trust, [icon: string, color: string]> = {
	context: ['circle-filled', 'debugIcon.breakpointCurrentStackframeForeground'],
	cfi: ['pass-filled', 'testing.iconPassed'],
	'frame-pointer': ['link', 'charts.blue'],
	scan: ['warning', 'list.warningForeground'],
};

export class StackView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
	private readonly changed = new vscode.EventEmitter<Node | undefined>();
	readonly onDidChangeTreeData = this.changed.event;
	private readonly view: vscode.TreeView<Node>;
	private readonly subscriptions: vscode.Disposable[];
	private shown: PagedStack | undefined;
	private count = pageSize;
	private nodes = new Map<number, Node & { kind: 'frame' }>();
	private other: PagedStack | undefined;

	constructor(
		private readonly sessions: Sessions,
		private readonly stacks: Stacks,
	) {
		this.view = vscode.window.createTreeView<Node>('clew.stack', { treeDataProvider: this });
		this.subscriptions = [
			this.view,
			this.changed,
			sessions.onDidChange(() => this.refresh()),
			vscode.debug.onDidChangeActiveStackItem(() => this.follow()),
			vscode.debug.onDidChangeActiveDebugSession(() => this.refresh()),
			this.view.onDidChangeVisibility((e) => e.visible && this.follow()),
		];
	}

	dispose(): void {
		for (const s of this.subscriptions) s.dispose();
	}

	/** Shows what other strategies make of a stack, until the next stop. */
	async showOther(stack: PagedStack): Promise<void> {
		await stack.ensure(pageSize);
		this.other = stack;
		this.refresh();
	}

	/** Shows the session's own stack again. */
	showOwn(): void {
		this.other = undefined;
		this.refresh();
	}

	showMore(): void {
		this.count += pageSize;
		this.changed.fire(undefined);
	}

	refresh(): void {
		this.shown = undefined;
		this.count = pageSize;
		this.changed.fire(undefined);
	}

	/** Shows another thread when one is selected, and the selected frame. */
	private follow(): void {
		const at = this.sessions.selection();
		if (!at || !this.shown?.current || this.shown.threadId !== at.threadId || this.shown.clew !== at.clew) {
			this.refresh();
			return;
		}
		if (!this.view.visible || at.frameId === undefined || this.other) return;
		const index = at.clew.frameIndex(at.threadId, at.frameId);
		const node = index === undefined ? undefined : this.nodes.get(index);
		if (node) this.view.reveal(node, { select: true, focus: false }).then(undefined, () => undefined); // it may be gone
	}

	/** The subject of the view now. */
	private target(): PagedStack | undefined {
		const at = this.sessions.selection();
		if (!at) return undefined;
		if (this.other?.current && this.other.clew === at.clew && this.other.threadId === at.threadId) return this.other;
		this.other = undefined;
		return this.stacks.of(at.clew, at.threadId);
	}

	getParent(): undefined {
		return undefined; // only frames are revealed
	}

	async getChildren(node?: Node): Promise<Node[]> {
		if (node?.kind === 'frame') return details(node.stack, node.index);
		if (node?.kind === 'rejected') return node.all.map(rejectedNode);
		if (node) return [];
		const stack = this.target();
		if (!stack) return [];
		try {
			await stack.ensure(this.count);
		} catch (err) {
			if (stack.current && !(err instanceof vscode.CancellationError)) {
				return [{ kind: 'text', label: messageOf(err), icon: 'error' }];
			}
			return [];
		}
		this.shown = stack;
		this.nodes = new Map();
		const out: Node[] = [];
		if (stack === this.other) {
			out.push({
				kind: 'text',
				label: visible(`Unwound with ${stack.strategies?.join(', ')}`),
				description: 'select for the usual stack',
				icon: 'discard',
				command: { command: 'clew.showOwn', title: 'Show the Usual Stack' },
			});
		}
		for (let i = 0; i < Math.min(this.count, stack.frames.length); i++) {
			const change = segmentChange(stack, i);
			if (change) out.push({ kind: 'text', label: change, icon: 'arrow-swap' });
			const frame = { kind: 'frame' as const, stack, index: i };
			this.nodes.set(i, frame);
			out.push(frame);
		}
		if (!stack.complete || stack.frames.length > this.count) out.push({ kind: 'more', stack });
		else {
			out.push({ kind: 'text', label: endOf(stack.asStack()), icon: stack.stop === 'end' ? 'check' : 'warning' });
			for (const note of stack.notes) out.push({ kind: 'text', label: note, icon: 'info' });
		}
		setTimeout(() => this.follow(), 0);
		return out;
	}

	getTreeItem(node: Node): vscode.TreeItem {
		switch (node.kind) {
			case 'frame':
				return frameItem(node.stack, node.index);
			case 'rejected': {
				const item = new vscode.TreeItem(
					node.all.length === 1 ? '1 candidate not believed' : `${node.all.length} candidates not believed`,
					vscode.TreeItemCollapsibleState.Collapsed,
				);
				item.iconPath = new vscode.ThemeIcon('circle-slash');
				return item;
			}
			case 'more': {
				const item = new vscode.TreeItem('Show more frames');
				item.iconPath = new vscode.ThemeIcon('ellipsis');
				item.command = { command: 'clew.showMore', title: 'Show More Frames' };
				return item;
			}
			case 'text': {
				const item = new vscode.TreeItem(node.label);
				item.description = node.description;
				item.tooltip = node.tooltip ?? node.label;
				if (node.icon) item.iconPath = new vscode.ThemeIcon(node.icon);
				item.command = node.command;
				return item;
			}
		}
	}
}

function segmentOf(stack: PagedStack, index: number): number {
	const sp = stack.frames[index]?.sp;
	if (sp === undefined) return -1;
	const at = BigInt(sp);
	return stack.segments.findIndex((s) => at >= BigInt(s.low) && at <= BigInt(s.high));
}

export const segmentNames: Record<string, string> = {
	goroutine: "goroutine's stack",
	g0: 'system stack (g0)',
	signal: "signal handler's stack",
	thread: "thread's stack",
};

/** The row that says that another stack begins at this frame. */
export function segmentChange(stack: PagedStack, index: number): string | undefined {
	const at = segmentOf(stack, index);
	if (index === 0 || at < 0 || at === segmentOf(stack, index - 1)) return undefined;
	const kind = stack.segments[at]?.kind ?? '';
	return `on the ${segmentNames[kind] ?? kind}`;
}

function frameItem(stack: PagedStack, index: number): vscode.TreeItem {
	const f = stack.frames[index] as Frame;
	const item = new vscode.TreeItem(
		`${f.index}  ${frameName(f)}${f.inlined ? ' [inlined]' : ''}`,
		vscode.TreeItemCollapsibleState.Collapsed,
	);
	item.id = `${stack.clew.session.id} ${stack.epoch} ${stack.threadId} ${stack.strategies?.join() ?? ''} ${index}`;
	item.description = [`${f.strategy}, ${f.trust}`, framePlace(f)].filter(Boolean).join('  ·  ');
	const [icon, color] = trustIcons[f.trust] ?? ['question', 'foreground'];
	item.iconPath = new vscode.ThemeIcon(icon, new vscode.ThemeColor(color));
	item.contextValue = 'frame';
	item.tooltip = tooltip(f);
	item.accessibilityInformation = {
		label: `Frame ${f.index}, ${frameName(f)}, ${trustMeaning[f.trust]}, by ${f.strategy}`,
	};
	item.command = { command: 'clew.focusFrame', title: 'Go to Frame', arguments: [{ kind: 'frame', stack, index }] };
	return item;
}

function tooltip(f: Frame): vscode.MarkdownString {
	const md = new vscode.MarkdownString();
	md.appendText(`${f.function ?? frameName(f)}\n`);
	md.appendText(`\nTrust: ${trustMeaning[f.trust] ?? f.trust}\n`);
	md.appendText(`\nFound by ${strategyText(f.strategy)}\n`);
	if (f.rule) md.appendCodeblock(equations(f.rule).join('\n'), 'text');
	if (f.file) md.appendText(`\n${fileLine(f)}`);
	return md;
}

function details(stack: PagedStack, index: number): Node[] {
	const f = stack.frames[index] as Frame;
	const out: Node[] = [];
	const say = (label: string, description: string | undefined, icon?: string) => {
		if (description) out.push({ kind: 'text', label, description, tooltip: `${label}: ${description}`, icon });
	};
	say('trust', `${f.trust}: ${trustMeaning[f.trust] ?? ''}`, 'shield');
	say('strategy', strategyText(f.strategy));
	for (const e of equations(f.rule ?? '')) {
		const eq = e.indexOf('=');
		say(eq < 0 ? e : e.slice(0, eq), eq < 0 ? '' : `= ${e.slice(eq + 1)}`, 'symbol-operator');
	}
	say('CFA', f.cfa);
	say('pc', `${f.pc} (${kindMeaning[f.kind]})`);
	say('sp', f.sp);
	say('fp', f.fp);
	say('image', f.image ? `${f.image}${f.offset ? ` + ${f.offset}` : ''}` : undefined);
	say('where', fileLine(f));
	if (f.rejected?.length) out.push({ kind: 'rejected', all: f.rejected });
	for (const note of f.notes ?? []) out.push({ kind: 'text', label: note, icon: 'info' });
	return out;
}

function rejectedNode(r: Rejected): Node {
	const at = [r.pc && `pc ${r.pc}`, r.cfa && `cfa ${r.cfa}`].filter(Boolean).join(', ');
	const link = ruleLink(r);
	return {
		kind: 'text',
		label: r.strategy,
		description: `${refusal(r)}${at ? ` (${at})` : ''}`,
		icon: 'circle-slash',
		tooltip: link && `Click to read ${r.rule?.split(',')[0]}`,
		command: link ? { command: 'vscode.open', title: 'Read the Rule', arguments: [vscode.Uri.parse(link)] } : undefined,
	};
}

/** Makes a stack of other strategies. */
export function otherStack(clew: ClewSession, threadId: number, strategies: string[]): PagedStack {
	return new PagedStack(clew, threadId, clew.epoch, strategies);
}

/** Shows an error of a view's command. */
export function guarded<A extends unknown[]>(what: (...args: A) => unknown): (...args: A) => Promise<void> {
	return async (...args) => {
		try {
			await what(...args);
		} catch (err) {
			await showError(err);
		}
	};
}
