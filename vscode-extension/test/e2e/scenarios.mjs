// What a user does, and what must be seen then.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { existsSync, launchJSON, readFileSync, sleep, until } from './harness.mjs';

const stackView = 'Stack (clew)';
const callStack = 'Call Stack';

export const scenarios = {
	async stack(w, { workspace }) {
		launchJSON(workspace, [
			{ type: 'clew', request: 'launch', name: 'Barista', mode: 'debug', program: '${workspaceFolder}' },
		]);
		await w.breakpoint('native.c', 11);
		await w.shot('01-breakpoint');
		await w.page.keyboard.press('F5');
		await w.sees(callStack, 'whisk');
		await w.shot('02-stopped');
		await w.fold(stackView, true);
		await w.sees(stackView, 'whisk');
		await w.shot('03-stack');
		await w.command('Clew: Show Stack Map');
		await sleep(3000);
		await w.shot('04-map');
	},
};
