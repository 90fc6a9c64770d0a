package main

import (
	"context"
	"path/filepath"
)

// buildExclusive builds the program, with a compiler that knows no other atomic instructions, and what steps in it.
func buildExclusive(ctx context.Context, folder string) error {
	_, err := buildProgram(ctx, folder, "exclusive", "CGO_CFLAGS=-O2 -g -march=armv8-a -mno-outline-atomics")
	if err != nil {
		return err
	}
	return goBuild(ctx, filepath.Join(folder, "measure"), "./integration/stepping")
}

const runExclusive = `timeout 600 "$1"/measure exclusive "$1"/exclusive`
