import { expect, test } from 'vitest';
import { address, slotsOf } from '../../src/rule';
import { endOf, equations, frameLine, frameName, frameReport, shortFunction } from '../../src/text';
import { percent } from '../../src/views/imagesView';
import { stack } from './world';

test('functions lose the folders of their package, and nothing else', () => {
	expect(shortFunction('example.com/shop/bar.refill')).toBe('bar.refill');
	expect(shortFunction('main.f[go.shape.struct { a/b.C }]')).toBe('main.f[go.shape.struct { a/b.C }]');
	expect(shortFunction('num::operator/(num const&)')).toBe('num::operator/(num const&)');
	expect(shortFunction('ns/operator/=')).toBe('ns/operator/=');
});

test('a frame without a name is called by image and offset, never ???', () => {
	const [, native] = stack.frames;
	if (!native) throw new Error('no frame');
	expect(frameName(native)).toBe('libfroth.so+0x1f70');
	expect(frameName({ ...native, image: undefined })).toBe('0x4bef70');
	expect(frameLine(native)).toBe('#1 0x4bef70 libfroth.so+0x1f70 at /lib/libfroth.so (fpwalk, frame-pointer)');
});

test('a report says the rule that found the frame, its own, and what was not believed', () => {
	const [inner, native] = stack.frames;
	if (!native) throw new Error('no frame');
	const report = frameReport(native, inner);
	expect(report).toContain('found by frame pointers, checked against the code');
	expect(report).toMatch(/Rule by which its caller was found:\n {2}cfa=rbp\+16\n {2}ra=\[cfa-8\]/);
	expect(report).toMatch(/found from frame 0 \(stop_here\) by:\n {2}cfa=rsp\+8/);
	expect(report).toContain('dwarfcfi (cfa 0x7ffb0000): SP is below the callee');
});

test('end and truncation differ', () => {
	expect(endOf(stack)).toBe('truncated: no strategy knows the caller');
	expect(endOf({ frames: [], stop: 'end', reason: 'runtime.goexit' })).toBe('end: runtime.goexit');
});

test('rules are read as equations', () => {
	expect(equations("sp'=g.stack.hi-[sp+0]; cfa=rbp+16; ra=[cfa-8]; ")).toEqual([
		"sp'=g.stack.hi-[sp+0]",
		'cfa=rbp+16',
		'ra=[cfa-8]',
	]);
	expect(slotsOf('cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]', 0x100n)).toEqual({ returnAddress: 0xf8n, framePointer: 0xf0n });
	expect(slotsOf('cfa=sp+0; ra=[cfa]; fp=unchanged', 0x100n)).toEqual({ returnAddress: 0x100n });
	expect(slotsOf('ra=x30; fp=[sp+8]', 0x100n)).toEqual({});
	expect(slotsOf(undefined, 1n)).toEqual({});
});

test('addresses have one form', () => {
	expect(address('0xffffffffffffffff')).toBe(0xffffffffffffffffn);
	for (const bad of [undefined, '', '12', '0x', '0xG', '0x10000000000000000']) expect(address(bad)).toBeUndefined();
});

test('a share is neither rounded up to all nor down to nothing', () => {
	expect([0, 0.0001, 0.5, 0.9999, 1].map(percent)).toEqual(['0 %', '< 0.1 %', '50 %', '99.9 %', '100 %']);
});
