// A real VS Code (code-server) with the extension in it, and a browser before it.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// code-server and playwright-core may be installed elsewhere: CLEW_E2E_MODULES
// names the folder that holds their node_modules.
const modules = process.env.CLEW_E2E_MODULES ?? import.meta.dirname;
const require = createRequire(join(modules, 'package.json'));
const { chromium } = require('playwright-core');
const codeServer = join(modules, 'node_modules/code-server/out/node/entry.js');

/** VS Code's own theme for each kind of theme, and how its window and its pages name the kind. */
export const colorThemes = {
	dark: { id: 'Dark Modern', label: 'Dark Modern', window: 'vs-dark', page: 'vscode-dark' },
	light: { id: 'Light Modern', label: 'Light Modern', window: 'vs', page: 'vscode-light' },
	'high-contrast': {
		id: 'Default High Contrast',
		label: 'Dark High Contrast',
		window: 'hc-black',
		page: 'vscode-high-contrast',
	},
	'high-contrast-light': {
		id: 'Default High Contrast Light',
		label: 'Light High Contrast',
		window: 'hc-light',
		page: 'vscode-high-contrast-light',
	},
};

/** How long one thing may take on a slow machine, in milliseconds. */
export const patience = 120_000;

export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

/** Waits until check returns a value; if it never does, the error says what was waited for. */
export async function until(what, check, limit = patience) {
	const end = Date.now() + limit;
	let last;
	while (Date.now() < end) {
		try {
			const value = await check();
			if (value) return value;
			last = undefined;
		} catch (err) {
			last = err;
		}
		await sleep(250);
	}
	throw new Error(`waited ${limit / 1000} s in vain for ${what}${last ? `: ${last.message}` : ''}`);
}

function freePort() {
	return new Promise((resolve, reject) => {
		const server = createServer();
		server.on('error', reject);
		server.listen(0, '127.0.0.1', () => {
			const { port } = server.address();
			server.close(() => resolve(port));
		});
	});
}

/** One VS Code with its own data, settings and extensions. */
export class Code {
	static async start({ vsix, extensions = [], settings = {}, machine = {}, workspace, path }) {
		const code = new Code();
		code.home = mkdtempSync(join(tmpdir(), 'clew-e2e-'));
		code.workspace = workspace;
		const data = join(code.home, 'data');
		mkdirSync(join(data, 'User'), { recursive: true });
		writeFileSync(
			join(data, 'User/settings.json'),
			JSON.stringify({
				'workbench.startupEditor': 'none',
				'workbench.tips.enabled': false,
				'workbench.secondarySideBar.defaultVisibility': 'hidden',
				'chat.disableAIFeatures': true,
				'chat.commandCenter.enabled': false,
				'security.workspace.trust.enabled': false,
				'telemetry.telemetryLevel': 'off',
				'extensions.autoCheckUpdates': false,
				'extensions.ignoreRecommendations': true,
				'update.mode': 'none',
				'git.enabled': false,
				'files.simpleDialog.enable': true,
				'debug.openDebug': 'openOnDebugBreak',
				'debug.toolBarLocation': 'docked',
				'debug.onTaskErrors': 'abort',
				'debug.console.closeOnEnd': false,
				'editor.minimap.enabled': false,
				'window.menuBarVisibility': 'classic',
				'workbench.hover.delay': 600_000,
				...settings,
			}),
		);
		// Settings of machine scope count from here only.
		mkdirSync(join(data, 'Machine'), { recursive: true });
		writeFileSync(join(data, 'Machine/settings.json'), JSON.stringify(machine));
		code.args = ['--user-data-dir', data, '--extensions-dir', join(code.home, 'extensions')];
		code.env = {
			...process.env,
			PATH: path ?? process.env.PATH,
			HOME: code.home,
			XDG_CONFIG_HOME: join(code.home, 'config'),
			GOPATH: process.env.GOPATH,
			GOMODCACHE: process.env.GOMODCACHE,
			GOCACHE: process.env.GOCACHE,
			GOFLAGS: '-mod=mod',
		};
		for (const name of ['GOPATH', 'GOMODCACHE', 'GOCACHE']) {
			code.env[name] ??= spawnSync('go', ['env', name], { encoding: 'utf8' }).stdout.trim();
		}
		for (const extension of [vsix, ...extensions]) {
			const done = spawnSync(
				process.execPath,
				[codeServer, ...code.args, '--install-extension', extension, '--force'],
				{ env: code.env, encoding: 'utf8', timeout: patience * 2 },
			);
			if (done.status !== 0) throw new Error(`installing ${extension}: ${done.stdout}${done.stderr}`);
		}
		await code.serve();
		return code;
	}

