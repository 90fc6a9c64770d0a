package assembler

import (
	"cmp"
	"context"
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

const (
	// maxRun bounds the steps of one call.
	maxRun = 4096

	// Sizes of the stack windows that are sent with a walk, in bytes. They start
	// small, because most stacks are, and double while a run asks for more; a
	// request stays far below the transport's limits.
	firstWindow = 16 << 10
	lastWindow  = 256 << 10
	pageSize    = 4096
	// maxNeed bounds a strategy's single request for memory off the stack, in
	// bytes, and maxExtra the number of such requests for one step.
	maxNeed  = 64 << 10
	maxExtra = 64
)

// request makes the request to leave the last frame.
func (w *walker) request(s *Strategy, fn *place) unwind.WalkRequest {
	f := w.last()
	sp := w.position()
	req := unwind.WalkRequest{
		Arch: w.target.Arch, Registers: f.Registers, Kind: f.PC.Kind(),
		Segment: w.stacks.segment(sp), MaxFrames: maxRun, AllRegisters: w.opts.AllRegisters,
	}
	if w.opts.MaxFrames > 0 {
		req.MaxFrames = min(req.MaxFrames, w.opts.MaxFrames-w.depth())
	}
	if s.scans() || w.target.Arch == unwind.ARM64 && s.Description.Trust == unwind.TrustFramePointer {
		req.MaxFrames = 1 // of the next frame the code counts too (R12)
	}
	// Tables describe a frame that has called; a strategy that follows frame
	// pointers must know whether the code keeps one.
	called := f.PC.Kind() == unwind.KindReturn && s.Description.Trust > unwind.TrustFramePointer
	if s.Description.WantsCode && fn.known && !called {
		req.Function = &unwind.FunctionCode{Start: fn.Start, Exact: fn.Exact, Code: w.code.body(&fn.Function, f.PC.Raw())}
	}
	return req
}

// ask sends a request, and the memory that the strategy then asks for, until it
// answers or the memory cannot be read.
func (w *walker) ask(ctx context.Context, s *Strategy, req *unwind.WalkRequest) (unwind.WalkResult, error) {
	sent := newSent(w.target, req, w.position(), w.window)
	for {
		w.code.seen[0] = sent.stack
		req.Stack = append(unwind.Windows{sent.stack}, sent.extra...)
		if w.opts.Asking != nil {
			w.opts.Asking()
		}
		results, err := s.Unwinder.Walk(ctx, []unwind.WalkRequest{*req})
		switch {
		case err != nil:
			return unwind.WalkResult{}, err
		case len(results) != 1:
			return unwind.WalkResult{}, fmt.Errorf("answered %d results to one request", len(results))
		}
		r := results[0]
		if r.Stop != unwind.StopMemory {
			return r, nil
		}
		if len(r.Steps) > 0 {
			w.window = min(2*w.window, lastWindow) // a deep stack: fewer, larger requests
			return r, nil
		}
		if more, err := sent.add(r.Need); !more {
			return r, err
		}
	}
}

// sent is the memory that a strategy has.
type sent struct {
	target *Target
	high   uint64 // where the stack ends
	size   int    // that the stack window may have
	stack  unwind.Window
	extra  unwind.Windows
	last   unwind.Range // that was asked for off the stack
}

func newSent(t *Target, req *unwind.WalkRequest, sp uint64, size int) sent {
	s := sent{target: t, high: cmp.Or(req.Segment.High, ^uint64(0)), size: size}
	s.stack = unwind.Window{Addr: sp, Data: readUpTo(t.Memory, sp, s.high, size)}
	return s
}

// add adds the memory asked for. more is false if there is none to add: the
// strategy cannot go on.
func (s *sent) add(need unwind.Range) (more bool, err error) {
	if need.End <= need.Start || need.End-need.Start > maxNeed {
		return false, fmt.Errorf("asked for memory [%#x, %#x)", need.Start, need.End)
	}
	if s.grow(need) {
		return true, nil
	}
	if len(s.extra) >= maxExtra || need == s.last {
		return false, nil // asked for again: it cannot go on without
	}
	s.last = need
	// Unreadable memory is an empty window: the strategy may go on without it.
	s.extra = append(s.extra, unwind.Window{Addr: need.Start, Data: s.read(need)})
	return true, nil
}

// grow enlarges the stack window as needed, if it can.
func (s *sent) grow(need unwind.Range) bool {
	sp := s.stack.Addr
	if need.Start < sp || need.End > s.high || need.End-sp > lastWindow || s.size >= lastWindow {
		return false
	}
	for s.size < lastWindow && uint64(s.size) < need.End-sp {
		s.size *= 2
	}
	grown := readUpTo(s.target.Memory, sp, s.high, s.size)
	if len(grown) <= len(s.stack.Data) || need.End-sp > uint64(len(grown)) {
		return false
	}
	s.stack.Data = grown
	return true
}

// read reads memory up to the first gap. Of code it reads the original bytes; an
// image's file has more of them than a snapshot.
func (s *sent) read(need unwind.Range) []byte {
	n := int(need.End - need.Start)
	if s.target.Executable.Contains(need.Start) {
		return s.target.original(need.Start, n)
	}
	return readUpTo(s.target.Memory, need.Start, 0, n)
}

// complete fetches all registers of the frame that a run was cut at: runs carry
// them only for their last step. If that fails, the frame keeps the registers
// that it has.
func (w *walker) complete(ctx context.Context, s *Strategy, req *unwind.WalkRequest, steps int) {
	if req.AllRegisters {
		return
	}
	again := *req
	again.MaxFrames = steps
	result, err := w.ask(ctx, s, &again)
	if err != nil || len(result.Steps) != steps {
		return
	}
	f, caller := w.last(), &result.Steps[steps-1].Caller
	pc, _ := caller.PC(w.target.Arch)
	was, _ := f.Registers.SP(w.target.Arch)
	if sp, _ := caller.SP(w.target.Arch); pc == f.PC.Raw() && sp == was {
		f.Registers = *caller
	}
}

// readUpTo reads memory from addr to end, at most size bytes, and returns the
// bytes up to the first gap. Delve's reads are all or nothing, so a failed read
// is repeated up to the first page that cannot be read.
func readUpTo(m unwind.Memory, addr, end uint64, size int) []byte {
	if end > addr && end-addr < uint64(size) {
		size = int(end - addr)
	}
	if addr+uint64(size) < addr { // at the top of the address space
		size = int(-addr)
	}
	if size <= 0 {
		return nil
	}
	buf := make([]byte, size)
	if m.ReadMemory(addr, buf) == nil {
		return buf
	}
	n := 0
	for n < size {
		next := min(size, n+int(pageSize-(addr+uint64(n))%pageSize))
		if m.ReadMemory(addr+uint64(n), buf[n:next]) != nil {
			break
		}
		n = next
	}
	return buf[:n]
}
