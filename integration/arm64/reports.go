package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/clewdbg/clew/integration/delve/reports"
)

// buildReports prepares the reports of docs/delve that are about arm64, for TestReports: their programs are what their
// own scripts build here, where dlv does nothing. In the machine it is the go command that does nothing.
func buildReports(ctx context.Context, folder string) error {
	tools, here := filepath.Join(folder, reports.Tools), filepath.Join(folder, "here")
	err := errors.Join(
		goBuild(ctx, filepath.Join(tools, "dlv"), "./integration/internal/dlv"),
		writeTool(filepath.Join(tools, "go"), "exit 0"),
		writeTool(filepath.Join(here, "dlv"), "exit 0"),
		writeTool(filepath.Join(here, "gcc"), `exec aarch64-linux-gnu-gcc "$@"`),
	)
	if err != nil {
		return err
	}
	test := exec.CommandContext(ctx, "go", "test", "-c", "-o", filepath.Join(folder, "reports.test"), "./integration/delve/reports")
	test.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if err := command(test); err != nil {
		return err
	}
	documents, err := filepath.Glob("docs/delve/*.md")
	if err != nil {
		return err
	}
	built := 0
	for _, document := range documents {
		if filepath.Base(document) == "README.md" {
			continue
		}
		r, err := reports.Read(document)
		if err != nil {
			return err
		}
		if r.Arch != "arm64" {
			continue
		}
		built++
		if err := buildReport(ctx, folder, document, r, here); err != nil {
			return err
		}
	}
	if built == 0 {
		return fmt.Errorf("none of %d reports is about arm64", len(documents))
	}
	return nil
}

// buildReport puts a report and its program into the folder; here has the tools that its script finds.
func buildReport(ctx context.Context, folder, document string, r *reports.Report, here string) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, filepath.Base(document)), text, 0o644); err != nil {
		return err
	}
	to := filepath.Join(folder, strings.TrimSuffix(filepath.Base(document), ".md"))
	if err := r.Write(to); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-e", "script")
	cmd.Dir = to
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=1", "CC=aarch64-linux-gnu-gcc", "GOFLAGS=", "GOWORK=off",
		"PATH="+here+string(os.PathListSeparator)+os.Getenv("PATH"))
	return command(cmd)
}

// writeTool writes a shell script of one line.
func writeTool(name, line string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte("#!/bin/sh\n"+line+"\n"), 0o755)
}

// runReports runs their scripts, each of which must show what the report says.
const runReports = `cd "$1" && ./reports.test -test.v -test.run TestReports -prepared "$1"`
