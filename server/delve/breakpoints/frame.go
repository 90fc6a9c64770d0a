package breakpoints

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/internal/blocks"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/values"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// standing is a thread that has stopped, as its frame needs it. It is read for who has Delve's lock.
type standing struct {
	registers unwind.Registers
	memory    unwind.Memory
	vector    func(reg uint64) ([]byte, bool) // other registers, by DWARF's numbers
}

// stand reads a thread.
func stand(t *proc.Target, th proc.Thread) (*standing, error) {
	regs, _, err := targets.Registers(th)
	if err != nil {
		return nil, err
	}
	return &standing{regs, blocks.Over(targets.Original{Target: t}), func(reg uint64) ([]byte, bool) { return targets.Vector(t, th, reg) }}, nil
}

// callers are the frames behind the innermost that are found for a condition: its CFA needs the first, and what its function was called with
// rests on what callers keep.
const callers = 3

// tables are the call-frame tables of the images, each read when its code is first stopped in.
type tables struct {
	code *codemap.Map
	of   map[int][]*cfi.Table
}

// frame returns the innermost frame of a thread that stands in native code. Its callers are found by call-frame tables alone: at the stop no
// strategy can be asked, and each hit of a breakpoint comes here. Where there are no tables, what needs the CFA is not known.
func (ts *tables) frame(code *codemap.Map, arch unwind.Arch, th *standing) (*values.Frame, error) {
	if ts.code != code {
		ts.code, ts.of = code, make(map[int][]*cfi.Table)
	}
	pc, ok := th.registers.PC(arch)
	if !ok {
		return nil, errors.New("the program counter is not known")
	}
	frames := []unwind.Frame{{PC: unwind.Code(pc, unwind.KindInstruction), Registers: th.registers, Trust: unwind.TrustContext}}
	for range callers {
		if !ts.leave(arch, &frames, th.memory) {
			break
		}
	}
	stack := unwind.Stack{Frames: frames}
	code.Name(&stack)
	return values.New(values.Source{Arch: arch, Code: code, Memory: th.memory, Vector: th.vector}, stack.Frames).Frame(0)
}

// leave adds the caller of the last frame, if tables have it.
func (ts *tables) leave(arch unwind.Arch, frames *[]unwind.Frame, memory unwind.Memory) bool {
	f := &(*frames)[len(*frames)-1]
	at := uint64(f.PC.Lookup(arch))
	found, ok := ts.rule(at)
	if !ok {
		return false
	}
	callee := rule.Frame{Registers: &f.Registers, Kind: f.PC.Kind()}
	var caller rule.Caller
	if err := apply(&found, &callee, &caller, memory); err != nil {
		return false
	}
	if !found.Signal && (callee.CheckStack(arch, &caller) != nil || caller.CheckEnd(arch) != nil || caller.CheckCode(arch) != nil) {
		return false
	}
	ra, _ := caller.Registers.PC(arch)
	f.CFA = caller.CFA
	*frames = append(*frames, unwind.Frame{PC: unwind.Code(ra, caller.Kind), Registers: caller.Registers, Trust: unwind.TrustCFI})
	return true
}

// Bounds on the memory that a rule reads.
const (
	maxWindow  = 4096
	maxWindows = 8
)

// apply applies a rule, and reads the memory that it asks for.
func apply(found *rule.Rule, f *rule.Frame, caller *rule.Caller, memory unwind.Memory) error {
	for {
		err := found.Apply(f, caller)
		missing, ok := errors.AsType[*rule.MissingMemory](err)
		if !ok {
			return err
		}
		size := missing.Range.End - missing.Range.Start
		if size > maxWindow || len(f.Memory) == maxWindows {
			return err
		}
		data := make([]byte, size)
		if failed := memory.ReadMemory(missing.Range.Start, data); failed != nil {
			return fmt.Errorf("%w: %w", err, failed)
		}
		f.Memory = append(f.Memory, unwind.Window{Addr: missing.Range.Start, Data: data})
	}
}

// rule returns the rule that counts at an address.
func (ts *tables) rule(at uint64) (out rule.Rule, ok bool) {
	images := ts.code.Images()
	i := slices.IndexFunc(images, func(img unwind.Image) bool {
		return slices.ContainsFunc(img.Executable, func(r unwind.Range) bool { return r.Contains(at) })
	})
	if i < 0 {
		return out, false
	}
	all, known := ts.of[i]
	if !known {
		all = ts.open(i, &images[i])
		ts.of[i] = all
	}
	for _, t := range all {
		f, found := t.Find(at)
		if !found {
			continue
		}
		row, err := t.Row(&f, at)
		if err != nil || row.Synchronous && at != f.Start { // it may be right at calls only
			return out, false
		}
		return row.Rule(), true
	}
	return out, false
}

func (ts *tables) open(i int, img *unwind.Image) (all []*cfi.Table) {
	section := func(name string, kind cfi.Kind) cfi.Section {
		s, _ := ts.code.Section(i, name)
		return cfi.Section{Name: name, Kind: kind, Addr: s.Addr, Data: s.Data}
	}
	opts := cfi.Options{Arch: ts.code.Arch(), Bias: img.Base, Code: unwind.NewRangeSet(img.Executable...)}
	eh, debug := section(".eh_frame", cfi.EHFrame), section(".debug_frame", cfi.DebugFrame)
	if len(eh.Data) > 0 {
		withHeader := opts
		withHeader.Header = section(".eh_frame_hdr", cfi.EHFrame)
		all = append(all, cfi.New(eh, withHeader))
	}
	if len(debug.Data) > 0 {
		all = append(all, cfi.New(debug, opts))
	}
	return all
}
