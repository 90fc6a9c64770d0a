package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// buildFatal builds the tests of integration/dap, clew, and the program of TestFaults. The go command of the machine
// copies the last two; no test asks the C compiler for anything.
func buildFatal(ctx context.Context, folder string) error {
	tools, built := filepath.Join(folder, "tools"), filepath.Join(folder, "built")
	program := exec.CommandContext(ctx, "go", "build", "-gcflags=all=-N -l", "-o", filepath.Join(built, "faults"), "./integration/dap/testdata/faults")
	program.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=1", "CC=aarch64-linux-gnu-gcc")
	test := exec.CommandContext(ctx, "go", "test", "-c", "-o", filepath.Join(folder, "dap.test"), "./integration/dap")
	test.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	return errors.Join(
		goBuild(ctx, filepath.Join(built, "clew"), "./cmd/clew"), command(program), command(test),
		writeTool(filepath.Join(tools, "go"), `while [ $# -gt 0 ]; do [ "$1" = -o ] && to=$2; shift; done; cp "$(dirname "$0")/../built/$(basename "$to")" "$to"`),
		writeTool(filepath.Join(tools, "gcc"), "exit 1"),
	)
}

// runFatal demands that no case was left out.
const runFatal = `mkdir -p testdata/faults
PATH="$1"/tools:$PATH "$1"/dap.test -test.v -test.run 'TestFaults$' >fatal.txt 2>&1
grep -e '--- ' fatal.txt
grep -q '^--- PASS: TestFaults' fatal.txt && ! grep -q -e '--- SKIP' fatal.txt || { cat fatal.txt; exit 1; }`
