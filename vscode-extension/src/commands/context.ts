// What a command is about: the row that it was called on, else what is selected.

import { UserError } from '../errors';
import type { ClewSession, Selection, Sessions } from '../sessions';
import type { PagedStack, Stacks } from '../stacks';

/** What the Stack view gives a command. */
interface FrameNode {
	kind: 'frame';
	stack: PagedStack;
	index: number;
}

function isFrameNode(a: unknown): a is FrameNode {
	return typeof a === 'object' && a !== null && 'kind' in a && a.kind === 'frame' && 'stack' in a;
}

/** What the call stack's menus give besides a path: {sessionId, threadId, frameId}. */
interface CallStackContext {
	sessionId: string;
	threadId?: string | number;
	frameId?: string;
}

/** VS Code's ID of a thread is "thread:SESSION:N", of a frame "frame:SESSION:THREAD:N:...". */
function numberIn(id: string | number | undefined, part: number): number | undefined {
	if (typeof id === 'number') return id;
	const n = Number(id?.split(':')[part]);
	return Number.isInteger(n) ? n : undefined;
}

/** The thread, and perhaps the frame, that a command's arguments are about. */
export function selectionOf(sessions: Sessions, args: unknown[]): Selection {
	for (const a of args) {
		if (isFrameNode(a)) return { clew: a.stack.clew, threadId: a.stack.threadId };
		if (typeof a === 'object' && a !== null && 'sessionId' in a) {
			const context = a as CallStackContext;
			const clew = sessions.byId(context.sessionId);
			const selected = sessions.selection();
			if (!clew) continue;
			if (!clew.stopped) break;
			const threadId = numberIn(context.threadId, 2) ?? selected?.threadId ?? clew.stoppedThread;
			if (threadId !== undefined) return { clew, threadId, frameId: numberIn(context.frameId, 3) };
		}
	}
	const active = sessions.selection();
	if (active) return active;
	if (sessions.active()) throw new UserError('The program is running: pause it to look at its stacks.');
	throw new UserError('No program is debugged with clew now. Start a session first.');
}

/** A frame that a command's arguments are about, else the selected one, else the innermost. */
export async function frameOf(
	sessions: Sessions,
	stacks: Stacks,
	args: unknown[],
): Promise<{ stack: PagedStack; index: number }> {
	const node = args.find(isFrameNode);
	if (node) return node;
	const at = selectionOf(sessions, args);
	const stack = stacks.of(at.clew, at.threadId);
	const index = (at.frameId === undefined ? undefined : indexOf(at.clew, at.threadId, at.frameId)) ?? 0;
	await stack.ensure(index + 1);
	if (index >= stack.frames.length) throw new UserError('The stack has no such frame.');
	return { stack, index };
}

function indexOf(clew: ClewSession, threadId: number, frameId: number): number | undefined {
	return clew.frameIndex(threadId, frameId);
}
