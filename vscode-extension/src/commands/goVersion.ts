// What the Go extension (golang.go 0.58) makes of its debugger's version. It compares the
// version that is stamped into the executable with Delve's releases, whatever the program is.

/** What the Go extension does with a debugger, beyond what it does with a new dlv. */
export interface Verdict {
	/** The version in the executable, as `go version -m` prints it. */
	version: string;
	/** It says that dlv is out of date, and waits for an answer, before the first session. */
	prompts: boolean;
	/** It joins a list of `buildFlags` into one text, which loses flags with spaces. */
	joinsBuildFlags: boolean;
}

const notOutdated = [1, 8, 3];
const takesLists = [1, 22, 2];

/** Judges the output of `go version -m`; undefined where that names no version at all. */
export function judge(output: string): Verdict | undefined {
	const version = output.split(/\r?\n/)[2]?.split('\t')[3]?.trim(); // "", "mod", path, version
	if (!version) return undefined;
	const parsed = /^v(\d+)\.(\d+)\.(\d+)(-)?/.exec(version);
	if (!parsed) return { version, prompts: false, joinsBuildFlags: true }; // (devel)
	const numbers = parsed.slice(1, 4).map(Number);
	const isOlder = (than: number[]) => {
		const at = numbers.findIndex((n, i) => n !== than[i]);
		if (at < 0) return parsed[4] !== undefined; // a version before that one
		return (numbers[at] as number) < (than[at] as number);
	};
	return { version, prompts: isOlder(notOutdated), joinsBuildFlags: isOlder(takesLists) };
}

/** What to tell the user, undefined where the Go extension takes the debugger as it is. */
export function warning(verdict: Verdict | undefined, checks: string | undefined): string | undefined {
	if (!verdict) return undefined;
	const bites: string[] = [];
	if (verdict.prompts && checks !== 'off')
		bites.push(
			'asks before the first session whether to update dlv (choose "Don\'t Show Again", or set go.toolsManagement.checkForUpdates to "off")',
		);
	if (verdict.joinsBuildFlags)
		bites.push('joins a list of buildFlags into one text (write buildFlags as text in launch.json)');
	if (bites.length === 0) return undefined;
	return `This clew has the version ${verdict.version}, which the Go extension takes for an old Delve: it ${bites.join(', and ')}. A release of clew has no such version.`;
}
