// Text that came from a program, its files or a server, made safe to show. Names of functions, files and processes may
// hold anything: characters that turn the direction of text or break lines fake or hide what stands beside them.

/** Control characters (line breaks too, but no tabs), and marks of direction. */
const unsafe = /(?!\t)[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text on one line, with escapes for what cannot be seen. */
export function visible(text: string): string {
	return text.replace(unsafe, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** What is used as it is: a file is opened, a strategy's name is sent back, data is base64. Who shows it makes it visible. */
const used = new Set(['data', 'file', 'name']);

/** A value with every text in it made visible but for what is used. */
export function allVisible<T>(value: T): T {
	if (typeof value === 'string') return visible(value) as T;
	if (Array.isArray(value)) return value.map(allVisible) as T;
	if (typeof value !== 'object' || value === null) return value;
	return Object.fromEntries(
		Object.entries(value).map(([k, v]) => [k, used.has(k) && typeof v === 'string' ? v : allVisible(v)]),
	) as T;
}

/** The text of a message, of several lines: VS Code makes links of [text](command:...) in one. */
export function messageText(text: string): string {
	return text
		.split('\n')
		.map(visible)
		.join('\n')
		.replace(/\](?=\()/g, ']\u200b');
}

/** A label in a list to choose from, in which VS Code makes icons of $(name). */
export function choice(text: string): string {
	return visible(text).replaceAll('$(', '\\$(');
}
