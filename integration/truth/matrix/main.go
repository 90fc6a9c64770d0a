//go:build linux && (amd64 || arm64)

package matrix

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

// Main runs it as a program: its arguments are those of the process.
func Main() {
	var o options
	flag.BoolVar(&o.json, "json", false, "print every cell as JSON")
	flag.BoolVar(&o.verbose, "v", false, "print the faults, too")
	flag.BoolVar(&o.update, "update", false, "write the table into docs/accuracy.md")
	flag.StringVar(&o.build, "build", "", "measure these builds alone (as -json names them, with commas between)")
	flag.StringVar(&o.arm64, "arm64", "", "build for linux/arm64 into this folder, and measure nothing")
	flag.StringVar(&o.built, "built", "", "measure what -arm64 has built in this folder, Delve apart")
	flag.BoolVar(&o.here, "here", false, "unwind in this process, as clew and its plugins do in theirs: for slow machines")
	flag.BoolVar(&o.cores, "cores", false, "measure the stacks of core files, by clew alone")
	flag.StringVar(&o.scenario, "scenario", "", "measure this scenario alone")
	flag.Parse()
	if flag.NArg() > 0 || o.update && (o.build != "" || o.scenario != "" || o.here || o.cores) {
		fmt.Fprintln(os.Stderr, "matrix: wrong usage; see go doc ./integration/truth/matrix")
		os.Exit(2)
	}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

type options struct {
	json, verbose, update bool
	here, cores           bool
	build, scenario       string
	arm64, built          string
}

// wants says that a build is to be measured.
func (o *options) wants(r *row) bool {
	if on := r.on(); on != "" && on != o.arch() {
		return false
	}
	return o.build == "" || slices.Contains(strings.Split(o.build, ","), r.Name)
}

// known refuses a build that is not there.
func (o *options) known() error {
	found := 0
	for i := range rows {
		if o.wants(&rows[i]) {
			found++
		}
	}
	if o.build != "" && found < len(strings.Split(o.build, ",")) {
		return fmt.Errorf("%d builds have the names %s", found, o.build)
	}
	return nil
}

// arch is that of the programs.
func (o *options) arch() string {
	if o.arm64 != "" {
		return "arm64"
	}
	return runtime.GOARCH
}

// columns are the scenarios to measure.
func (o *options) columns() []column {
	if o.cores {
		return cores
	}
	return columns
}

// make builds a program, or finds it.
func (o *options) make(r *row, folder string) (program.Program, error) {
	if o.built != "" {
		return r.Program(folder), nil
	}
	fmt.Fprintf(os.Stderr, "matrix: building %s\n", r.Title)
	find := r.Tools
	if o.arm64 != "" {
		find = r.CrossTools
	}
	tools, err := find()
	if err != nil {
		return program.Program{}, err
	}
	return r.Build(folder, tools)
}

// folder is where the programs are; it is gone afterwards, unless the user has named it.
func (o *options) folder() (name string, remove func(), err error) {
	if name = o.arm64 + o.built; name != "" {
		return name, func() {}, os.MkdirAll(name, 0o755)
	}
	name, err = os.MkdirTemp("", "clew-m-")
	return name, func() { _ = os.RemoveAll(name) }, err
}

func run(w io.Writer, o options) error {
	folder, remove, err := o.folder()
	if err != nil {
		return err
	}
	defer remove()
	if err := o.known(); err != nil {
		return err
	}
	b, err := newBench(folder, &o)
	if err != nil {
		return err
	}
	var jobs []job
	for i := range rows {
		r := &rows[i]
		if !o.wants(r) {
			continue
		}
		p, err := o.make(r, folder)
		if err != nil {
			return err
		}
		for j := range o.columns() {
			c := &o.columns()[j]
			if !c.in(r) || o.scenario != "" && o.scenario != c.Title {
				continue
			}
			for _, d := range b.debuggers(&o) {
				jobs = append(jobs, job{r, p, c, d})
			}
		}
	}
	if len(jobs) == 0 {
		return fmt.Errorf("no build has a scenario %q", o.scenario)
	}
	if o.arm64 != "" {
		return nil
	}
	cells, err := b.all(jobs, o.verbose)
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
func (b *bench) all(jobs []job, verbose bool) ([]cell, error) {
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
				if verbose && cells[i].Kind != program.Right {
					fmt.Fprintf(os.Stderr, "\t%s\n", strings.Join(cells[i].Reasons, "\n\t"))
				}
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
