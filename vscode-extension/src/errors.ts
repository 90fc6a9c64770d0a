// Errors that say what to do, and how they are shown.

import * as vscode from 'vscode';
import { messageText } from './visible';

/** Something that mends an error: a button in its message. */
export interface Action {
	title: string;
	run: () => unknown;
}

/** An error in words for the user, with what mends it. */
export class UserError extends Error {
	constructor(
		message: string,
		readonly actions: Action[] = [],
	) {
		super(message);
		this.name = 'UserError';
	}
}

export const showLogAction: Action = {
	title: 'Show Log',
	run: () => vscode.commands.executeCommand('clew.showLog'),
};

/** The text of anything that was thrown, without "Error: ". */
export function messageOf(err: unknown): string {
	return err instanceof Error ? err.message : String(err);
}

/** Shows an error as one message with its actions, and carries out the one that is chosen. */
export async function showError(err: unknown, what?: string): Promise<void> {
	if (err instanceof vscode.CancellationError) return;
	const actions = err instanceof UserError ? err.actions : [];
	const text = what ? `${what}: ${messageOf(err)}` : messageOf(err);
	const chosen = await vscode.window.showErrorMessage(messageText(text), ...actions.map((a) => a.title));
	await actions.find((a) => a.title === chosen)?.run();
}
