// The stack map's panel: one, about the thread that is looked at.

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { messageOf } from '../errors';
import type { Sessions } from '../sessions';
import type { PagedStack, Stacks } from '../stacks';
import { escapeHTML, page, render } from './render';

/** Frames that are drawn at first, and more each time that more are wanted. */
export const mapPage = 100;

export class MapPanel implements vscode.Disposable {
	private panel: vscode.WebviewPanel | undefined;
	private subscriptions: vscode.Disposable[] = [];
	private shown: PagedStack | undefined;
	private count = mapPage;
	private drawing = 0;

	constructor(
		private readonly extension: vscode.Uri,
		private readonly sessions: Sessions,
		private readonly stacks: Stacks,
		private readonly go: (stack: PagedStack, index: number) => Promise<void>,
	) {}

	dispose(): void {
		this.panel?.dispose();
	}

	/** Shows the map. */
	async open(): Promise<void> {
		if (this.panel) {
			this.panel.reveal();
		} else {
			this.panel = vscode.window.createWebviewPanel('clew.map', 'Stack Map', vscode.ViewColumn.Beside, {
				enableScripts: true,
				localResourceRoots: [vscode.Uri.joinPath(this.extension, 'dist')],
			});
			this.subscriptions = [
				this.panel.webview.onDidReceiveMessage((m) => this.hear(m)),
				this.panel.onDidDispose(() => this.closed()),
				this.panel.onDidChangeViewState(() => this.panel?.visible && !this.shown?.current && this.draw()),
				this.sessions.onDidChange(() => this.panel?.visible && this.draw()),
				vscode.debug.onDidChangeActiveStackItem(() => this.follow()),
			];
		}
		await this.draw();
	}

	private closed(): void {
		this.panel = undefined;
		this.shown = undefined;
		for (const s of this.subscriptions) s.dispose();
		this.subscriptions = [];
	}

	private async hear(m: { go?: number; more?: boolean; ready?: boolean }): Promise<void> {
		if (m.go !== undefined && this.shown?.current) await this.go(this.shown, m.go);
		if (m.more) {
			this.count += mapPage;
			await this.draw();
		}
		if (m.ready) this.select();
	}

	private follow(): void {
		if (!this.panel?.visible) return;
		const at = this.sessions.selection();
		if (at && this.shown?.current && this.shown.threadId === at.threadId && this.shown.clew === at.clew) this.select();
		else void this.draw();
	}

	private select(): void {
		const at = this.sessions.selection();
		const index = at?.frameId === undefined ? undefined : at.clew.frameIndex(at.threadId, at.frameId);
		if (index !== undefined) void this.panel?.webview.postMessage({ select: index });
	}

	private async draw(): Promise<void> {
		const drawing = ++this.drawing;
		const at = this.sessions.selection();
		if (!at) {
			this.shown = undefined;
			this.set(
				'<div class="bar"><h1>The program runs, or has ended.</h1><p>The map is drawn when it is stopped.</p></div>',
			);
			return;
		}
		const stack = this.stacks.of(at.clew, at.threadId);
		if (stack !== this.shown) this.count = mapPage;
		let body: string;
		try {
			await stack.ensure(this.count);
			const all = stack.asStack();
			const more = !stack.complete || stack.frames.length > this.count;
			body = render({ ...all, frames: all.frames.slice(0, this.count) }, more);
		} catch (err) {
			body = `<div class="bar"><h1>The stack cannot be shown</h1><p>${escapeHTML(messageOf(err))}</p></div>`;
		}
		if (drawing !== this.drawing || !stack.current) return; // a newer one is on its way
		this.shown = stack;
		this.set(body);
	}

	private set(body: string): void {
		if (!this.panel) return;
		const { webview } = this.panel;
		const script = webview.asWebviewUri(vscode.Uri.joinPath(this.extension, 'dist', 'map.js')).toString();
		webview.html = page(body, script, webview.cspSource, randomBytes(16).toString('hex'));
	}
}
