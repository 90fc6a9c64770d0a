// Unwind rules as equations ("cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"), as far as the
// stack map needs them: which words of the stack the rule reads.

export interface Slots {
	/** Where the return address lies. */
	returnAddress?: bigint;
	/** Where the caller's frame pointer lies. */
	framePointer?: bigint;
}

const cell = /^\[cfa(?:([+-])(\d+|0x[0-9a-f]+))?\]$/;

/** The slots that a rule reads, given the frame's CFA. */
export function slotsOf(rule: string | undefined, cfa: bigint): Slots {
	const out: Slots = {};
	for (const equation of (rule ?? '').split(';')) {
		const eq = equation.indexOf('=');
		if (eq < 0) continue;
		const name = equation.slice(0, eq).trim();
		const found = cell.exec(equation.slice(eq + 1).trim());
		if (!found) continue;
		const by = BigInt(found[2] ?? 0);
		const at = found[1] === '-' ? cfa - by : cfa + by;
		if (name === 'ra') out.returnAddress = at;
		if (name === 'fp') out.framePointer = at;
	}
	return out;
}

/** Reads "0x...". Undefined for anything else. */
export function address(s: string | undefined): bigint | undefined {
	return s !== undefined && /^0x[0-9a-f]{1,16}$/.test(s) ? BigInt(s) : undefined;
}

/** Writes "0x...". */
export function hex(a: bigint): string {
	return `0x${a.toString(16)}`;
}
