package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.cpu, "cpu", "max,pauth-impdef=on", "the processor to emulate, as qemu names it; pauth-impdef=on: signatures cost less time")
	flag.StringVar(&o.kernel, "kernel", usualKernel, "the kernel of this Debian package (linux-image-arm64-16k has pages of 16 KiB), or in this file")
	flag.StringVar(&o.results, "o", "", "put the results into this folder")
	flag.StringVar(&o.script, "script", "", "run this shell script, with the files and folders that follow")
	flag.StringVar(&o.builds, "build", "", "matrix, cores, steps: these builds instead of the usual ones, with commas between")
	flag.DurationVar(&o.timeout, "timeout", 8*time.Minute, "end the emulation after this time for each case, later on a slow machine")
	flag.BoolVar(&o.ci, "ci", false, "a small part of the cases, fit for CI")
	list := flag.Bool("list", false, "list the cases")
	flag.Parse()
	if *list {
		for _, c := range slices.Concat(o.cases(), longCases) {
			fmt.Printf("%-14s %s\n", c.name, c.about)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, o, flag.Args())
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "arm64:", err)
	if errors.Is(err, errUsage) {
		os.Exit(2)
	}
	os.Exit(1)
}

var errUsage = errors.New("wrong usage; see go doc ./integration/arm64")

type options struct {
	cpu, kernel, results, script, builds string
	timeout                              time.Duration
	ci                                   bool
}

func (o *options) cases() []testCase {
	if o.ci {
		return ciCases
	}
	return cases
}

// chosen returns the cases that have the names, with the builds that the user wants.
func (o *options) chosen(names []string) ([]testCase, error) {
	chosen, err := choose(o.cases(), names)
	if err != nil || o.builds == "" {
		return chosen, err
	}
	chosen = slices.Clone(chosen)
	for i := range chosen {
		if chosen[i], err = chosen[i].of(o.builds); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

func run(ctx context.Context, o options, args []string) error {
	work, err := os.MkdirTemp("", "clew-arm64-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	j, m, err := prepareAll(ctx, work, o, args)
	if err != nil {
		return err
	}
	if o.results == "" {
		o.results = filepath.Join(work, "results")
	}
	if o.ci {
		j.parts = 1 // all are small
	}
	return m.run(ctx, work, o, j)
}

// prepareAll returns the machine and what it is to do. It downloads while it builds.
func prepareAll(ctx context.Context, work string, o options, args []string) (job, *machine, error) {
	j, needs := job{files: args, script: o.script}, []string{"qemu-system-aarch64"}
	var chosen []testCase
	if o.script == "" {
		var err error
		if chosen, err = o.chosen(args); err != nil {
			return j, nil, err
		}
	}
	for _, c := range chosen {
		needs = append(needs, c.needs...)
	}
	if err := install(ctx, needs); err != nil {
		return j, nil, err
	}
	var m *machine
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts sync.WaitGroup
	parts.Go(func() {
		made, err := prepare(ctx, o.kernel)
		if m = made; err != nil {
			cancel(err)
		}
	})
	if o.script == "" {
		built, err := build(ctx, work, chosen)
		if j = built; err != nil {
			cancel(err)
		}
	}
	parts.Wait()
	return j, m, context.Cause(ctx)
}
