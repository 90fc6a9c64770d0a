package breakpoints

import (
	"bytes"
	"slices"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/native"
)

// place writes the breakpoint where it belongs now, and nowhere else. before is where it was.
func (b *breakpoint) place(t *proc.Target, before []native.Place) {
	id := b.logical.LogicalID
	have := 0
	for addr, bp := range t.Breakpoints().M {
		switch {
		case bp.LogicalID() != id:
		case !b.wants(addr) || !Planted(t, bp):
			clearUser(t, bp)
		default:
			have++
		}
	}
	if !b.logical.Enabled() || have == 0 && b.left(before) {
		return
	}
	for _, p := range b.last {
		if bp := t.Breakpoints().M[p.Addr]; bp != nil && bp.LogicalID() == id {
			continue
		}
		_, _ = t.SetBreakpoint(id, p.Addr, proc.UserBreakpoint, nil) // one that is not code, or has another breakpoint
	}
	b.describe(t)
}

// left says that Delve has taken the breakpoint away although its code is there: its hit condition can no longer hold.
func (b *breakpoint) left(before []native.Place) bool {
	return slices.ContainsFunc(before, func(p native.Place) bool { return b.wants(p.Addr) })
}

func (b *breakpoint) wants(addr uint64) bool {
	return slices.ContainsFunc(b.last, func(p native.Place) bool { return p.Addr == addr })
}

// describe says where the breakpoint is, as far as Delve does not know.
func (b *breakpoint) describe(t *proc.Target) {
	for _, p := range b.last {
		if bp := t.Breakpoints().M[p.Addr]; bp != nil && bp.LogicalID() == b.logical.LogicalID {
			bp.File, bp.Line, bp.FunctionName = p.File, p.Line, p.Function
		}
	}
	b.name()
}

// name says it of the logical breakpoint.
func (b *breakpoint) name() {
	l := b.logical
	if len(b.last) > 0 {
		p := b.last[0]
		l.File, l.Line, l.FunctionName = p.File, p.Line, p.Function
		return
	}
	l.File, l.Line, l.FunctionName = b.where.File, b.where.Line, b.where.Function
}

// Planted says that the breakpoint instruction is where it was written: a library that was closed and opened again at the same
// place does not have it.
func Planted(p proc.Process, bp *proc.Breakpoint) bool {
	want := p.BinInfo().Arch.BreakpointInstruction()
	have := make([]byte, len(want))
	n, err := p.Memory().ReadMemory(have, bp.Addr)
	return err == nil && n == len(have) && bytes.Equal(have, want)
}

// clearUser takes the user's part of a breakpoint away, and with its last part the breakpoint.
func clearUser(t *proc.Target, bp *proc.Breakpoint) {
	if err := t.ClearBreakpoint(bp.Addr); err != nil {
		delete(t.Breakpoints().M, bp.Addr) // its memory is gone
	}
	forget(t, bp)
}

// forget has no thread stand at a breakpoint that is gone.
func forget(t *proc.Target, bp *proc.Breakpoint) {
	if t.Breakpoints().M[bp.Addr] == bp {
		return
	}
	for _, th := range t.ThreadList() {
		if th.Breakpoint().Breakpoint == bp {
			th.Breakpoint().Clear()
		}
	}
}
