//go:build linux && amd64

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/clewdbg/clew/integration/internal/program"
)

func main() {
	var o options
	flag.BoolVar(&o.json, "json", false, "print every cell as JSON")
	flag.BoolVar(&o.verbose, "v", false, "print the faults, too")
	flag.BoolVar(&o.update, "update", false, "write the table into docs/accuracy.md")
	flag.StringVar(&o.build, "build", "", "measure this build alone (as -json names it)")
	flag.StringVar(&o.scenario, "scenario", "", "measure this scenario alone")
	flag.Parse()
	if flag.NArg() > 0 || o.update && (o.build != "" || o.scenario != "") {
		fmt.Fprintln(os.Stderr, "matrix: wrong usage; see go doc ./integration/matrix")
		os.Exit(2)
	}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

type options struct {
	json, verbose, update bool
	build, scenario       string
}

func run(w io.Writer, o options) error {
	folder, err := os.MkdirTemp("", "clew-m-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b, err := newBench(folder)
	if err != nil {
		return err
	}
	var jobs []job
	for i := range rows {
		r := &rows[i]
		if o.build != "" && o.build != r.Name {
			continue
		}
		fmt.Fprintf(os.Stderr, "matrix: building %s\n", r.Title)
		tools, err := r.Tools()
		if err != nil {
			return err
		}
		p, err := r.Build(folder, tools)
		if err != nil {
			return err
		}
		for j := range columns {
			c := &columns[j]
			if !c.in(r) || o.scenario != "" && o.scenario != c.Title {
				continue
			}
			for _, d := range b.debuggers() {
				jobs = append(jobs, job{r, p, c, d})
			}
		}
	}
	if len(jobs) == 0 {
		return fmt.Errorf("there is no build %q with a scenario %q", o.build, o.scenario)
	}
	cells, err := b.all(jobs)
	if err != nil {
		return err
	}
	return report(w, o, cells)
}

// job is a cell to measure.
type job struct {
	row      *row
	program  program.Program
	column   *column
	debugger debugger
}

// all measures cells, as many at a time as there are processors.
func (b *bench) all(jobs []job) ([]cell, error) {
	cells := make([]cell, len(jobs))
	errs := make([]error, len(jobs))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for i := range next {
				j := &jobs[i]
				cells[i], errs[i] = b.measure(j.row, j.program, j.column, &j.debugger)
				fmt.Fprintf(os.Stderr, "matrix: %d of %d: %s, %s, %s: %v\n", i+1, len(jobs), j.row.Name, j.column.Title, j.debugger.name, &cells[i])
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	workers.Wait()
	return cells, errors.Join(errs...)
}

// report prints the measurements.
func report(w io.Writer, o options, cells []cell) error {
	version := delveVersion()
	generated := table(cells) + "\n" + summary(cells, version)
	if o.json {
		out := json.NewEncoder(w)
		out.SetIndent("", " ")
		if err := out.Encode(map[string]any{"delve": version, "cells": cells}); err != nil {
			return err
		}
	} else {
		fmt.Fprint(w, generated)
	}
	if o.verbose && !o.json {
		for i := range cells {
			if c := &cells[i]; c.Kind != program.Right {
				fmt.Fprintf(w, "\n%s, %s, %s: %v\n  %s\n", c.Build, c.Scenario, c.Debugger, c, strings.Join(c.Reasons, "\n  "))
			}
		}
	}
	if !o.update {
		return nil
	}
	name, err := pagePath()
	if err != nil {
		return err
	}
	return update(name, generated)
}

// delveVersion is that of the module that dlv was built from.
func delveVersion() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		if i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == "github.com/go-delve/delve" }); i >= 0 {
			return strings.TrimPrefix(info.Deps[i].Version, "v")
		}
	}
	return "of an unknown version"
}

func pagePath() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "docs", "accuracy.md"), nil
}
