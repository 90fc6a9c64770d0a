// The stack map's contents: stacks' memory as columns, frames in them to scale,
// and the switches between stacks. Pure: no VS Code, no drawing.

import type { Frame, Segment } from '../protocol';
import { address, slotsOf } from '../rule';

export interface MapSlot {
	kind: 'ra' | 'fp';
	at: bigint;
	/** In pixels from the column's top. */
	y: number;
}

export interface MapFrame {
	frame: Frame;
	/** Inlined functions that lie in it, innermost first. */
	inlined: Frame[];
	low: bigint;
	high: bigint;
	/** In pixels from the column's top. */
	y: number;
	height: number;
	/** It is taller than drawn. */
	cut: boolean;
	slots: MapSlot[];
}

export interface MapColumn {
	kind: string;
	/** Bounds of the whole stack, where they are known. */
	low?: bigint;
	high?: bigint;
	/** Bounds of the drawn memory. */
	usedLow: bigint;
	usedHigh: bigint;
	frames: MapFrame[];
	/** Memory between frames that belongs to none that is known, not drawn to scale. */
	gaps: { y: number; height: number; bytes: bigint }[];
	height: number;
}

/** A step from a frame on one stack to its caller on another. */
export interface MapSwitch {
	from: { column: number; frame: number };
	to: { column: number; frame: number };
}

export interface StackMap {
	columns: MapColumn[];
	switches: MapSwitch[];
}

/** Pixels for a byte. */
export const scale = 1.25;
const leastHeight = 20;
const mostHeight = 180;
const gapHeight = 22;
/** Beyond this a frame reaches to another stack, in bytes. */
const farthest = 1n << 26n;

interface Placed {
	frame: Frame;
	inlined: Frame[];
	sp: bigint;
	cfa: bigint | undefined;
	column: number;
}

/** Lays out frames, innermost first, on the stacks that they lie on. Frames whose SP is unknown have no place. */
export function layOut(frames: Frame[], segments: Segment[]): StackMap {
	const bounds = segments.map((s) => ({ kind: s.kind, low: address(s.low), high: address(s.high) }));
	const columns: { kind: string; low?: bigint; high?: bigint; placed: Placed[] }[] = [];
	const ofSegment = new Map<number, number>();
	const order: Placed[] = [];
	let inlined: Frame[] = [];
	let last: Placed | undefined;
	for (const frame of frames) {
		if (frame.inlined) {
			inlined.push(frame);
			continue;
		}
		const sp = address(frame.sp);
		if (sp === undefined) continue;
		const cfa = address(frame.cfa);
		const segment = bounds.findIndex((b) => b.low !== undefined && b.high !== undefined && sp >= b.low && sp <= b.high);
		let column = segment >= 0 ? ofSegment.get(segment) : undefined;
		if (column === undefined) {
			const b = bounds[segment];
			if (!b && last && sp >= last.sp && sp - last.sp < farthest && columns[last.column]?.low === undefined) {
				column = last.column; // bounds are not known: memory further up is the same stack
			} else {
				column = columns.push({ kind: b?.kind ?? 'stack', low: b?.low, high: b?.high, placed: [] }) - 1;
				if (segment >= 0) ofSegment.set(segment, column);
			}
		}
		last = { frame, inlined, sp, cfa, column };
		inlined = [];
		columns[column]?.placed.push(last);
		order.push(last);
	}

	const place = new Map<Placed, { column: number; frame: number }>();
	const out = columns.map((c, i) => {
		const sorted = [...c.placed].sort((a, b) => (a.sp < b.sp ? -1 : a.sp > b.sp ? 1 : a.frame.index - b.frame.index));
		for (const [n, p] of sorted.entries()) place.set(p, { column: i, frame: n });
		return drawn(c, sorted);
	});
	const switches: MapSwitch[] = [];
	for (let i = 1; i < order.length; i++) {
		const [a, b] = [order[i - 1], order[i]];
		const from = a && place.get(a);
		const to = b && place.get(b);
		if (from && to && from.column !== to.column) switches.push({ from, to });
	}
	return { columns: out, switches };
}

function drawn(c: { kind: string; low?: bigint; high?: bigint }, sorted: Placed[]): MapColumn {
	const column: MapColumn = {
		kind: c.kind,
		low: c.low,
		high: c.high,
		usedLow: sorted[0]?.sp ?? 0n,
		usedHigh: sorted[0]?.sp ?? 0n,
		frames: [],
		gaps: [],
		height: 0,
	};
	let y = 0;
	sorted.forEach((p, i) => {
		const next = sorted[i + 1]?.sp;
		// A frame that is left to another stack has no known end: at most the
		// next frame of this one.
		const own =
			p.cfa !== undefined && p.cfa > p.sp && p.cfa - p.sp < farthest && (c.high === undefined || p.cfa <= c.high);
		let high = own && p.cfa !== undefined ? p.cfa : p.sp + 8n;
		if (next !== undefined && high > next) high = next;
		const bytes = Number(high - p.sp);
		const height = Math.min(Math.max(bytes * scale, leastHeight), mostHeight);
		const frame: MapFrame = {
			frame: p.frame,
			inlined: p.inlined,
			low: p.sp,
			high,
			y,
			height,
			cut: bytes * scale > mostHeight,
			slots: [],
		};
		if (p.cfa !== undefined && own) {
			const slots = slotsOf(p.frame.rule, p.cfa);
			for (const [kind, at] of [
				['ra', slots.returnAddress],
				['fp', slots.framePointer],
			] as const) {
				if (at === undefined || at < p.sp || at >= high) continue;
				// From the frame's end: the words that a rule reads lie there, whatever is cut before.
				const fromEnd = Number(high - at) * Math.max(height / Math.max(bytes, 1), scale);
				frame.slots.push({ kind, at, y: y + Math.max(height - fromEnd, 0) });
			}
		}
		column.frames.push(frame);
		y += height;
		column.usedHigh = high > column.usedHigh ? high : column.usedHigh;
		if (next !== undefined && next > high) {
			const gap = Math.min(Math.max(Number(next - high) * scale, gapHeight), gapHeight * 2);
			column.gaps.push({ y, height: gap, bytes: next - high });
			y += gap;
		}
	});
	column.height = y;
	return column;
}
