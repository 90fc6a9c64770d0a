import { expect, test } from 'vitest';
import { mostRows, placeRows } from '../../src/map/places';
import type { Place } from '../../src/protocol';

const local = (name: string, at: string, size: number): Place => ({
	name,
	kind: 'local',
	type: 'int',
	value: '3',
	address: at,
	size,
});

test('what lies in a frame is listed from low to high, with what is between', () => {
	const rows = placeRows(0x1000n, 0x1020n, {
		places: [
			{ name: 'rip', kind: 'saved', address: '0x1018', size: 8 },
			local('count', '0x100c', 4),
			{
				name: 'n',
				kind: 'argument',
				type: 'long',
				value: '7',
				register: 'rbx',
				restsOn: 'saved at 0x900, frame 1',
				size: 8,
			},
			local('far', '0x5000', 4),
		],
	});
	expect(rows.map((r) => [r.kind, r.what, r.where])).toEqual([
		['unknown', '12 B', '0x1000'],
		['local', 'count', '0x100c, 4 B'],
		['unknown', '8 B', '0x1010'],
		['saved', 'saved rip', '0x1018, 8 B'],
		['register', 'n', 'rbx, saved at 0x900, frame 1'],
		['local', 'far', '0x5000, not in this frame'],
	]);
	expect(rows[1]).toMatchObject({ value: 'int = 3', from: 12 / 32, to: 16 / 32 });
	// All of the frame's memory is there, once.
	const parts = rows.filter((r) => r.from !== undefined);
	for (const [i, r] of parts.entries()) expect(r.from).toBe(i === 0 ? 0 : parts[i - 1]?.to);
	expect(parts.at(-1)?.to).toBe(1);
});

test('variables that share memory, reach out of the frame, or are too many, are bounded', () => {
	const shared = placeRows(0n, 16n, { places: [local('a', '0x0', 8), local('b', '0x4', 400)] });
	expect(shared.map((r) => r.to)).toEqual([0.5, 1]);
	const many = Array.from({ length: 5000 }, (_, i) => local(`v${i}`, `0x${i.toString(16)}`, 1));
	expect(placeRows(0n, 5000n, { places: many })).toHaveLength(mostRows + 1);
	expect(placeRows(0n, 16n, { places: [], lack: 'there is no DWARF for its code' }).at(-1)?.value).toContain(
		'no DWARF',
	);
});
