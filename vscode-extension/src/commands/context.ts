// The subject of a command: the row that it was called on, else the selection.

import { UserError } from '../errors';
import type { Selection, Sessions } from '../sessions';
import type { PagedStack, Stacks } from '../stacks';

/** What the Stack view passes to a command. */
interface FrameNode {
	kind: 'frame';
	stack: PagedStack;
	index: number;
}

function isFrameNode(a: unknown): a is FrameNode {
	return typeof a === 'object' && a !== null && 'kind' in a && a.kind === 'frame' && 'stack' in a;
}

/** What the call stack's menus pass besides a path: {sessionId, threadId, frameId}. */
interface CallStackContext {
	sessionId: string;
	threadId?: string | number;
	frameId?: string;
}

/** VS Code's ID of a thread is "thread:SESSION:N". */
function threadIn(id: string | number | undefined): number | undefined {
	if (typeof id === 'number') return id;
	const n = Number(id?.split(':')[2]);
	return Number.isInteger(n) ? n : undefined;
}

/** VS Code's ID of a frame is "stackframe:thread:SESSION:N:ROW:NAME", the rows counted from 0, labels too. */
function rowIn(id: string | undefined): number | undefined {
	const found = /^stackframe:thread:[^:]*:\d+:(\d+):/.exec(id ?? '');
	return found ? Number(found[1]) : undefined;
}

const noFrame = 'This row is not a frame of the current stop. Choose a frame.';
const running = 'The program is running: pause it to look at its stacks.';

/** The thread, and perhaps the frame, that a command's arguments are about. */
export function selectionOf(sessions: Sessions, args: unknown[]): Selection {
	for (const a of args) {
		if (isFrameNode(a)) return { clew: a.stack.clew, threadId: a.stack.threadId };
		if (typeof a === 'object' && a !== null && 'sessionId' in a) {
			const context = a as CallStackContext;
			const clew = sessions.byId(context.sessionId);
			// Never another session's stack than that of the row.
			if (!clew) throw new UserError('This session is not debugged with clew.');
			if (!clew.stopped) throw new UserError(running);
			const selected = sessions.selection();
			const own = selected?.clew === clew ? selected.threadId : undefined;
			const threadId = threadIn(context.threadId) ?? own ?? clew.stoppedThread;
			if (threadId === undefined) break;
			if (context.frameId === undefined) return { clew, threadId };
			const row = rowIn(context.frameId);
			const frameId = row === undefined ? undefined : clew.rowAt(threadId, row)?.frameId;
			if (frameId === undefined) throw new UserError(noFrame);
			return { clew, threadId, frameId };
		}
	}
	const active = sessions.selection();
	if (active) return active;
	if (sessions.active()) throw new UserError(running);
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
	const index = at.frameId === undefined ? 0 : at.clew.frameIndex(at.threadId, at.frameId);
	if (index === undefined) throw new UserError(noFrame); // not the innermost in its stead
	await stack.ensure(index + 1);
	if (index >= stack.frames.length) throw new UserError('The stack has no such frame.');
	return { stack, index };
}
