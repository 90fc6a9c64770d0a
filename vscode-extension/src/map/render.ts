// The stack map as HTML: a column of boxes for each stack, arrows between them.

import type { Frame, Stack, Trust } from '../protocol';
import { hex } from '../rule';
import { endOf, equations, frameName, framePlace, refusal, trustMeaning } from '../text';
import { layOut, type MapColumn, type MapFrame, type StackMap } from './model';

const columnWidth = 250;
const columnGap = 56;
const margin = 16;
const top = 96;

/** Text for HTML. */
export function escapeHTML(s: string): string {
	return s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** A size in bytes, in words. */
export function size(bytes: bigint): string {
	const n = Number(bytes);
	if (n < 10_240) return `${n} B`;
	if (n < 10 << 20) return `${Math.round(n / 1024)} KiB`;
	return `${Math.round(n / (1 << 20))} MiB`;
}

const titles: Record<string, string> = {
	goroutine: 'Goroutine stack',
	g0: 'System stack (g0)',
	signal: 'Signal stack',
	thread: 'Thread stack',
	stack: 'Stack',
};

const trusts: Trust[] = ['context', 'cfi', 'frame-pointer', 'scan'];

/** The frame in words, as a screen reader says it. */
function spoken(m: MapFrame, column: MapColumn): string {
	const f = m.frame;
	const inlined = m.inlined.map((i) => `${frameName(i)} inlined`).join(', ');
	return [
		`Frame ${f.index}: ${frameName(f)}`,
		inlined,
		framePlace(f),
		`${trustMeaning[f.trust]}, by ${f.strategy}`,
		`${size(m.high - m.low)} on the ${(titles[column.kind] ?? column.kind).toLowerCase()}`,
		f.rule ? `caller by ${f.rule}` : '',
	]
		.filter(Boolean)
		.join('. ');
}

/** The text about the frame under the pointer. */
function details(m: MapFrame): string {
	const f: Frame = m.frame;
	const rows: [string, string][] = [
		['pc', `${f.pc}${f.image ? `  ${f.image}` : ''}`],
		['trust', `${f.trust}: ${trustMeaning[f.trust]} (${f.strategy})`],
		...equations(f.rule ?? '').map((e): [string, string] => {
			const eq = e.indexOf('=');
			return [eq < 0 ? '' : e.slice(0, eq), eq < 0 ? e : `= ${e.slice(eq + 1)}`];
		}),
		['memory', `${hex(m.low)} .. ${hex(m.high)}, ${size(m.high - m.low)}`],
	];
	if (f.cfa) rows.push(['CFA', f.cfa]);
	for (const r of f.rejected ?? []) rows.push(['not believed', `${r.strategy}: ${refusal(r)}`]);
	for (const n of f.notes ?? []) rows.push(['note', n]);
	return JSON.stringify({ title: `#${f.index} ${f.function ?? frameName(f)}`, rows });
}

function frameBox(m: MapFrame, column: MapColumn, x: number, first: boolean): string {
	const f = m.frame;
	const names = [...m.inlined.map((i) => `${frameName(i)} [inlined]`), frameName(f)].join(' ‹ ');
	const style = `left:${x}px;top:${top + m.y}px;width:${columnWidth}px;height:${m.height}px`;
	const slots = m.slots
		.map(
			(s) =>
				`<i class="slot ${s.kind}" style="top:${s.y - m.y}px" title="${s.kind === 'ra' ? 'return address' : 'saved frame pointer'} at ${hex(s.at)}">${s.kind}</i>`,
		)
		.join('');
	return `<div class="frame ${f.trust}${m.cut ? ' cut' : ''}" role="listitem" tabindex="${first ? 0 : -1}" style="${style}"
 data-low="${hex(m.low)}" data-high="${hex(m.high)}" data-first="${m.inlined[0]?.index ?? f.index}" data-index="${f.index}" data-details="${escapeHTML(details(m))}" aria-label="${escapeHTML(spoken(m, column))}"
><span class="name">${f.index} ${escapeHTML(names)}</span><span class="place">${escapeHTML(framePlace(f))}</span>${slots}</div>`;
}

function columnBoxes(c: MapColumn, i: number, first: number): string {
	const x = margin + i * (columnWidth + columnGap);
	const whole = c.low !== undefined && c.high !== undefined && c.high > c.low ? c.high - c.low : undefined;
	const used = c.usedHigh - c.usedLow;
	let overview = '';
	if (whole !== undefined && c.low !== undefined) {
		const at = (a: bigint) => (Number(a) / Number(whole)) * 100;
		const width = Math.max(at(used), 0.6);
		const left = Math.min(at(c.usedLow - c.low), 100 - width);
		overview = `<div class="whole" title="the whole stack to scale; filled: the frames shown"><b style="left:${left}%;width:${width}%"></b></div>`;
	}
	const title = escapeHTML(titles[c.kind] ?? c.kind);
	const range = whole === undefined ? `${hex(c.usedLow)} ..` : `${size(whole)}, ${size(used)} in frames`;
	const gaps = c.gaps
		.map(
			(g) =>
				`<div class="gap" style="left:${x}px;top:${top + g.y}px;width:${columnWidth}px;height:${g.height}px">${size(g.bytes)} in no frame shown</div>`,
		)
		.join('');
	return `<section class="column" aria-label="${title}, ${escapeHTML(range)}">
<header style="left:${x}px;width:${columnWidth}px"><h2>${title}</h2><p>${escapeHTML(range)}</p>${overview}</header>
<div class="address" style="left:${x}px;top:${top - 18}px">${hex(c.usedLow)} (low)</div>
<div role="list">${c.frames.map((m) => frameBox(m, c, x, m.frame.index === first)).join('\n')}</div>${gaps}
<div class="address" style="left:${x}px;top:${top + c.height + 3}px">${hex(c.usedHigh)}</div>
</section>`;
}

function arrows(map: StackMap, width: number, height: number): string {
	const paths = map.switches.map((s) => {
		const from = map.columns[s.from.column]?.frames[s.from.frame];
		const to = map.columns[s.to.column]?.frames[s.to.frame];
		if (!from || !to) return '';
		const right = s.to.column > s.from.column;
		const x1 = margin + s.from.column * (columnWidth + columnGap) + (right ? columnWidth : 0);
		const x2 = margin + s.to.column * (columnWidth + columnGap) + (right ? 0 : columnWidth);
		const y1 = top + from.y + from.height / 2;
		const y2 = top + to.y + Math.min(to.height / 2, 12);
		const bend = (right ? 1 : -1) * (columnGap * 0.6);
		return `<path d="M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}" marker-end="url(#tip)"><title>frame ${from.frame.index} to its caller, frame ${to.frame.index}, on another stack</title></path>`;
	});
	return `<svg aria-hidden="true" width="${width}" height="${height}"><defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>${paths.join('')}</svg>`;
}

/** The map's body. more: not all frames of the stack are there. */
export function render(stack: Stack, more: boolean): string {
	const map = layOut(stack.frames, stack.segments ?? []);
	const width = margin * 2 + map.columns.length * (columnWidth + columnGap) - columnGap;
	const height = top + Math.max(0, ...map.columns.map((c) => c.height)) + 40;
	const first = map.columns[0]?.frames[0]?.frame.index ?? 0;
	const legend = trusts
		.map((t) => `<span class="key ${t}" title="${escapeHTML(trustMeaning[t])}">${t}</span>`)
		.join('');
	const who = stack.goroutine ? `Goroutine ${stack.goroutine}` : `Thread ${stack.thread ?? ''}`;
	const end = more ? '' : `<p class="end">${escapeHTML(endOf(stack))}</p>`;
	return `<div class="bar"><h1>${escapeHTML(who)}</h1><div class="legend">${legend}<span class="meaning"><i class="slot ra">ra</i> return address&ensp;<i class="slot fp">fp</i> saved frame pointer&ensp;→ switch of stacks</span></div>${end}</div>
<main id="map" style="width:${width}px;height:${height}px">${arrows(map, width, height)}
${map.columns.map((c, i) => columnBoxes(c, i, first)).join('\n')}</main>
${more ? '<button id="more" type="button">Show more frames</button>' : ''}
<div id="details" role="status" aria-live="polite"><p>Point at a frame, or move with the arrow keys, to see how its caller is found. Enter goes to the frame.</p></div>`;
}

/** The whole page. */
export function page(body: string, script: string, csp: string, nonce: string): string {
	return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Stack map</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-${nonce}' ${csp};">
<style>${styles}</style></head><body>${body}<script nonce="${nonce}" src="${script}"></script></body></html>`;
}

const styles = `
body { margin: 0; padding: 0; width: max-content; min-width: 100%; color: var(--vscode-foreground); background: var(--vscode-editor-background); font-size: var(--vscode-font-size); }
.bar { position: sticky; left: 0; top: 0; z-index: 3; padding: 8px 16px; background: var(--vscode-editor-background); border-bottom: 1px solid var(--vscode-contrastBorder, var(--vscode-panel-border)); width: 100vw; box-sizing: border-box; display: flex; flex-wrap: wrap; gap: 2px 18px; align-items: baseline; }
h1 { font-size: 1.15em; margin: 0; } h2 { font-size: 1em; margin: 0; }
header { position: absolute; top: 10px; } header p { margin: 2px 0 6px; opacity: .8; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 8px; align-items: center; }
.meaning { opacity: .85; margin-right: 10px; }
.end { margin: 0; opacity: .9; }
#details { position: sticky; left: 0; bottom: 0; z-index: 3; width: 100vw; box-sizing: border-box; max-height: 40vh; overflow: auto; padding: 6px 16px 8px; background: var(--vscode-editorWidget-background, var(--vscode-editor-background)); border-top: 1px solid var(--vscode-contrastBorder, var(--vscode-panel-border)); font-family: var(--vscode-editor-font-family, monospace); }
#details h3 { margin: 0 0 2px; font-size: 1em; } #details p { margin: 0; opacity: .85; font-family: var(--vscode-font-family); }
#details td { padding: 0 10px 0 0; vertical-align: top; white-space: pre-wrap; overflow-wrap: anywhere; } #details td:first-child { opacity: .8; white-space: nowrap; }
main { position: relative; } svg { position: absolute; left: 0; top: 0; pointer-events: none; z-index: 2; }
svg path { fill: none; stroke: var(--vscode-charts-purple, var(--vscode-foreground)); stroke-width: 2; } svg marker path { fill: var(--vscode-charts-purple, var(--vscode-foreground)); stroke: none; }
.whole { position: relative; height: 7px; border: 1px solid var(--vscode-contrastBorder, var(--vscode-descriptionForeground)); } .whole b { position: absolute; top: 0; bottom: 0; background: var(--vscode-charts-purple, var(--vscode-foreground)); }
.address, .gap { position: absolute; opacity: .75; font-family: var(--vscode-editor-font-family, monospace); font-size: .85em; }
.gap { box-sizing: border-box; border: 1px dashed var(--vscode-descriptionForeground); border-width: 0 1px; text-align: center; line-height: 20px; overflow: hidden; }
.frame, .key { --trust: var(--vscode-charts-green); border: 1px solid var(--trust); border-left-width: 6px; background: color-mix(in srgb, var(--trust) 14%, transparent); box-sizing: border-box; }
.context { --trust: var(--vscode-charts-yellow, #d7ba00); } .cfi { --trust: var(--vscode-charts-green, #388a34); } .frame-pointer { --trust: var(--vscode-charts-blue, #3794ff); border-style: dashed; border-left-style: double; } .scan { --trust: var(--vscode-charts-red, #f14c4c); border-style: dotted; }
.key { padding: 0 6px; }
.frame { position: absolute; display: flex; gap: 8px; overflow: hidden; padding: 1px 30px 1px 6px; line-height: 16px; cursor: pointer; white-space: nowrap; }
.frame .name { overflow: hidden; text-overflow: ellipsis; } .frame .place { opacity: .75; margin-left: auto; flex: none; max-width: 45%; overflow: hidden; text-overflow: ellipsis; }
.frame.cut { border-bottom: 3px double var(--trust); }
.frame.selected { background: var(--vscode-list-activeSelectionBackground); color: var(--vscode-list-activeSelectionForeground); }
.frame:hover { outline: 1px solid var(--vscode-focusBorder); } .frame:focus { outline: 2px solid var(--vscode-focusBorder); outline-offset: -1px; z-index: 1; }
.slot { font-style: normal; font-size: 9px; line-height: 9px; padding: 0 2px; border: 1px solid var(--vscode-foreground); } .frame .slot { position: absolute; right: 2px; height: 10px; width: 22px; box-sizing: border-box; line-height: 8px; text-align: center; }
.slot.ra { background: var(--vscode-foreground); color: var(--vscode-editor-background); } .slot.fp { border-radius: 4px; }
.held { position: absolute; right: 28px; width: 14px; box-sizing: border-box; border-top: 1px solid var(--vscode-editor-background); background: var(--vscode-charts-orange, var(--vscode-foreground)); } .held.argument { background: var(--vscode-charts-blue, var(--vscode-foreground)); } .held.saved { background: var(--vscode-foreground); } .held.unknown { background: transparent; border: 1px dotted var(--vscode-descriptionForeground); } .held.chosen { outline: 2px solid var(--vscode-focusBorder); }
.frame.filled { padding-right: 48px; } #details tr.chosen { outline: 1px solid var(--vscode-focusBorder); }
button { margin: 0 16px 16px; color: var(--vscode-button-foreground); background: var(--vscode-button-background); border: 1px solid var(--vscode-contrastBorder, transparent); padding: 4px 12px; }
body.vscode-high-contrast .frame, body.vscode-high-contrast-light .frame { background: transparent; border-top-width: 2px; }
body.vscode-high-contrast .frame.selected, body.vscode-high-contrast-light .frame.selected { box-shadow: inset 0 0 0 3px var(--vscode-contrastActiveBorder, var(--vscode-foreground)); color: inherit; font-weight: bold; }
`;
