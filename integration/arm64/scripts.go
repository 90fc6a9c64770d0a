package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// buildScripts builds the program of integration/stepping/scripts, clew, and what steps.
func buildScripts(ctx context.Context, folder string) error {
	const scripts = "integration/stepping/scripts"
	to := filepath.Join(folder, "program")
	if err := os.CopyFS(to, os.DirFS(filepath.Join(scripts, "testdata", "program"))); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-gcflags=all=-N -l", "-o", filepath.Join(to, "program"), ".")
	cmd.Dir = to
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=1", "CC=aarch64-linux-gnu-gcc", "CXX=aarch64-linux-gnu-g++", "GOFLAGS=", "GOWORK=off")
	if err := command(cmd); err != nil {
		return err
	}
	if err := goBuild(ctx, filepath.Join(folder, "clew"), "./cmd/clew"); err != nil {
		return err
	}
	return goBuild(ctx, filepath.Join(folder, "measure"), "./integration/stepping")
}

// runScripts demands that all scripts but one end where a reader expects: Delve's step into a method of C++ ends before its prologue
// on amd64 too (docs/stepping-languages.md).
const runScripts = `"$1"/measure scripts -built "$1" | tee table
grep -q '✓ |$' table && ! tail -n +3 table | grep -v 'C++: into a method' | grep -v ' scripts |' | grep -v '✓ |$'`
