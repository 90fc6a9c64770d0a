package main

import (
	"os"
	"os/exec"
	"path/filepath"
)

// buildMatrix builds integration/matrix and what it measures.
func buildMatrix(builds string) func(folder string) error {
	return func(folder string) error {
		for _, compiler := range []string{"aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "aarch64-linux-gnu-strip"} {
			if _, err := need(compiler); err != nil {
				return err
			}
		}
		return buildOn(folder, "matrix", "-arm64", folder, "-build", builds)
	}
}

// buildSteps builds integration/stepping and the programs in which it steps.
func buildSteps(builds string) func(folder string) error {
	return func(folder string) error {
		for _, tool := range []string{"aarch64-linux-gnu-gcc", "aarch64-linux-gnu-strip"} {
			if _, err := need(tool); err != nil {
				return err
			}
		}
		return buildOn(folder, "stepping", "-arm64", folder, "-build", builds)
	}
}

// buildSampled builds integration/sampled and its workloads.
func buildSampled(folder string) error {
	if _, err := need("aarch64-linux-gnu-gcc"); err != nil {
		return err
	}
	return buildOn(folder, "sampled", "-arm64", "-o", folder, "-libraries", sampledIn)
}

// buildThousand builds integration/listing, its program, and both debuggers.
func buildThousand(folder string) error {
	if _, err := need("aarch64-linux-gnu-gcc"); err != nil {
		return err
	}
	for name, pkg := range map[string]string{"listing": "./integration/listing", "clew": "./cmd/clew", "dlv": "./integration/internal/dlv"} {
		if err := goBuild(filepath.Join(folder, name), pkg); err != nil {
			return err
		}
	}
	const sources = "integration/listing/testdata/programs/"
	cmd := exec.Command("go", "build", "-o", filepath.Join(folder, "thousand"), sources+"thousand.go", sources+"report.go")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=1", "CC=aarch64-linux-gnu-gcc")
	return command(cmd)
}

// buildOn builds a command of integration for the machine, and has it, on this one, build
// what it measures.
func buildOn(folder, name string, args ...string) error {
	if err := goBuild(filepath.Join(folder, "measure"), "./integration/"+name); err != nil {
		return err
	}
	return command(exec.Command("go", append([]string{"run", "./integration/" + name}, args...)...))
}
