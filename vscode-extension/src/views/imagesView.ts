// The Images view: the executables and libraries of the program, and which unwind
// information they have.

import * as vscode from 'vscode';
import { request } from '../client';
import { messageOf } from '../errors';
import type { Covered, Image } from '../protocol';
import type { Sessions } from '../sessions';
import { baseName } from '../text';

type Node = { image: Image } | { text: string; description?: string; icon?: string };

/** A share of code in per cent, never rounded up to all of it nor down to nothing. */
export function percent(share: number): string {
	if (share <= 0) return '0 %';
	if (share >= 1) return '100 %';
	const p = share * 100;
	if (p < 0.1) return '< 0.1 %';
	return `${Math.min(Math.floor(p * 10) / 10, 99.9)} %`;
}

/** A strategy's report on an image, in words. */
export function coveredText(c: Covered): string {
	const parts = [c.anywhere ? 'may know any code' : `covers ${percent(c.share)} of the code`];
	if (c.sections?.length) parts.push(c.sections.join(' '));
	if (c.frames > 0) parts.push(c.frames === 1 ? '1 frame' : `${c.frames} frames`);
	if (c.problem) parts.push(c.problem);
	return parts.join('  ·  ');
}

export class ImagesView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
	private readonly changed = new vscode.EventEmitter<Node | undefined>();
	readonly onDidChangeTreeData = this.changed.event;
	private readonly subscriptions: vscode.Disposable[];

	constructor(private readonly sessions: Sessions) {
		const view = vscode.window.createTreeView<Node>('clew.images', { treeDataProvider: this });
		this.subscriptions = [view, this.changed, sessions.onDidChange(() => this.refresh())];
	}

	dispose(): void {
		for (const s of this.subscriptions) s.dispose();
	}

	refresh(): void {
		this.changed.fire(undefined);
	}

	async getChildren(node?: Node): Promise<Node[]> {
		if (node) return 'image' in node ? imageDetails(node.image) : [];
		const clew = this.sessions.active();
		if (!clew?.stopped) return [];
		const epoch = clew.epoch;
		try {
			return (await request(clew, 'clew/images', {})).images.map((image) => ({ image }));
		} catch (err) {
			if (clew.epoch !== epoch || err instanceof vscode.CancellationError) return [];
			return [{ text: messageOf(err), icon: 'error' }];
		}
	}

	getTreeItem(node: Node): vscode.TreeItem {
		if (!('image' in node)) {
			const item = new vscode.TreeItem(node.text);
			item.description = node.description;
			item.tooltip = node.description ? `${node.text}: ${node.description}` : node.text;
			if (node.icon) item.iconPath = new vscode.ThemeIcon(node.icon);
			return item;
		}
		const { image } = node;
		const item = new vscode.TreeItem(baseName(image.path) || image.base, vscode.TreeItemCollapsibleState.Collapsed);
		const best = image.unwind
			.filter((c) => c.coveredBytes > 0)
			.map((c) => `${c.strategy} ${percent(c.share)}`)
			.join(', ');
		item.description = best || 'no unwind information';
		item.tooltip = `${image.path}\n${image.base} - ${image.end}`;
		const problem = image.notes?.length || image.unwind.some((c) => c.problem);
		item.iconPath = new vscode.ThemeIcon(problem ? 'warning' : 'file-binary');
		return item;
	}
}

function imageDetails(image: Image): Node[] {
	const out: Node[] = [{ text: 'path', description: image.path || 'not known' }];
	if (image.buildID) out.push({ text: 'build ID', description: image.buildID });
	out.push({ text: 'range', description: `${image.base} - ${image.end}` });
	for (const c of image.unwind)
		out.push({ text: c.strategy, description: coveredText(c), icon: c.problem ? 'warning' : 'table' });
	for (const note of image.notes ?? []) out.push({ text: note, icon: 'warning' });
	return out;
}
