import { beforeEach, expect, test } from 'vitest';
import { copyFrame } from '../../src/commands/export';
import { focusFrame } from '../../src/commands/focus';
import { reunwind } from '../../src/commands/unwinding';
import { showError } from '../../src/errors';
import { render } from '../../src/map/render';
import type { Frame, Stack } from '../../src/protocol';
import { Stacks } from '../../src/stacks';
import { fileLine, frameReport } from '../../src/text';
import { ImagesView } from '../../src/views/imagesView';
import { StackView } from '../../src/views/stackView';
import { choice, visible } from '../../src/visible';
import { reset, seen } from './vscode';
import { stack, stopped } from './world';

beforeEach(reset);

const evil = '\x1b[2J\nFAKE\u202e\u009b31m<img src=x onerror=alert(1)>[click](command:workbench.action.quit)';
const raw = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

/** The stack of the demo with a hostile text wherever a program, its files or a plugin may put one. */
const hostile: Stack = {
	...stack,
	reason: evil,
	frames: stack.frames.map((f) => ({
		...f,
		function: evil,
		file: `/src/${evil}`,
		image: `/lib/${evil}`,
		rule: `cfa=${evil}`,
		strategy: evil,
		notes: [evil],
		rejected: [{ strategy: evil, reason: evil }],
	})),
};

/** Every text in the items below some nodes of a view. */
async function texts<N>(
	view: { getChildren(n?: N): unknown; getTreeItem(n: N): unknown },
	node?: N,
): Promise<string[]> {
	const out: string[] = [];
	for (const n of (await view.getChildren(node)) as N[]) {
		const item = view.getTreeItem(n) as Record<string, unknown>;
		for (const part of [item.label, item.description, item.tooltip, item.accessibilityInformation])
			JSON.stringify(part ?? '', (_, v) => {
				if (typeof v === 'string') out.push(v);
				return v;
			});
		if (item.collapsibleState) out.push(...(await texts(view, n)));
	}
	return out;
}

test('the Stack and Images views, and the map, show no control characters and no marks of direction', async () => {
	const { sessions, session } = stopped(hostile);
	const stacks = new Stacks();
	const all = await texts(new StackView(sessions, stacks) as never);
	session.answers['clew/images'] = {
		images: [
			{
				path: evil,
				base: '0x1',
				end: '0x2',
				notes: [evil],
				unwind: [{ strategy: evil, coveredBytes: 1, share: 1, problem: evil }],
			},
		],
	};
	all.push(...(await texts(new ImagesView(sessions) as never)));
	expect(all.filter((t) => t.includes('FAKE')).length).toBeGreaterThan(20);
	expect(all.filter((t) => raw.test(t.replace(/\n/g, '')) || /\nFAKE/.test(t))).toEqual([]);
	const page = render(JSON.parse(JSON.stringify(hostile)), false);
	expect(page).not.toContain('<img');
});

test('a file and a name of a strategy are used as they are, and shown with escapes', async () => {
	const { sessions, session } = stopped(hostile);
	const stacks = new Stacks();
	const view = new StackView(sessions, stacks);
	const own = stacks.of(sessions.active() as never, 1);
	await own.ensure(1);
	const [frame] = own.frames;
	expect(frame?.file).toBe(`/src/${evil}`);
	for (const text of [fileLine(frame as Frame) ?? '', frameReport(frame as Frame).replace(/\n/g, '')])
		expect(raw.test(text)).toBe(false);
	await focusFrame(own, 0);
	expect(seen.shown[0]?.uri.path).toBe(`/src/${evil}`);
	await copyFrame(sessions, stacks, [{ kind: 'frame', stack: own, index: 0 }]);
	expect(seen.clipboard).toContain('FAKE');
	expect(raw.test(seen.clipboard)).toBe(false);
	session.answers['clew/plugins'] = { plugins: [{ name: evil, rank: 1, builtin: false, path: evil }] };
	seen.pick = (items) => items;
	await reunwind(sessions, view, []);
	expect(raw.test(seen.picks[0]?.[0]?.label ?? '\n')).toBe(false);
	expect((await texts(view as never)).filter((t) => raw.test(t.replace(/\n/g, '')) || /\nFAKE/.test(t))).toEqual([]);
	expect(session.asked.at(-1)).toMatchObject({ command: 'clew/reunwind', args: { strategies: [evil] } });
});

test('tabs stay', () => {
	expect(visible('a\tb\x1b')).toBe('a\tb\\u001b');
});

test('an error has no links that run commands, and its lines stay', async () => {
	await showError(new Error(`cannot open:\n${evil}`));
	const [text] = seen.errors as string[];
	expect(text).toMatch(/^cannot open:\n/);
	expect(text).not.toMatch(/\]\(command:/);
	expect(raw.test((text ?? '').replace(/\n/g, ''))).toBe(false);
});

test('a process is not shown with an icon that its name asks for', () => {
	expect(choice('$(verified) sshd\n')).toBe('\\$(verified) sshd\\u000a');
});
