// What a user does in every scenario.

import { until } from './harness.mjs';

export const stackView = 'Stack (clew)';
export const imagesView = 'Images (clew)';
export const callStack = 'Call Stack';

/** The row of a view that has this text. */
export const row = (w, view, text) => w.pane(view).locator('.monaco-list-row', { hasText: text }).first();

/** Makes room in the side bar for the views that a scenario is about. */
export async function makeRoom(w, ...wanted) {
	for (const title of ['Variables', 'Watch', 'Breakpoints', callStack, stackView, imagesView]) {
		await w.fold(title, wanted.includes(title));
	}
}

/** Starts the only configuration and waits for a stop in whisk. */
export async function stopInWhisk(w) {
	await w.page.keyboard.press('F5');
	await w.sees(callStack, 'PAUSED');
	await makeRoom(w, callStack, stackView); // the stopped thread may be the last of many rows
	await w.sees(callStack, 'whisk');
	await w.sees(stackView, '0 whisk', '1 froth');
}

export async function stop(w) {
	await w.page.keyboard.press('Shift+F5');
	await until(
		'the session to end',
		async () =>
			(await w.page.locator('.debug-toolbar, .codicon-debug-stop, .codicon-debug-disconnect').count()) === 0 ||
			(await w.page.locator('.statusbar.debugging, .part.statusbar.status-bar-debugging').count()) === 0,
	);
	await until(
		'the view to go',
		async () => (await w.pane(stackView).count()) === 0 || !(await w.pane(stackView).isVisible()),
	);
}

/** The page inside of a webview. */
export async function webview(w) {
	return until('the webview', async () => {
		for (const frame of w.page.frames()) {
			if (
				frame.parentFrame()?.parentFrame() &&
				(await frame
					.locator('.frame, .bar, pre')
					.count()
					.catch(() => 0)) > 0
			)
				return frame;
		}
		return undefined;
	});
}
