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
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.cpu, "cpu", "max,pauth-impdef=on", "the processor to emulate, as qemu names it; pauth-impdef=on: signatures cost less time")
	flag.StringVar(&o.results, "o", "", "put the results into this folder")
	flag.StringVar(&o.script, "script", "", "run this shell script, with the files and folders that follow")
	flag.DurationVar(&o.timeout, "timeout", 8*time.Minute, "end the emulation after this time")
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
	cpu, results, script string
	timeout              time.Duration
	ci                   bool
}

func (o *options) cases() []testCase {
	if o.ci {
		return ciCases
	}
	return cases
}

func run(ctx context.Context, o options, args []string) error {
	work, err := os.MkdirTemp("", "clew-arm64-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	j := job{files: args, script: o.script}
	if o.script == "" {
		if j, err = build(work, o.cases(), args); err != nil {
			return err
		}
	}
	m, err := prepare(ctx)
	if err != nil {
		return err
	}
	if o.results == "" {
		o.results = filepath.Join(work, "results")
	}
	return m.run(ctx, work, o, j)
}
