// The versions that the go command stamps into clew, and what golang.go 0.58 makes of them:
// facts of its source (goDebugConfiguration.ts), not its code.

import { expect, test } from 'vitest';
import { judge, warning } from '../../src/commands/goVersion';

const stamped = (version: string) =>
	`/home/u/go/bin/clew: go1.26.8\n\tpath\tgithub.com/clewdbg/clew/cmd/clew\n\tmod\tgithub.com/clewdbg/clew\t${version}\th1:0=\n\tdep\tgithub.com/go-delve/delve\tv1.27.2\n`;

test.each([
	['v1.28.0', false, false], // a release, and `go install ...@latest`
	['v1.28.0+dirty', false, false],
	['v1.28.1-0.20261122083600-0123456789ab', false, false], // a clone with tags
	['v2.0.0-20261122083600-0123456789ab+dirty', false, false],
	['v0.0.0-20261122083600-0123456789ab', true, true], // a clone without tags
	['(devel)', false, true], // -buildvcs=false
	['v1.8.3', false, true],
	['v1.8.3-rc1', true, true],
	['v1.22.2', false, false],
])('%s', (version, prompts, joinsBuildFlags) => {
	expect(judge(stamped(version))).toEqual({ version, prompts, joinsBuildFlags });
});

test('what is told of it', () => {
	expect(warning(judge(stamped('v1.28.0')), undefined)).toBeUndefined();
	expect(warning(judge('no Go binary'), undefined)).toBeUndefined();
	expect(warning(judge(stamped('v0.0.0-1-2')), undefined)).toMatch(/checkForUpdates.*buildFlags/);
	expect(warning(judge(stamped('v0.0.0-1-2')), 'off')).not.toContain('checkForUpdates');
	expect(warning(judge(stamped('(devel)')), undefined)).not.toContain('checkForUpdates');
});
