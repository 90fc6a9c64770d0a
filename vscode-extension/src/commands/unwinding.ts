// Commands about how frames are found: the rule of one, and other strategies.

import * as vscode from 'vscode';
import { request } from '../client';
import { UserError } from '../errors';
import type { Sessions } from '../sessions';
import type { Stacks } from '../stacks';
import { frameName, frameReport } from '../text';
import { otherStack, type StackView } from '../views/stackView';
import { choice } from '../visible';
import { frameOf, selectionOf } from './context';

/** Texts that are shown as read-only documents. */
export class Documents implements vscode.TextDocumentContentProvider {
	static readonly scheme = 'clew';
	private readonly texts = new Map<string, string>();
	private readonly changed = new vscode.EventEmitter<vscode.Uri>();
	readonly onDidChange = this.changed.event;

	provideTextDocumentContent(uri: vscode.Uri): string {
		return this.texts.get(uri.path) ?? 'This is no longer known: ask again at the next stop.\n';
	}

	/** Shows a text under a name. */
	async show(name: string, text: string): Promise<void> {
		const uri = vscode.Uri.from({ scheme: Documents.scheme, path: `/${name.replaceAll('/', '_')}` });
		this.texts.set(uri.path, text);
		this.changed.fire(uri);
		await vscode.window.showTextDocument(uri, { preview: true, preserveFocus: false });
	}

	/** Drops documents that are no longer shown. */
	closed(document: vscode.TextDocument): void {
		if (document.uri.scheme === Documents.scheme) this.texts.delete(document.uri.path);
	}
}

/** Show Unwind Rule. */
export async function showRule(
	sessions: Sessions,
	stacks: Stacks,
	documents: Documents,
	args: unknown[],
): Promise<void> {
	const { stack, index } = await frameOf(sessions, stacks, args);
	const frame = stack.frames[index];
	if (!frame) throw new UserError('The stack has no such frame.');
	// The frame that it was found from: inlined ones have no rule of their own.
	const callee = stack.frames.slice(0, index).findLast((f) => !f.inlined);
	await documents.show(`frame ${frame.index} ${frameName(frame)}.txt`, frameReport(frame, callee));
}

/** Re-unwind With. */
export async function reunwind(sessions: Sessions, view: StackView, args: unknown[]): Promise<void> {
	const at = selectionOf(sessions, args);
	const { plugins } = await request(at.clew, 'clew/plugins', {});
	const items = plugins.map((p) => ({
		label: choice(p.name),
		description: choice(p.lastError ?? (p.builtin ? `rank ${p.rank}` : `rank ${p.rank}, ${p.path}`)),
		name: p.name,
		picked: false,
	}));
	const chosen = await vscode.window.showQuickPick(items, {
		title: 'Re-unwind With...',
		placeHolder: "Strategies that may be used, ranked as ever; Go's own tables always are",
		canPickMany: true,
	});
	if (!chosen || chosen.length === 0) return;
	await view.showOther(
		otherStack(
			at.clew,
			at.threadId,
			chosen.map((c) => c.name),
		),
	);
	await vscode.commands.executeCommand('clew.stack.focus');
}
