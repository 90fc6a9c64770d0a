//go:build linux && (amd64 || arm64)

package sampled

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/offline"
	"github.com/clewdbg/clew/unwind"
)

// stop is a sample that stacks can be made of again and again.
type stop struct {
	prepared *engine.Prepared
	thread   unwind.Thread
}

// unmodelled hides that a map has models of its images' code.
type unmodelled struct{ assembler.CodeMap }

// Model implements [assembler.CodeMap].
func (unmodelled) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }

// costs measures stacks with the model's check and without it, in turns.
func costs(files []string, rounds int) error {
	fmt.Println("| workload | stacks | without the model, each | with it | against | first time, each |")
	fmt.Println("|-|-|-|-|-|-|")
	var all [2]time.Duration
	stacks := 0
	for _, file := range files {
		plain, err := stops(file, false)
		if err != nil {
			return err
		}
		modelled, err := stops(file, true)
		if err != nil {
			return err
		}
		assemble(plain) // tables are read
		first := assemble(modelled)
		var took [2][]time.Duration
		for range rounds {
			took[0] = append(took[0], assemble(plain))
			took[1] = append(took[1], assemble(modelled))
		}
		slices.Sort(took[0])
		slices.Sort(took[1])
		row(strings.TrimSuffix(filepath.Base(file), ".jsonl"), len(plain), took[0][rounds/2], took[1][rounds/2], (first / time.Duration(len(plain))).String())
		all[0], all[1], stacks = all[0]+took[0][rounds/2], all[1]+took[1][rounds/2], stacks+len(plain)
	}
	row("all", stacks, all[0], all[1], "")
	return nil
}

func row(name string, n int, without, with time.Duration, first string) {
	fmt.Printf("| %s | %d | %v | %v | %.3f x | %s |\n", name, n, without/time.Duration(max(n, 1)), with/time.Duration(max(n, 1)), float64(with)/float64(max(without, 1)), first)
}

// stops prepares the samples in a file.
func stops(file string, modelled bool) (out []stop, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opener, e := &offline.Opener{}, engine.New(inprocess.Strategies())
	for taken, err := range snapshot.NewReader(f, snapshot.Options{}).All() {
		if err != nil {
			return nil, err
		}
		in, threads, err := opener.Open(taken, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		in.Names = nil
		if !modelled {
			in.Target.Code = unmodelled{in.Target.Code}
		}
		out = append(out, stop{e.Prepare(context.Background(), in), threads[0]})
	}
	if len(out) == 0 {
		err = fmt.Errorf("%s: no samples", file)
	}
	return out, err
}

// assemble makes all stacks, and returns the processor time that it took.
func assemble(all []stop) time.Duration {
	began := processorTime()
	for i := range all {
		all[i].prepared.Stack(context.Background(), &all[i].thread, assembler.Options{})
	}
	return processorTime() - began
}

func processorTime() time.Duration {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
