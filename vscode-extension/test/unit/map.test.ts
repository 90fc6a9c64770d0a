import { expect, test } from 'vitest';
import { layOut } from '../../src/map/model';
import { page, render, size } from '../../src/map/render';
import { deep, stack } from './world';

test('frames lie on their stacks, and a switch leads from one to the other', () => {
	const map = layOut(stack.frames, stack.segments ?? []);
	expect(map.columns.map((c) => [c.kind, c.frames.map((f) => f.frame.index)])).toEqual([
		['g0', [0, 1, 2]],
		['goroutine', [4]],
	]);
	expect(map.switches).toEqual([{ from: { column: 0, frame: 2 }, to: { column: 1, frame: 0 } }]);
	expect(map.columns[1]?.frames[0]?.inlined.map((f) => f.index)).toEqual([3]);
	// Selecting the inlined function marks the frame that holds it.
	expect(render(stack, false)).toContain('data-first="3" data-index="4"');
});

test('frames are to scale, meet without overlap, and hold their slots', () => {
	const [g0] = layOut(stack.frames, stack.segments ?? []).columns;
	if (!g0) throw new Error('no column');
	let end = 0;
	for (const f of g0.frames) {
		expect(f.y).toBeGreaterThanOrEqual(end);
		end = f.y + f.height;
	}
	const [, walked] = g0.frames;
	expect(walked?.low).toBe(0x7ffc0010n);
	expect(walked?.high).toBe(0x7ffc0040n);
	expect(walked?.slots.map((s) => [s.kind, s.at])).toEqual([
		['ra', 0x7ffc0038n],
		['fp', 0x7ffc0030n],
	]);
	for (const f of g0.frames)
		for (const s of f.slots) {
			expect(s.y).toBeGreaterThanOrEqual(f.y);
			expect(s.y).toBeLessThan(f.y + f.height);
		}
	// It is left to another stack: its CFA is there, and says nothing of its size here.
	expect(g0.frames[2]?.slots).toEqual([]);
	expect(g0.frames[2]?.high).toBe(0x7ffc0048n);
});

test('a stack that was left and come back to has a gap between', () => {
	const back = {
		...stack.frames[4],
		index: 5,
		sp: '0x7ffc0200',
		cfa: '0x7ffc0240',
		inlined: false,
	} as (typeof stack.frames)[0];
	const map = layOut([...stack.frames, back], stack.segments ?? []);
	expect(map.columns).toHaveLength(2);
	expect(map.columns[0]?.gaps.map((g) => g.bytes)).toEqual([0x7ffc0200n - 0x7ffc0048n]);
	expect(map.switches).toHaveLength(2);
});

test('without bounds, stacks are told apart by their addresses', () => {
	const map = layOut(stack.frames, []);
	expect(map.columns).toHaveLength(2);
	expect(map.columns[0]?.low).toBeUndefined();
});

test('a huge frame is cut, and says so', () => {
	const [f] = deep(1);
	if (!f) throw new Error('no frame');
	const [c] = layOut([{ ...f, cfa: '0x7f100000' }], []).columns;
	expect(c?.frames[0]?.cut).toBe(true);
	expect(c?.height).toBeLessThan(1000);
});

test('the page speaks for itself and escapes what programs are called', () => {
	const html = render(
		{
			...stack,
			frames: stack.frames.map((f) => (f.index === 0 ? { ...f, function: '<img src=x onerror=alert(1)>' } : f)),
		},
		false,
	);
	expect(html).not.toContain('<img');
	expect(html).toContain('aria-label="Frame 1: libfroth.so+0x1f70.');
	expect(html).toContain('truncated: no strategy knows the caller');
	expect(html.match(/tabindex="0"/g)).toHaveLength(1);
	expect(html).not.toContain('id="more"');
	expect(render(stack, true)).toContain('id="more"');
	expect(size(20_000n)).toBe('20 KiB');
});

test('a map of many frames is drawn once each, in the order of their addresses', () => {
	const [c] = layOut(deep(2_000), []).columns;
	expect(c?.frames).toHaveLength(2_000);
	expect(c?.frames.every((f, i) => f.frame.index === i)).toBe(true);
	expect(c?.gaps).toEqual([]);
});

test('the selected frame is marked in high contrast too, where boxes have no background', () => {
	const rules = page('', '', '', '').split('\n');
	for (const theme of ['vscode-high-contrast', 'vscode-high-contrast-light']) {
		const ofTheme = rules.filter((r) => r.includes(`body.${theme} .frame`));
		expect(ofTheme.some((r) => r.includes('background: transparent'))).toBe(true);
		expect(ofTheme.find((r) => r.includes(`body.${theme} .frame.selected`))).toContain('box-shadow: inset');
	}
});
