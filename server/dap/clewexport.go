package dap

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
)

// exportArguments are the arguments of clew/export.
type exportArguments struct {
	ThreadID *int64   `json:"threadId"`
	All      exportOf `json:"all"`
	Format   string   `json:"format"`
	Depth    int      `json:"depth"` // most frames of a stack, 0: no limit
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
	case !slices.Contains(export.Formats, a.Format):
		return &export.FormatError{Format: a.Format}
	}
	return nil
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

// onClewExport answers clew/export with the files that `clew stack` would write
// of the same stop.
func (p *Proxy) onClewExport(ctx context.Context, m *dapwire.Message) {
	var want exportArguments
	if err := m.Decode("arguments", &want); err != nil {
		p.refuseOwn(m, argumentError(err))
		return
	}
	if err := want.check(); err != nil {
		p.refuseOwn(m, err)
		return
	}
	if !p.settle(ctx, m) {
		return
	}
	answer := exported{Files: []exportedFile{}}
	err := p.exportSet(ctx, m, &want, func(set *export.Set, name string) error {
		files, err := set.Files(name, want.Format)
		size := 0
		for _, f := range files {
			size += base64.StdEncoding.EncodedLen(len(f.Data))
			answer.Files = append(answer.Files, exportedFile{f.Name, f.Data})
		}
		if most := p.maxMessage(); err == nil && size > most-maxEnvelope {
			err = fmt.Errorf("the files have %d bytes as text, and a message %d at most: write them with the console command `clew export FILE`", size, most)
		}
		answer.Stacks, answer.Truncated = len(set.Stacks), truncatedOf(set.Stacks)
		return err
	})
	if err != nil {
		p.refuseOwn(m, err)
		return
	}
	p.respond(m, &answer)
}

// maxEnvelope is more than an answer has besides the data of a few files, in
// bytes.
const maxEnvelope = 64 << 10

func (p *Proxy) maxMessage() int {
	if p.opts.MaxMessage > 0 {
		return p.opts.MaxMessage
	}
	return dapwire.DefaultMaxContent
}

func truncatedOf(stacks []unwind.Stack) (n int) {
	for i := range stacks {
		if stacks[i].Stop == unwind.Truncated {
			n++
		}
	}
	return n
}

// argumentError names the argument that could not be read.
func argumentError(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("%s is no %v", wrong.Field, wrong.Type)
	}
	return err
}

// exportSet assembles the stacks that are wanted, as `clew stack` does, and has
// them used while the program stands; name is what their file is called.
func (p *Proxy) exportSet(ctx context.Context, m *dapwire.Message, want *exportArguments, use func(set *export.Set, name string) error) error {
	shown := p.progress(m)
	defer shown.end()
	return p.ownPaced(ctx, m.Seq, func(ctx context.Context, v *view, getsOn func()) error {
		threads, name, err := v.toExport(want)
		if err != nil {
			return err
		}
		seen, prepared, err := p.exportView(ctx, v, want.Format)
		if err != nil {
			return err
		}
		getsOn()
		what := want.All
		if what == "" {
			what = "stacks"
		}
		shown.begin("Export of "+string(what), string(what), len(threads))
		stacks := seen.Stacks(ctx, prepared, threads, live.StacksOptions{Depth: want.Depth, Done: func() { getsOn(); shown.add() }})
		if ctx.Err() != nil {
			return context.Cause(ctx) // the last may be truncated for that
		}
		set := export.Set{Arch: v.arch(), Stacks: stacks, Images: seen.Images(), All: want.All != ""}
		for i := range threads {
			set.Threads = append(set.Threads, threads[i].Thread)
		}
		set.Snapshot = func() (*snapshot.Snapshot, error) { return seen.Snapshot(set.Threads, stacks) }
		return use(&set, name)
	})
}

// exportView gives the look at the program that stacks are exported from. A
// snapshot takes one that keeps what is read.
func (p *Proxy) exportView(ctx context.Context, v *view, format string) (*live.View, *engine.Prepared, error) {
	if err := p.prepare(ctx, v); err != nil {
		return nil, nil, err
	}
	if format != "snapshot" {
		return v.live, v.prepared, nil
	}
	seen, err := v.process.Look(true)
	if err != nil {
		return nil, nil, err
	}
	o, err := p.open(p.config.wishes())
	if err != nil {
		return nil, nil, err
	}
	return seen, o.engine.Prepare(ctx, &seen.Input), nil
}

// toExport gives the threads that are wanted, and a name for their file.
func (v *view) toExport(want *exportArguments) (threads []delve.Thread, name string, err error) {
	switch want.All {
	case "goroutines":
		threads, err = v.live.Goroutines()
	case "threads":
		threads, err = v.live.Threads()
	default:
		th, _, _, err := v.resolve(*want.ThreadID)
		th.Claims = nil
		return []delve.Thread{th}, fileName(&th.Thread), err
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
