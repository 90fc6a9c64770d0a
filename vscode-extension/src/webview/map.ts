// The stack map's script: pointing, moving with keys, and choosing.

interface Api {
	postMessage(message: unknown): void;
	getState(): State | undefined;
	setState(state: State | undefined): void;
}
/** State for the next page of the same panel: the frame that gets the focus, counted in the order of frames. */
interface State {
	focus: number;
}
declare function acquireVsCodeApi(): Api;

const api = acquireVsCodeApi();
const frames = [...document.querySelectorAll<HTMLElement>('.frame')].sort(
	(a, b) => Number(a.dataset.index) - Number(b.dataset.index),
);
const details = document.getElementById('details');

function show(frame: HTMLElement): void {
	if (!details || !frame.dataset.details) return;
	const { title, rows } = JSON.parse(frame.dataset.details) as { title: string; rows: [string, string][] };
	const heading = document.createElement('h3');
	heading.textContent = title;
	const table = document.createElement('table');
	for (const [label, value] of rows) {
		const row = table.insertRow();
		row.insertCell().textContent = label;
		row.insertCell().textContent = value;
	}
	details.replaceChildren(heading, table);
}

function focus(frame: HTMLElement | undefined): void {
	if (!frame) return;
	for (const f of frames) f.tabIndex = f === frame ? 0 : -1;
	frame.focus();
}

/** The frame nearest to another in the column beside it. */
function beside(frame: HTMLElement, right: boolean): HTMLElement | undefined {
	const at = frame.getBoundingClientRect();
	const columns = frames.filter((f) => {
		const r = f.getBoundingClientRect();
		return right ? r.left > at.right : r.right < at.left;
	});
	const edge = right
		? Math.min(...columns.map((f) => f.getBoundingClientRect().left))
		: Math.max(...columns.map((f) => f.getBoundingClientRect().left));
	return columns
		.filter((f) => f.getBoundingClientRect().left === edge)
		.sort(
			(a, b) => Math.abs(a.getBoundingClientRect().top - at.top) - Math.abs(b.getBoundingClientRect().top - at.top),
		)[0];
}

frames.forEach((frame, i) => {
	frame.addEventListener('mouseenter', () => show(frame));
	frame.addEventListener('focus', () => show(frame));
	frame.addEventListener('click', () => api.postMessage({ go: Number(frame.dataset.index) }));
	frame.addEventListener('keydown', (e) => {
		const to: Record<string, () => HTMLElement | undefined> = {
			ArrowDown: () => frames[i + 1],
			ArrowUp: () => frames[i - 1],
			ArrowRight: () => beside(frame, true),
			ArrowLeft: () => beside(frame, false),
			Home: () => frames[0],
			End: () => frames.at(-1),
		};
		if (e.key === 'Enter' || e.key === ' ') api.postMessage({ go: Number(frame.dataset.index) });
		else if (to[e.key]) focus(to[e.key]?.());
		else return;
		e.preventDefault();
	});
});
document.getElementById('more')?.addEventListener('click', () => {
	api.setState({ focus: frames.length }); // the first of those to come: the page is made anew
	api.postMessage({ more: true });
});
const kept = api.getState();
if (kept) {
	api.setState(undefined);
	focus(frames[kept.focus]);
}

/** A part of a frame's memory; see map/places.ts. */
interface Held {
	kind: string;
	what: string;
	where: string;
	value: string;
	from?: number;
	to?: number;
}

/** Shows what the memory of a frame holds: as bars in it, and in words below. */
function fill(frame: HTMLElement, rows: Held[], chosen: string | undefined): void {
	for (const old of document.querySelectorAll('.held')) old.remove();
	for (const f of frames) f.classList.toggle('filled', f === frame);
	show(frame);
	const table = details?.querySelector('table');
	for (const row of rows) {
		const named = chosen !== undefined && row.what.replace(/^argument /, '') === chosen;
		const line = table?.insertRow();
		if (line) {
			line.insertCell().textContent = row.what;
			line.insertCell().textContent = [row.where, row.value].filter(Boolean).join('  ');
			line.classList.toggle('chosen', named);
			if (named) line.scrollIntoView({ block: 'nearest' });
		}
		if (row.from === undefined || row.to === undefined) continue;
		const bar = document.createElement('i');
		bar.className = `held ${row.kind}${named ? ' chosen' : ''}`;
		bar.title = `${row.what} at ${row.where} ${row.value}`;
		bar.style.top = `${row.from * 100}%`;
		bar.style.height = `${Math.max((row.to - row.from) * 100, 1)}%`;
		frame.append(bar);
	}
}

window.addEventListener(
	'message',
	(e: MessageEvent<{ select?: number; places?: Held[]; of?: number; chosen?: string }>) => {
		if (e.data.places) {
			const frame = frames.find((f) => Number(f.dataset.index) === e.data.of);
			if (frame) fill(frame, e.data.places, e.data.chosen);
			return;
		}
		for (const f of frames) {
			// A frame is drawn with the functions that are inlined in it.
			const { first, index } = f.dataset;
			const selected = e.data.select !== undefined && Number(first) <= e.data.select && e.data.select <= Number(index);
			f.classList.toggle('selected', selected);
			if (selected) {
				f.setAttribute('aria-current', 'true');
				if (details?.querySelector('h3') === null || !document.hasFocus()) show(f);
			} else f.removeAttribute('aria-current');
		}
	},
);
api.postMessage({ ready: true });

export {};
