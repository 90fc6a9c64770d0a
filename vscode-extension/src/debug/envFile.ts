// Files with environment variables: NAME=value, one a line.

import { readFile } from 'node:fs/promises';

const variable = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(.*?)\s*$/;

/** Reads the text of one file. Later lines win; ${NAME} stands for an earlier variable or one of env. */
export function parseEnvFile(text: string, env: NodeJS.ProcessEnv = process.env): Record<string, string> {
	const out: Record<string, string> = {};
	for (const line of text.replace(/^\ufeff/, '').split(/\r?\n/)) {
		if (/^\s*(#|$)/.test(line)) continue;
		const found = variable.exec(line);
		const [, name, raw] = found ?? [];
		if (name === undefined || raw === undefined) continue;
		const quote = raw.length > 1 && (raw[0] === '"' || raw[0] === "'") && raw.endsWith(raw[0]) ? raw[0] : '';
		let value = quote ? raw.slice(1, -1) : raw;
		if (quote === '"') value = value.replace(/\\n/g, '\n').replace(/\\"/g, '"');
		if (quote !== "'") value = value.replace(/\$\{(\w+)\}/g, (_, n: string) => out[n] ?? env[n] ?? '');
		out[name] = value;
	}
	return out;
}

/** Reads files; later files win. */
export async function readEnvFiles(files: string[]): Promise<Record<string, string>> {
	const out: Record<string, string> = {};
	for (const file of files) Object.assign(out, parseEnvFile(await readFile(file, 'utf8')));
	return out;
}
