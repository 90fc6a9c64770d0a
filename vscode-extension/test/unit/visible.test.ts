import { beforeEach, expect, test } from 'vitest';
import { showError } from '../../src/errors';
import { render } from '../../src/map/render';
import type { Stack } from '../../src/protocol';
import { Stacks } from '../../src/stacks';
import { ImagesView } from '../../src/views/imagesView';
import { StackView } from '../../src/views/stackView';
import { choice } from '../../src/visible';
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
