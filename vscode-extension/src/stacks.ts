// Stacks as they are asked for: in pages, and never twice at one stop.

import { pageSize, request } from './client';
import type { Frame, Segment, Stack } from './protocol';
import type { ClewSession } from './sessions';

/** The part of a thread's stack that was asked for so far. */
export class PagedStack {
	readonly frames: Frame[] = [];
	/** All frames are there; only then stop and reason mean something. */
	complete = false;
	stop: Stack['stop'] = 'truncated';
	reason: string | undefined;
	notes: string[] = [];
	segments: Segment[] = [];
	goroutine: number | undefined;
	thread: number | undefined;
	private busy: Promise<void> = Promise.resolve();

	constructor(
		readonly clew: ClewSession,
		readonly threadId: number,
		readonly epoch: number,
		/** Other strategies than the session's; undefined for the session's. */
		readonly strategies?: string[],
	) {}

	/** Whether it is still of this stop. */
	get current(): boolean {
		return this.clew.epoch === this.epoch && this.clew.stopped;
	}

	/** Sees that there are that many frames, or all. */
	ensure(count: number): Promise<void> {
		const next = this.busy.catch(() => undefined).then(() => this.fetch(count));
		this.busy = next;
		return next;
	}

	private async fetch(count: number): Promise<void> {
		while (!this.complete && this.frames.length < count) {
			const page = { threadId: this.threadId, startFrame: this.frames.length, levels: pageSize };
			const answer = this.strategies
				? await request(this.clew, 'clew/reunwind', { ...page, strategies: this.strategies })
				: await request(this.clew, 'clew/stack', page);
			this.frames.push(...answer.frames);
			this.complete = answer.frames.length < pageSize;
			this.stop = answer.stop;
			this.reason = answer.reason;
			this.notes = answer.notes ?? [];
			if (answer.segments) this.segments = answer.segments;
			this.goroutine = answer.goroutine;
			this.thread = answer.thread;
		}
	}

	/** In the form of the protocol. */
	asStack(): Stack {
		const { thread, goroutine, frames, stop, reason, notes, segments } = this;
		return { thread, goroutine, frames, stop, reason, notes, segments };
	}
}

/** The stacks of this stop that were looked at. */
export class Stacks {
	private readonly kept = new Map<string, PagedStack>();

	of(clew: ClewSession, threadId: number): PagedStack {
		const key = `${clew.session.id} ${threadId}`;
		const kept = this.kept.get(key);
		if (kept?.current) return kept;
		for (const [k, s] of this.kept) if (!s.current) this.kept.delete(k);
		const made = new PagedStack(clew, threadId, clew.epoch);
		this.kept.set(key, made);
		return made;
	}
}