	async serve() {
		const port = await freePort();
		this.url = `http://127.0.0.1:${port}`;
		this.log = '';
		this.server = spawn(
			process.execPath,
			[
				codeServer,
				...this.args,
				'--auth',
				'none',
				'--bind-addr',
				`127.0.0.1:${port}`,
				'--disable-telemetry',
				'--disable-update-check',
				'--disable-workspace-trust',
				'--disable-getting-started-override',
				this.workspace,
			],
			{ env: this.env, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
		);
		for (const s of [this.server.stdout, this.server.stderr])
			s.on('data', (d) => {
				this.log += d;
			});
		await until('code-server to listen', async () => (await fetch(`${this.url}/healthz`)).ok);
	}

	/** Opens a browser window. */
	async open() {
		this.browser ??= await chromium.launch({
			executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
			timeout: patience,
			args: [
				'--no-sandbox',
				'--disable-gpu',
				'--disable-lcd-text',
				'--disable-dev-shm-usage',
				'--disable-background-networking',
				'--disable-component-update',
				'--disable-sync',
				'--no-first-run',
				'--disable-quic',
			],
		});
		this.context = await this.browser.newContext({
			viewport: { width: 1360, height: 860 },
			permissions: ['clipboard-read', 'clipboard-write'],
		});
		this.page = await this.context.newPage();
		this.page.setDefaultTimeout(patience);
		const url = `${this.url}/?folder=${encodeURIComponent(this.workspace)}`;
		// A cold start may exceed any limit on a slow machine: a second one finds all warm.
		for (let attempt = 1; ; attempt++) {
			try {
				await this.page.goto(url, { waitUntil: 'domcontentloaded' });
				await this.page.waitForSelector('.monaco-workbench .part.editor', { timeout: patience });
				await this.page.waitForSelector('.statusbar-item', { timeout: patience });
				return this.page;
			} catch (err) {
				if (attempt === 3) throw err;
				console.log(`  VS Code did not come up (${err.message.split('\n')[0]}); trying again`);
			}
		}
	}

	/** The extension's log, in every window. */
	extensionLog() {
		const logs = join(this.home, 'data/logs');
		if (!existsSync(logs)) return '';
		const files = readdirSync(logs, { recursive: true }).filter((f) => /Clew\.log$/.test(f));
		return files.map((f) => readFileSync(join(logs, f), 'utf8')).join('');
	}

	/** Ends everything that was started. */
	async stop() {
		await this.browser?.close().catch(() => undefined);
		if (this.server && this.server.exitCode === null) {
			const ended = new Promise((r) => this.server.on('exit', r));
			process.kill(-this.server.pid, 'SIGTERM');
			await Promise.race([ended, sleep(10_000)]);
			try {
				process.kill(-this.server.pid, 'SIGKILL');
			} catch {
				// all of it has ended
			}
		}
		rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** A user's actions in the window. */
export class Window {
	constructor(page, shots) {
		this.page = page;
		this.shots = shots;
		mkdirSync(shots, { recursive: true });
	}

	/** Waits for the window to be in a kind of theme. */
	async inTheme(theme) {
		await this.page.waitForSelector(`.monaco-workbench.${colorThemes[theme].window}`);
	}

	/** Chooses the theme of a kind. */
	async useTheme(theme) {
		const { label } = colorThemes[theme];
		await this.command('Preferences: Color Theme');
		await this.page.locator('.quick-input-widget input[placeholder*="Select Color Theme"]').fill(label);
		await this.pick(label);
		await this.inTheme(theme);
	}

	async shot(name, clip) {
		await this.page.screenshot({ path: join(this.shots, `${name}.png`), clip });
	}

	/** Chooses a command in the palette. */
	async command(title) {
		const input = this.page.locator('.quick-input-widget .quick-input-box input');
		await until(`the command ${title}`, async () => {
			await this.page.keyboard.press('Escape');
			await this.page.keyboard.press('F1');
			await input.waitFor({ state: 'visible', timeout: 10_000 });
			await input.fill(`>${title}`, { timeout: 5_000 });
			const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first();
			await row.waitFor({ state: 'visible', timeout: 10_000 });
			await row.click({ timeout: 5_000 });
			return true;
		});
	}

	/** Chooses an item of an open list. */
	async pick(text) {
		const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: text }).first();
		await row.waitFor({ state: 'visible' });
		await row.click();
	}

	/**
	 * Types a path into the file dialog and accepts. The dialog writes what it
	 * proposes a while after it is shown, and over what was typed until then.
	 */
	async answer(proposed, text) {
		const input = this.page.locator('.quick-input-widget .quick-input-box input');
		await input.waitFor({ state: 'visible' });
		await until(`the proposal ${proposed}`, async () => (await input.inputValue()).includes(proposed));
		let same = 0;
		await until('the input to keep the text', async () => {
			if ((await input.inputValue()) === text) return ++same > 4;
			same = 0;
			await input.fill(text, { timeout: 5_000 });
			return false;
		});
		await this.page.keyboard.press('Enter');
	}

	/** Opens a file of the workspace. */
	async openFile(name) {
		await until(`${name} to open`, async () => {
			await this.page.keyboard.press('Escape');
			await this.page.keyboard.press('Control+P');
			const input = this.page.locator('.quick-input-widget .quick-input-box input');
			await input.waitFor({ state: 'visible', timeout: 10_000 });
			await input.fill(name, { timeout: 5_000 });
			const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first();
			await row.waitFor({ state: 'visible', timeout: 10_000 });
			await row.click({ timeout: 5_000 });
			await this.page.locator('.tab.active', { hasText: name }).waitFor({ timeout: 10_000 });
			return true;
		});
	}

	/** Sets a breakpoint on a line. F9 does nothing until VS Code knows the extension's breakpoints. */
	async breakpoint(file, line) {
		await this.openFile(file);
		const glyphs = this.page.locator(
			'.codicon-debug-breakpoint, .codicon-debug-breakpoint-unverified, .codicon-debug-hint',
		);
		await until(`a breakpoint at ${file}:${line}`, async () => {
			await this.page.keyboard.press('Escape');
			await this.page.keyboard.press('Control+G');
			const input = this.page.locator('.quick-input-widget .quick-input-box input');
			await input.waitFor({ state: 'visible', timeout: 10_000 });
			await input.fill(`:${line}`, { timeout: 5_000 });
			await this.page.keyboard.press('Enter');
			await input.waitFor({ state: 'hidden', timeout: 10_000 });
			await this.page.keyboard.press('F9');
			await glyphs.first().waitFor({ timeout: 5_000 });
			return true;
		});
	}

	/** The rows of a view of the side bar, by its title, as texts. */
	async rows(title) {
		const rows = this.pane(title).locator('.monaco-list-row');
		return (await rows.allInnerTexts()).map((t) => t.replace(/\s+/g, ' ').trim());
	}

	pane(title) {
		return this.page.locator('.pane', { has: this.page.locator('.pane-header', { hasText: title }) });
	}

	/** Makes the side bar that wide, in pixels. */
	async widen(width) {
		const bar = await this.page.locator('.part.sidebar').boundingBox();
		const [x, y] = [bar.x + bar.width, bar.y + bar.height / 3];
		await this.page.mouse.move(x, y);
		await this.page.mouse.down();
		await this.page.mouse.move(bar.x + width, y, { steps: 5 });
		await this.page.mouse.up();
		await this.page.mouse.move(bar.x + width + 200, y); // the edge is lit while it is pointed at
	}

	/** Opens a view of the side bar if it is folded, folds it if it is not wanted. */
	async fold(title, open) {
		const header = this.pane(title).locator('.pane-header');
		await until(`the view ${title}`, async () => {
			await header.waitFor({ state: 'visible', timeout: 10_000 });
			if (((await header.getAttribute('aria-expanded')) === 'true') === open) return true;
			await header.press('Enter', { timeout: 5_000 });
			return false;
		});
	}

	/** Waits for the rows of a view to contain all of the texts. */
	async sees(title, ...texts) {
		let rows = [];
		try {
			return await until(`${texts.join(', ')} in ${title}`, async () => {
				rows = await this.rows(title);
				return texts.every((t) => rows.some((r) => r.includes(t))) && rows;
			});
		} catch (err) {
			throw new Error(`${err.message}; it shows:\n    ${rows.join('\n    ')}`);
		}
	}

	/** The messages that are shown. */
	async messages() {
		return this.page.locator('.notification-list-item-message').allInnerTexts();
	}

	/** Waits for a message; presses one of its buttons. */
	async message(text, button) {
		const item = this.page.locator('.notification-list-item', { hasText: text }).first();
		await item.waitFor({ state: 'visible' });
		if (button) await item.locator('.monaco-button', { hasText: button }).first().click();
		return item;
	}

	async clearMessages() {
		await this.command('Notifications: Clear All Notifications');
	}
}

/**
 * Stands between VS Code and a server and counts the requests that pass, by
 * command: what is asked, and what is not.
 */
export async function countingRelay(port) {
	const counts = new Map();
	const server = createServer((client) => {
		const upstream = connect(port, '127.0.0.1');
		let rest = Buffer.alloc(0);
		client.on('data', (data) => {
			upstream.write(data);
			rest = Buffer.concat([rest, data]);
			for (;;) {
				const header = /^Content-Length: (\d+)\r\n\r\n/.exec(rest.subarray(0, 64).toString('latin1'));
				const end = header && header[0].length + Number(header[1]);
				if (!header || rest.length < end) break;
				const { type, command } = JSON.parse(rest.subarray(header[0].length, end).toString());
				if (type === 'request') counts.set(command, (counts.get(command) ?? 0) + 1);
				rest = rest.subarray(end);
			}
		});
		upstream.pipe(client);
		for (const [a, b] of [
			[client, upstream],
			[upstream, client],
		]) {
			a.on('error', () => b.destroy());
			a.on('close', () => b.destroy());
		}
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	return { port: server.address().port, count: (command) => counts.get(command) ?? 0, close: () => server.close() };
}

/** Writes launch.json. */
export function launchJSON(workspace, configurations) {
	mkdirSync(join(workspace, '.vscode'), { recursive: true });
	writeFileSync(
		join(workspace, '.vscode/launch.json'),
		JSON.stringify({ version: '0.2.0', configurations }, undefined, 2),
	);
}

export { existsSync, readFileSync };
