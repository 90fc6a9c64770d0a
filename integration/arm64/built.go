package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// buildMatrix builds integration/truth/matrix and what it measures.
func buildMatrix(builds string) builder {
	return func(ctx context.Context, folder string) error {
		return buildOn(ctx, folder, "truth", "matrix", "-arm64", folder, "-build", builds)
	}
}

// buildSteps builds integration/stepping/places and the programs in which it steps.
func buildSteps(builds string) builder {
	return func(ctx context.Context, folder string) error {
		return buildOn(ctx, folder, "stepping", "places", "-arm64", folder, "-build", builds)
	}
}

// buildSampled builds integration/truth/sampled and its workloads.
func buildSampled(ctx context.Context, folder string) error {
	return buildOn(ctx, folder, "truth", "sampled", "-arm64", "-o", folder, "-libraries", sampledIn)
}

// buildThousand builds integration/bench/listing, its program, and both debuggers.
func buildThousand(ctx context.Context, folder string) error {
	for name, pkg := range map[string]string{"bench": "./integration/bench", "clew": "./cmd/clew", "dlv": "./integration/internal/dlv"} {
		if err := goBuild(ctx, filepath.Join(folder, name), pkg); err != nil {
			return err
		}
	}
	const sources = "integration/bench/listing/testdata/programs/"
	cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(folder, "thousand"), sources+"thousand.go", sources+"report.go")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=1", "CC=aarch64-linux-gnu-gcc")
	return command(cmd)
}

// buildOn builds a command of integration for the machine, and has it, on this one, build
// what it measures.
func buildOn(ctx context.Context, folder, name string, args ...string) error {
	if err := goBuild(ctx, filepath.Join(folder, "measure"), "./integration/"+name); err != nil {
		return err
	}
	return command(exec.CommandContext(ctx, "go", append([]string{"run", "./integration/" + name}, args...)...))
}
