import { beforeEach, expect, test } from 'vitest';
import { focusFrame } from '../../src/commands/focus';
import { Stacks } from '../../src/stacks';
import { ImagesView } from '../../src/views/imagesView';
import { type Node, otherStack, StackView } from '../../src/views/stackView';
import { reset, seen, select } from './vscode';
import { deep, stack, stopped } from './world';

beforeEach(reset);

type Item = { label: string; description?: string; iconPath?: { id: string } };
const items = (view: { getTreeItem(n: never): unknown }, nodes: unknown[]) =>
	nodes.map((n) => view.getTreeItem(n as never) as Item);

test('the Stack view shows frames with their evidence, and where stacks change', async () => {
	const { sessions } = stopped();
	const view = new StackView(sessions, new Stacks());
	const nodes = await view.getChildren();
	expect(items(view, nodes).map((i) => i.label)).toEqual([
		'0  stop_here',
		'1  libfroth.so+0x1f70',
		'2  runtime.asmcgocall',
		"on the goroutine's stack",
		'3  bar.refill [inlined]',
		'4  runtime.cgocall',
		'truncated: no strategy knows the caller',
	]);
	const [, native] = nodes;
	const details = items(view, await view.getChildren(native));
	expect(details).toContainEqual(expect.objectContaining({ label: 'cfa', description: '= rbp+16' }));
	expect(details).toContainEqual(expect.objectContaining({ label: '1 candidate not believed' }));
	const rejected = (await view.getChildren(native)).find((n) => n.kind === 'rejected') as Node;
	expect(items(view, await view.getChildren(rejected))).toContainEqual(
		expect.objectContaining({
			label: 'dwarfcfi',
			description: 'SP is below the callee (order, R3, R10) (cfa 0x7ffb0000)',
			command: expect.objectContaining({ command: 'vscode.open' }),
		}),
	);
});

test('10,000 frames: nothing is asked that is not shown', async () => {
	const { sessions, session } = stopped({ ...stack, frames: deep(10_000), stop: 'end' });
	const view = new StackView(sessions, new Stacks());
	expect(session.asked).toEqual([]); // not even at the stop
	const nodes = await view.getChildren();
	expect(nodes).toHaveLength(51);
	expect(session.asked.map((a) => a.args)).toEqual([{ threadId: 1, startFrame: 0, levels: 50 }]);
	await view.getChildren();
	expect(session.asked).toHaveLength(1); // never twice at one stop
	view.showMore();
	expect(await view.getChildren()).toHaveLength(101);
	expect(session.asked.map((a) => a.args.startFrame)).toEqual([0, 50]);
});

test('nothing is asked while the program runs, and errors are shown in place', async () => {
	const { sessions, session, response } = stopped();
	const view = new StackView(sessions, new Stacks());
	session.answers['clew/stack'] = new Error('goroutine 1 is gone');
	expect(items(view, await view.getChildren()).map((i) => i.label)).toEqual(['goroutine 1 is gone']);
	response('continue', {}, 1);
	expect(await view.getChildren()).toEqual([]);
});

test('the stack by other strategies is shown until the next stop', async () => {
	const { sessions, clew, session, event } = stopped();
	const view = new StackView(sessions, new Stacks());
	await view.showOther(otherStack(clew, 1, ['scan']));
	expect(session.asked.at(-1)).toMatchObject({ command: 'clew/reunwind', args: { strategies: ['scan'] } });
	expect(items(view, await view.getChildren())[0]?.label).toBe('Unwound with scan');
	const second = stopped(); // its thread has the same number
	sessions.add({ ...second.vs, id: 'session-2' } as never).stopped = true;
	select({ session: { id: 'session-2' }, threadId: 1 });
	expect(items(view, await view.getChildren())[0]?.label).not.toBe('Unwound with scan');
	select(undefined);
	await view.showOther(otherStack(clew, 1, ['scan']));
	event('stopped', { threadId: 1 });
	expect(items(view, await view.getChildren())[0]?.label).toBe('0  stop_here');
});

