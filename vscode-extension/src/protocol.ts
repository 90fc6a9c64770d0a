// Arguments and answers of clew's own requests of the Debug Adapter Protocol. Fields
// that are not known here are ignored.

export type Trust = 'context' | 'cfi' | 'frame-pointer' | 'scan';

export interface Rejected {
	strategy: string;
	reason: string;
	/** The check that refused it, and the rules that the check applies: "R3, R10". */
	check?: string;
	rule?: string;
	pc?: string;
	cfa?: string;
}

/** A frame with its evidence. Addresses are "0x...". */
export interface Frame {
	index: number;
	kind: 'pc' | 'ra' | 'async';
	pc: string;
	cfa?: string;
	sp?: string;
	fp?: string;
	function?: string;
	file?: string;
	line?: number;
	image?: string;
	offset?: string;
	strategy: string;
	trust: Trust;
	rule?: string;
	inlined?: boolean;
	tailCall?: boolean;
	delveFrame?: number;
	rejected?: Rejected[];
	notes?: string[];
}

/** Stack memory that frames can lie on: [low, high). */
export interface Segment {
	kind: string;
	low: string;
	high: string;
}

/** The answer to clew/stack and clew/reunwind. */
export interface Stack {
	thread?: number;
	goroutine?: number;
	frames: Frame[];
	stop: 'end' | 'truncated';
	reason?: string;
	notes?: string[];
	segments?: Segment[];
}

export const exportFormats = ['text', 'json', 'cbf', 'swift', 'pprof', 'otlp', 'snapshot'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** The answer to clew/export; data is base64. */
export interface Exported {
	files: { name: string; data: string }[];
	stacks?: number;
	truncated?: number;
}

export interface Covered {
	strategy: string;
	sections?: string[];
	anywhere?: boolean;
	coveredBytes: number;
	share: number;
	frames: number;
	problem?: string;
}

export interface Image {
	path: string;
	buildID?: string;
	base: string;
	end: string;
	executableBytes: number;
	unwind: Covered[];
	notes?: string[];
}

export interface Images {
	images: Image[];
}

export interface Plugin {
	name: string;
	rank: number;
	builtin: boolean;
	path: string;
	version?: string;
	state: string;
	restarts: number;
	lastError?: string;
}

export interface Plugins {
	plugins: Plugin[];
}

/** What a part of a frame's memory holds, or a register. */
export interface Place {
	name: string;
	kind: 'argument' | 'local' | 'saved';
	type?: string;
	value?: string;
	/** Where it lies; without it, in `register`. */
	address?: string;
	register?: string;
	/** What the register rests on, in words. */
	restsOn?: string;
	size: number;
}

export interface Places {
	places: Place[];
	/** Why the frame has no variables. */
	lack?: string;
}

/** The requests, with their arguments and answers. */
export interface Requests {
	'clew/stack': { arguments: { threadId: number; startFrame?: number; levels?: number }; answer: Stack };
	'clew/reunwind': {
		arguments: { threadId: number; startFrame?: number; levels?: number; strategies: string[] };
		answer: Stack;
	};
	'clew/places': { arguments: { frameId: number }; answer: Places };
	'clew/export': {
		arguments: { threadId?: number; all?: boolean; format: ExportFormat };
		answer: Exported;
	};
	'clew/images': { arguments: Record<string, never>; answer: Images };
	'clew/plugins': { arguments: Record<string, never>; answer: Plugins };
}
