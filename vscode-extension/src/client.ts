// clew's own requests to a session's server.

import * as vscode from 'vscode';
import { messageOf, UserError } from './errors';
import type { Requests } from './protocol';
import type { ClewSession } from './sessions';
import { allVisible } from './visible';

/** Frames of a stack that are asked for at once. */
export const pageSize = 50;

/** Sends one of clew's own requests; texts in the answer can be shown. What fails is an error in words for the user. */
export async function request<C extends keyof Requests>(
	clew: ClewSession,
	command: C,
	args: Requests[C]['arguments'],
): Promise<Requests[C]['answer']> {
	let answer: Requests[C]['answer'] | undefined;
	try {
		answer = await clew.session.customRequest(command, args);
	} catch (err) {
		// Requests that wait when their session ends are cancelled, by VS Code or by the server, and not by the user.
		throw clew.ended ? sessionEnded() : explain(command, messageOf(err));
	}
	if (answer === undefined || answer === null) throw new UserError(`The debugger's answer to ${command} is empty.`);
	return allVisible(answer);
}

function sessionEnded(): Error {
	return new UserError('The debug session ended before the answer came. Start it again.');
}

/** Turns a refusal into an error with a remedy for the user. */
export function explain(command: string, message: string): Error {
	if (/^cancell?ed\b/i.test(message)) return new vscode.CancellationError();
	if (/unsupported command|unknown command|not.*supported|unrecognized/i.test(message)) {
		return new UserError(`This clew is too old for ${command}. Install a newer one.`, [
			{ title: 'Install or Update', run: () => vscode.commands.executeCommand('clew.install') },
			{ title: 'Choose Executable...', run: () => vscode.commands.executeCommand('clew.locate') },
		]);
	}
	if (/is running|while running|debuggee is running/i.test(message)) {
		return new UserError('The program is running: pause it to look at its stacks.', [
			{ title: 'Pause', run: () => vscode.commands.executeCommand('workbench.action.debug.pause') },
		]);
	}
	if (
		/no debugger available|session (has )?(ended|terminated)|connection.*(closed|end)|ECONNRESET|EPIPE|adapter.*(exit|terminated)/i.test(
			message,
		)
	) {
		return sessionEnded();
	}
	return new UserError(message);
}
