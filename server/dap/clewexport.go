package dap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// exportArguments are the arguments of clew/export.
type exportArguments struct {
	ThreadID *int64   `json:"threadId"`
	All      exportOf `json:"all"`
	Format   string   `json:"format"`
	Depth    int      `json:"depth"` // most frames of a stack, 0: no limit

	names names.Style // in text; whole without a choice
}

// exportOf says of what all stacks are wanted: "goroutines" (true is the same),
// "threads", or "" of one only.
type exportOf string

// UnmarshalJSON reads a word or a truth value.
func (o *exportOf) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "null", "false":
		*o = ""
	case "true", `"goroutines"`:
		*o = "goroutines"
	case `"threads"`:
		*o = "threads"
	default:
		return fmt.Errorf(`all is %.40s, not true, "goroutines" or "threads"`, data)
	}
	return nil
}

func (a *exportArguments) check() error {
	switch {
	case a.ThreadID == nil && a.All == "":
		return errors.New("threadId is missing, and so is all")
	case a.ThreadID != nil && a.All != "":
		return errors.New("give threadId or all, not both")
	case a.Depth < 0:
		return fmt.Errorf("depth %d is negative", a.Depth)
	}
	_, err := export.FormatNamed(a.Format)
	return err
}

// exported is the answer to clew/export.
type exported struct {
	Files     []exportedFile `json:"files"`
	Stacks    int            `json:"stacks"`
	Truncated int            `json:"truncated"` // of the stacks
}

type exportedFile struct {
	Name string `json:"name"`
	Data []byte `json:"data"` // in base64
}

// exporter exports stacks.
type exporter struct {
	wire       *wire.Bridge
	program    *debuggee.Program
	caps       *clientCapabilities
	maxMessage int
}

// onExport answers clew/export with the files that `clew stack` would write
// of the same stop.
func (e *exporter) onExport(ctx context.Context, m *dapwire.Message) error {
	var want exportArguments
	if err := m.Decode("arguments", &want); err != nil {
		return wire.ArgumentError(err)
	}
	if err := want.check(); err != nil {
		return err
	}
	if err := e.wire.Settle(ctx, m); err != nil {
		return err
	}
	answer := exported{Files: []exportedFile{}}
	err := e.exportSet(ctx, m, &want, func(set *export.Set, name string) error {
		files, err := set.Files(name, want.Format)
		size := 0
		for _, f := range files {
			size += base64.StdEncoding.EncodedLen(len(f.Data))
			answer.Files = append(answer.Files, exportedFile{f.Name, f.Data})
		}
		if most := e.maxMessage; err == nil && size > most-maxEnvelope {
			err = fmt.Errorf("the files have %d bytes as text, and a message %d at most: write them with the console command `clew export FILE`", size, most)
		}
		answer.Stacks, answer.Truncated = countStacks(set)
		return err
	})
	if err == nil {
		e.wire.Client.Respond(m, answer)
	}
	return err
}

// maxEnvelope is more than an answer has besides the data of a few files, in
// bytes.
const maxEnvelope = 64 << 10

// countStacks counts a set's stacks, and those of them that are truncated.
func countStacks(set *export.Set) (all, truncated int) {
	for s := range set.Stacks {
		all++
		if s.Stop == unwind.Truncated {
			truncated++
		}
	}
	return all, truncated
}

// exportSet assembles the stacks that are wanted, as `clew stack` does, and has
// them used while the program stands still; name is the name of their file.
func (e *exporter) exportSet(ctx context.Context, m *dapwire.Message, want *exportArguments, use func(set *export.Set, name string) error) error {
	shown := wire.NewProgress(e.wire.Client, m.Seq, e.caps.SupportsProgressReporting)
	defer shown.End()
	return e.program.AtStop(ctx, m.Seq, func(ctx context.Context, v *debuggee.View) error {
		threads, name, err := toExport(v, want)
		if err != nil {
			return err
		}
		seen, prepared, err := e.exportView(ctx, v, want.Format)
		if err != nil {
			return err
		}
		v.Pace()
		what := want.All
		if what == "" {
			what = "stacks"
		}
		shown.Begin("Export of "+string(what), string(what), len(threads))
		stacks := seen.All(ctx, prepared, threads, stop.AllOptions{Depth: want.Depth, Done: func() { v.Pace(); shown.Add() }})
		if ctx.Err() != nil {
			return context.Cause(ctx) // the last may be truncated for that
		}
		set := export.Set{Arch: v.Arch(), Stacks: slices.Values(stacks), Images: seen.Images(), All: want.All != "" || len(stacks) != 1, Names: want.names}
		for i := range threads {
			set.Threads = append(set.Threads, threads[i].Thread)
		}
		set.Snapshot = func() (*snapshot.Snapshot, error) { return seen.Snapshot(set.Threads, stacks) }
		return use(&set, name)
	})
}

// exportView returns the view of the program that stacks are exported from. A snapshot
// needs one that keeps what was read.
func (e *exporter) exportView(ctx context.Context, v *debuggee.View, format string) (*stop.Stopped, *engine.Prepared, error) {
	if err := e.program.Prepare(ctx, v); err != nil {
		return nil, nil, err
	}
	if f, err := export.FormatNamed(format); err == nil && !f.Memory {
		return v.Stopped, v.Prepared, nil
	}
	seen, err := v.Record(ctx)
	if err != nil {
		return nil, nil, err
	}
	prepared, err := e.program.PrepareAt(ctx, seen, e.program.Config.Get().Strategies)
	return seen, prepared, err
}

// toExport returns the threads that are wanted, and a name for their file.
func toExport(v *debuggee.View, want *exportArguments) (threads []reading.Thread, name string, err error) {
	switch want.All {
	case "goroutines":
		threads, err = v.Goroutines()
	case "threads":
		threads, err = v.Threads()
	default:
		th, _, _, err := v.Resolve(*want.ThreadID)
		th.Claims = nil
		return []reading.Thread{th}, fileName(&th.Thread), err
	}
	return slices.Clone(threads), string(want.All), err
}

// fileName names a stack's file.
func fileName(th *unwind.Thread) string {
	if th.Goroutine != 0 {
		return fmt.Sprintf("goroutine-%d", th.Goroutine)
	}
	return fmt.Sprintf("thread-%d", th.ID)
}
