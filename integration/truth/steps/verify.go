package steps

import (
	"context"
	"errors"
	"fmt"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/offline"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// recorded are the functions that are entered right after the program has
// written its record, which holds them already.
var recorded = map[string]bool{"leaf_break": true, "pour": true}

// checkRecord holds the shadow stack against the return addresses that the
// program itself has recorded.
func (t *tracer) checkRecord() error {
	current, err := t.view.Current()
	if err != nil {
		return err
	}
	record, err := program.ReadRecord(t.stem, current.ID)
	if err != nil {
		return err
	}
	at := len(t.shadow.stack)
	for _, e := range record {
		for at--; at >= 0 && t.shadow.stack[at] != (activation{CFA: e.CFA, RA: e.RA}); at-- {
		}
		if at < 0 {
			return fmt.Errorf("the program recorded return address %#x at CFA %#x, which the shadow stack has not", e.RA, e.CFA)
		}
		t.tally.checked++
	}
	return nil
}

// checkWays compares the stack that was assembled here, on memory that is read
// as it is asked for, with the command's output (Delve's frames taken in) and
// with a snapshot.
func (t *tracer) checkWays(light *unwind.Stack) error {
	view, err := live.NewProcess(t.session).Read(true)
	if err != nil {
		return err
	}
	current, err := view.Current()
	if err != nil {
		return err
	}
	if note := stop.Claim(view, &current, 0); note != "" {
		return errors.New(note)
	}
	ctx := context.Background()
	full := t.engine.Prepare(ctx, &view.Input).Stack(ctx, &current.Thread, assembler.Options{})
	if err := same(light, &full); err != nil {
		return fmt.Errorf("with Delve's frames: %w", err)
	}
	taken, err := view.Snapshot([]unwind.Thread{current.Thread}, []unwind.Stack{full})
	if err != nil {
		return err
	}
	in, threads, err := (&offline.Opener{}).Open(taken, ".")
	if err != nil {
		return err
	}
	later := t.engine.Prepare(ctx, in).Stack(ctx, &threads[0], assembler.Options{})
	if err := same(light, &later); err != nil {
		return fmt.Errorf("from a snapshot: %w", err)
	}
	t.tally.ways++
	// The strategies know the images by the IDs of the stop that came last.
	t.prepared = t.engine.Prepare(ctx, &t.view.Input)
	return nil
}

// same compares the physical frames of two stacks.
func same(a, b *unwind.Stack) error {
	i := 0
	for j := range b.Frames {
		g := &b.Frames[j]
		if g.Inlined {
			continue
		}
		if i == len(a.Frames) {
			return fmt.Errorf("frame %d (%#x) is too many", i, g.PC.Raw())
		}
		f := &a.Frames[i]
		if f.PC != g.PC || f.CFA != g.CFA || f.Strategy != g.Strategy || f.Trust != g.Trust || f.Rule != g.Rule {
			return fmt.Errorf("frame %d is %#x by %s (%s, CFA %#x), and here %#x by %s (%s, CFA %#x)",
				i, g.PC.Raw(), g.Strategy, g.Trust, g.CFA, f.PC.Raw(), f.Strategy, f.Trust, f.CFA)
		}
		i++
	}
	if i != len(a.Frames) || a.Stop != b.Stop || a.Reason != b.Reason {
		return fmt.Errorf("%d frames, %s: %s; here %d, %s: %s", i, b.Stop, b.Reason, len(a.Frames), a.Stop, a.Reason)
	}
	return nil
}
