package main

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

//go:embed testdata
var sources embed.FS

// buildBrk builds clew, and the program with its libraries.
func buildBrk(ctx context.Context, folder string) error {
	src, err := buildProgram(ctx, folder, "brk")
	if err != nil {
		return err
	}
	library, stripped := filepath.Join(folder, "library.so"), filepath.Join(folder, "stripped.so")
	for _, cmd := range []*exec.Cmd{
		exec.CommandContext(ctx, "aarch64-linux-gnu-gcc", "-O2", "-shared", "-fPIC", "-o", library, "-x", "c", filepath.Join(src, "traps.h")),
		exec.CommandContext(ctx, "aarch64-linux-gnu-strip", "-s", "-o", stripped, library),
	} {
		if err := command(cmd); err != nil {
			return err
		}
	}
	return goBuild(ctx, filepath.Join(folder, "clew"), "./cmd/clew")
}

// buildProgram builds a program of testdata, with C, into a folder; its source is there, too.
func buildProgram(ctx context.Context, folder, name string, env ...string) (src string, err error) {
	source, err := fs.Sub(sources, "testdata/"+name)
	if err != nil {
		return "", err
	}
	src = filepath.Join(folder, "src-"+filepath.Base(name))
	if err := os.CopyFS(src, source); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(src, "go.mod"), []byte("module program\n\ngo 1.24\n"), 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(folder, filepath.Base(name)), ".")
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=1", "CC=aarch64-linux-gnu-gcc", "GOFLAGS=", "GOWORK=off")
	cmd.Env = append(cmd.Env, env...)
	return src, command(cmd)
}

// runBrk tries numbers in all places. It demands for each that clew stops with the number and the whole stack, and that the
// program goes on. In generated code the instruction is a function's first one, which the call tells.
func runBrk(numbers string) string {
	return `bad=0
limit=` + minute() + `
for where in program library stripped jit; do for number in ` + numbers + `; do
	timeout $limit "$1"/clew stack --format json -- "$1"/brk $where $number >$where-$number.json 2>$where-$number.err </dev/null
	if ! grep -q "trap: brk #$number" $where-$number.json; then
		echo "brk #$number in $where: NO STOP"; cat $where-$number.err; cat $where-$number.json; bad=1
	elif grep -q '"main.main"' $where-$number.json && grep -q '"stop": *"end"' $where-$number.json; then
		echo "brk #$number in $where: a stop, the stack is whole"
	else
		echo "brk #$number in $where: WRONG"; cat $where-$number.err; cat $where-$number.json; bad=1
	fi
done; done
for where in program library stripped jit; do
	printf 'continue\ncontinue\nquit\n' | timeout $limit "$1"/clew exec --allow-non-terminal-interactive=true "$1"/brk -- $where 1000 >$where-on.txt 2>&1
	if grep -q 'went on with 43' $where-on.txt; then echo "behind brk in $where: goes on"; else echo "behind brk in $where: WRONG"; cat $where-on.txt; bad=1; fi
done
exit $bad`
}

// minute is a time limit in seconds, more on a slow machine.
func minute() string { return strconv.Itoa(int(testneed.Patience(time.Minute).Seconds())) }
