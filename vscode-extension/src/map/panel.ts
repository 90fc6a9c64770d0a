// The stack map's panel: one, about the thread that is looked at.

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { request } from '../client';
import { messageOf } from '../errors';
import type { Sessions } from '../sessions';
import type { PagedStack, Stacks } from '../stacks';
import { layOut } from './model';
import { placeRows } from './places';
import { escapeHTML, page, render } from './render';

/** Frames that are drawn at first, and more each time that more are wanted. */
export const mapPage = 100;

export class MapPanel implements vscode.Disposable {
	private panel: vscode.WebviewPanel | undefined;
	private subscriptions: vscode.Disposable[] = [];
	private shown: PagedStack | undefined;
	private count = mapPage;
	private drawing = 0;
	private chosen: string | undefined;

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
		if (index === undefined) return;
		void this.panel?.webview.postMessage({ select: index });
		void this.fill(index);
	}

	/** Shows what the memory of a frame holds. */
	private async fill(index: number): Promise<void> {
		const at = this.sessions.selection();
		const stack = this.shown;
		if (at?.frameId === undefined || !stack) return;
		const frame = layOut(stack.frames, stack.asStack().segments ?? [])
			.columns.flatMap((c) => c.frames)
			.find((f) => f.frame.index === index || f.inlined.some((i) => i.index === index));
		if (!frame) return;
		try {
			const rows = placeRows(frame.low, frame.high, await request(at.clew, 'clew/places', { frameId: at.frameId }));
			if (stack.current)
				void this.panel?.webview.postMessage({ places: rows, of: frame.frame.index, chosen: this.chosen });
		} catch {
			// An older server has no such request, and a stop may be over: the map is as it was.
		}
	}

	/** Shows where a variable of the chosen frame lies. */
	async show(name: string): Promise<void> {
		this.chosen = name;
		await this.open();
		this.select();
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
