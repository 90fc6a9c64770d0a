package reading

import (
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/internal/blocks"
)

// Delve reads a stack word by word from the process, two system calls a frame:
// half of the time of a walk. And it walks anew for every request: it stores the
// stack of a goroutine that a thread runs under another key than it looks up.
//
// Before a request, clew can have Delve's code walk a stack once, over memory that
// is read a page at a time, and put the result into the cache entry that Delve
// reads. Delve's answer is the same as without. The entry stays for one request
// only: frames hold registers, which a client may change at a stop. The walk for clew's own
// stack stays for longer where it is known which requests change nothing: see KeepStack.
// Tests: integration/dap TestGoStacks, TestOwnWrites.

// stackSlots are a goroutine's entries in Delve's cache of stacks.
type stackSlots struct {
	internals.Stacks
	goroutine           int64
	storeKey, lookupKey internals.Key // Delve writes the stack under one, and reads under the other
}

func slotsOf(t *proc.Target, g *proc.G) (stackSlots, error) {
	stacks, err := internals.StacksOf(t)
	if err != nil {
		return stackSlots{}, err
	}
	thread := 0
	if g.Thread != nil {
		thread = g.Thread.ThreadID()
	}
	return stackSlots{stacks, g.ID, internals.KeyOf(g.ID, 0), internals.KeyOf(g.ID, thread)}, nil
}

func (r *stackSlots) known() bool { return r.Get(r.lookupKey).Known() }

func (r *stackSlots) forget() {
	r.Set(r.storeKey, internals.Stack{})
	r.Set(r.lookupKey, internals.Stack{})
}

// frames returns Delve's frames of a goroutine, at most depth of them. With keep set
// they stay in Delve's cache, and the caller removes them.
func (s *Reader) frames(t *proc.Target, g *proc.G, depth int, keep bool) ([]proc.Stackframe, error) {
	r, err := slotsOf(t, g)
	if err != nil {
		return nil, err
	}
	if r.known() {
		s.paged.begin() // the walk may go on
		defer s.paged.end()
		return proc.GoroutineStacktrace(t, g, depth-1, 0)
	}
	memory := &paged{pid: s.program.LocalPid(t)}
	copied := internals.Over(g, func(m proc.MemoryReadWriter) proc.MemoryReadWriter {
		memory.MemoryReadWriter = m
		return memory
	})
	if copied == nil {
		return proc.GoroutineStacktrace(t, g, depth-1, 0)
	}
	memory.begin()
	defer memory.end()
	frames, err := proc.GoroutineStacktrace(t, copied, depth-1, 0)
	stored := r.Get(r.storeKey)
	// Where a walk has failed, Delve adds the failure again each time it looks.
	if keep && err == nil && len(frames) > 0 && frames[len(frames)-1].Err == nil && stored.Known() {
		s.forgetKept()
		r.Set(r.lookupKey, stored)
		s.paged = memory
	} else {
		r.forget()
	}
	return frames, err
}

// PrefetchStack walks a goroutine's stack, to depth frames, so that Delve answers
// from the result until release is called; the target must not run before. It does
// nothing where that is not possible.
func (s *Reader) PrefetchStack(goroutine int64, depth int) (release func()) {
	release = func() {}
	if depth < 1 {
		return release
	}
	defer func() { _ = recover() }() // Delve's code does not survive corrupt tables; it will say so when it is asked
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return release
	}
	defer unlock()
	t := group.Selected
	if valid, _ := t.Valid(); !valid {
		return release
	}
	defer s.program.AllowReads(t)()
	g, err := proc.FindGoroutine(t, goroutine)
	if err != nil || g == nil {
		return release
	}
	r, err := slotsOf(t, g)
	if err != nil || r.known() && s.kept == nil { // it remembers by itself
		return release
	}
	if _, err := s.frames(t, g, depth, true); err != nil { // a stack that is kept is walked on
		return release
	}
	if s.stackCache.keep(t, g); s.kept != nil {
		return release
	}
	return func() {
		if _, unlock, err := s.program.Stopped(); err == nil { // else Delve has forgotten all stacks when it resumed the program
			defer unlock()
			s.paged = nil
			r.forget()
		}
	}
}

// paged reads memory a page at a time, and keeps the pages while a stack is walked.
type paged struct {
	proc.MemoryReadWriter
	pid  int // see [targets.Memory]
	held *blocks.Blocks
}

func (p *paged) begin() {
	if p != nil {
		p.held = blocks.Over(targets.Memory{Delve: p.MemoryReadWriter, PID: p.pid})
	}
}

func (p *paged) end() {
	if p != nil {
		p.held = nil
	}
}

// ReadMemory implements [proc.MemoryReader].
func (p *paged) ReadMemory(to []byte, addr uint64) (int, error) {
	if p.held == nil {
		return p.MemoryReadWriter.ReadMemory(to, addr)
	}
	if err := p.held.ReadMemory(addr, to); err != nil {
		return 0, err
	}
	return len(to), nil
}
