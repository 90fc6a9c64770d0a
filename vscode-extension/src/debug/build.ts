// Builds that failed, from the debugger's output.

/**
 * Why a launch did not come to a program, and what to do; undefined where it was no build that failed.
 * The output is Delve's: "Build Error: COMMAND", then what `go build` wrote.
 */
export function whyNotBuilt(output: string): string | undefined {
	if (/C compiler .* not found|cgo: .*executable file not found/.test(output)) {
		return 'The program has C code, and no C compiler is installed. Install gcc or clang, or set CC in the configuration\'s "env".';
	}
	const built = output.lastIndexOf('Build Error:');
	if (built < 0) return undefined;
	const [, ...lines] = output.slice(built).split('\n');
	// Where Go finds no C compiler it turns cgo off, and leaves out what imports "C".
	if (/C source files not allowed when not using cgo|build constraints exclude all Go files/.test(lines.join('\n'))) {
		return 'The program does not build: its Go files are left out, as those with C code are where cgo is off. Go turns cgo off where it finds no C compiler: install gcc or clang, or set CGO_ENABLED to 1 in the configuration\'s "env".';
	}
	const first =
		lines.find((l) => /^[^\s#][^:]*:\d+(:\d+)?: /.test(l)) ?? lines.find((l) => /\S/.test(l) && !l.startsWith('#'));
	return `The program does not build${first ? `: ${first.replace(/\(exit status \d+\)\s*$/, '').trim()}` : '.'}`;
}