test('the frame that is selected in the call stack is revealed', async () => {
	const { sessions, vs, rows } = stopped();
	const view = new StackView(sessions, new Stacks());
	rows(1, 0, [{ id: 100 }, { id: 101 }, { id: 102 }]);
	await view.getChildren();
	select({ session: vs, threadId: 1, frameId: 101 });
	expect(seen.treeViews['clew.stack']?.revealed).toContainEqual(expect.objectContaining({ index: 1 }));
});

test('a frame is selected by going up and down, past rows that are folded', async () => {
	const { vs, clew, rows } = stopped();
	rows(1, 0, [{ id: 100 }, { id: 101, presentationHint: 'subtle' }, { id: 102 }, { id: 103 }]);
	const paged = new Stacks().of(clew, 1);
	await paged.ensure(5);
	let at = 0;
	const ids = [100, 102, 103]; // the selectable ones
	const move = (by: number) => () => {
		at = (at + by + ids.length) % ids.length;
		queueMicrotask(() => select({ session: vs, threadId: 1, frameId: ids[at] }));
	};
	seen.builtin['workbench.action.debug.callStackDown'] = move(1);
	seen.builtin['workbench.action.debug.callStackUp'] = move(-1);
	select({ session: vs, threadId: 1, frameId: 100 });
	expect(await focusFrame(paged, 3)).toBe(true);
	expect(await focusFrame(paged, 0)).toBe(true);
	expect(seen.shown).toEqual([]);
	// A folded one cannot be selected: its source is shown.
	expect(await focusFrame(paged, 1)).toBe(false);
	expect(at).toBe(0);
});

test('a frame below a label is selected: the way leads over the label', async () => {
	const { vs, clew, rows } = stopped();
	rows(1, 0, [{ id: 100 }, { id: 101, presentationHint: 'label' }, { id: 102 }, { id: 103 }]);
	const paged = new Stacks().of(clew, 1);
	await paged.ensure(5);
	let at = 0;
	const move = (by: number) => () => {
		at += by;
		queueMicrotask(() => select({ session: vs, threadId: 1, frameId: 100 + at }));
	};
	seen.builtin['workbench.action.debug.callStackDown'] = move(1);
	seen.builtin['workbench.action.debug.callStackUp'] = move(-1);
	select({ session: vs, threadId: 1, frameId: 100 });
	expect(await focusFrame(paged, 2)).toBe(true);
	expect(at).toBe(3);
	expect(await focusFrame(paged, 0)).toBe(true);
	expect(at).toBe(0);
	expect(seen.shown).toEqual([]);
});

test('a frame out of reach has its source shown, at its line', async () => {
	const { clew } = stopped();
	const paged = new Stacks().of(clew, 1);
	await paged.ensure(5);
	expect(await focusFrame(paged, 4)).toBe(false);
	expect(seen.shown[0]?.uri.path).toBe('/go/src/runtime/cgocall.go');
	expect(seen.shown[0]?.options).toMatchObject({ selection: { startLine: 184 } });
});

test('the Images view says who knows which code', async () => {
	const { sessions, session } = stopped();
	session.answers['clew/images'] = {
		images: [
			{
				path: '/lib/libfroth.so',
				buildID: 'c0ffee',
				base: '0x7f00',
				end: '0x8f00',
				executableBytes: 1000,
				unwind: [
					{ strategy: 'dwarfcfi', coveredBytes: 999, share: 0.999, frames: 3, sections: ['.eh_frame'] },
					{ strategy: 'fpwalk', anywhere: true, coveredBytes: 0, share: 0, frames: 1 },
				],
			},
		],
	};
	const view = new ImagesView(sessions);
	const [image] = await view.getChildren();
	expect(items(view, [image])[0]).toMatchObject({ label: 'libfroth.so', description: 'dwarfcfi 99.9 %' });
	expect(items(view, await view.getChildren(image)).map((i) => [i.label, i.description])).toEqual([
		['path', '/lib/libfroth.so'],
		['build ID', 'c0ffee'],
		['range', '0x7f00 - 0x8f00'],
		['dwarfcfi', 'covers 99.9 % of the code  ·  .eh_frame  ·  3 frames'],
		['fpwalk', 'may know any code  ·  1 frame'],
	]);
});
