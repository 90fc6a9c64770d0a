// What the memory of a frame holds, in the order of its addresses. Pure: no VS Code, no drawing.

import type { Place, Places } from '../protocol';
import { address, hex } from '../rule';

/** A part of a frame's memory, or a register. */
export interface PlaceRow {
	kind: Place['kind'] | 'unknown' | 'register';
	/** A name, or what is known of memory without one. */
	what: string;
	/** An address, or a register and what it rests on. */
	where: string;
	value: string;
	/** Of memory within the frame: parts of its height, from its low end. */
	from?: number;
	to?: number;
}

/** Rows are no more than these: a frame can hold thousands of variables. */
export const mostRows = 200;

const words: Record<string, string> = { argument: 'argument', local: '', saved: 'saved' };

function typedValue(place: Place): string {
	return place.type ? `${place.type} = ${place.value ?? ''}` : (place.value ?? '');
}

/** Lists what lies in a frame from low to high, what lies between, and then registers. */
export function placeRows(low: bigint, high: bigint, answer: Places): PlaceRow[] {
	const bytes = Number(high - low);
	const within: { at: bigint; end: bigint; place: Place }[] = [];
	const rest: PlaceRow[] = [];
	for (const place of answer.places) {
		const { name } = place;
		const value = typedValue(place);
		const at = address(place.address);
		if (at === undefined) {
			const where = `${place.register ?? '?'}${place.restsOn ? `, ${place.restsOn}` : ''}`;
			rest.push({ kind: 'register', what: name, where, value });
		} else if (at >= low && at < high) {
			within.push({ at, end: at + BigInt(place.size), place });
		} else {
			rest.push({ kind: place.kind, what: name, where: `${hex(at)}, not in this frame`, value });
		}
	}
	within.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : Number(b.end - a.end)));
	const rows: PlaceRow[] = [];
	let end = low;
	const gap = (to: bigint) => {
		if (to <= end) return;
		const n = Number(to - end);
		rows.push({
			kind: 'unknown',
			what: `${n} B`,
			where: hex(end),
			value: 'padding, or what the compiler keeps there',
			from: Number(end - low) / bytes,
			to: Number(to - low) / bytes,
		});
	};
	for (const { at, end: stop, place } of within) {
		gap(at);
		const word = words[place.kind] ?? '';
		rows.push({
			kind: place.kind,
			what: `${word}${word ? ' ' : ''}${place.name}`,
			where: `${hex(at)}, ${place.size} B`,
			value: typedValue(place),
			from: Number(at - low) / bytes,
			to: Math.min(Number(stop - low) / bytes, 1),
		});
		if (stop > end) end = stop < high ? stop : high;
	}
	if (within.length > 0) gap(high);
	const all = [...rows, ...rest];
	if (answer.lack) all.push({ kind: 'unknown', what: 'variables', where: '', value: answer.lack });
	if (all.length <= mostRows) return all;
	const left = all.length - mostRows;
	return [...all.slice(0, mostRows), { kind: 'unknown', what: `${left} more`, where: '', value: '' }];
}
