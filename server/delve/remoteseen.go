package delve

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/unwind"
)

// seen is all that was read of the program since [Remote.Begin], which stacks are
// made of.
type seen struct {
	current   int // thread
	planted   map[uint64][]byte
	pages     map[uint64][]byte // as they are in memory, breakpoints included
	registers map[int]remoteRegisters
	threads   []*api.Thread
}

func (s *seen) begin(current int, planted map[uint64][]byte) {
	*s = seen{current: current, planted: planted, pages: make(map[uint64][]byte), registers: make(map[int]remoteRegisters)}
}

// Still reports whether the program is as it was read since [Remote.Begin]: the same
// thread stopped it, and all registers, memory and breakpoints that were read are
// the same. Stacks follow from these alone, so they are right even if the program
// has run in between. The error is [ErrMoved] if something differs.
func (r *Remote) Still() error {
	state, err := r.state()
	if err != nil {
		return err
	}
	if state.Pid != r.pid || state.CurrentThread.ID != r.seen.current {
		return ErrMoved
	}
	if err := r.stillThreads(); err != nil {
		return err
	}
	planted, err := r.breakpoints()
	if err != nil || !maps.EqualFunc(planted, r.seen.planted, bytes.Equal) {
		return errors.Join(ErrMoved, err)
	}
	return r.stillMemory()
}

func (r *Remote) stillThreads() error {
	for thread, before := range r.seen.registers {
		if now, err := r.readRegisters(thread); err != nil || now != before {
			return errors.Join(ErrMoved, err)
		}
	}
	if r.seen.threads == nil {
		return nil
	}
	now, err := r.listThreads()
	if err != nil || !slices.EqualFunc(now, r.seen.threads, sameThread) {
		return errors.Join(ErrMoved, err)
	}
	return nil
}

func sameThread(a, b *api.Thread) bool {
	return a.ID == b.ID && a.PC == b.PC && a.GoroutineID == b.GoroutineID
}

func (r *Remote) stillMemory() error {
	addrs := slices.Sorted(maps.Keys(r.seen.pages))
	for len(addrs) > 0 {
		n := 1 // adjacent pages, as many as one request returns
		for n < len(addrs) && n < rpc2.ExamineMemoryLengthLimit/pageSize && addrs[n] == addrs[0]+uint64(n)*pageSize {
			n++
		}
		now := make([]byte, n*pageSize)
		if err := (examined{r.client}).ReadMemory(addrs[0], now); err != nil {
			return errors.Join(ErrMoved, err)
		}
		for i, addr := range addrs[:n] {
			if !bytes.Equal(now[i*pageSize:(i+1)*pageSize], r.seen.pages[addr]) {
				return ErrMoved
			}
		}
		addrs = addrs[n:]
	}
	return nil
}

// pageSize is the size of one read: a page can be read as a whole, or not at all.
const pageSize = 4 << 10

// Memory reads the stopped program's memory as the program itself would see it.
// What is read is remembered for [Remote.Still].
func (r *Remote) Memory() unwind.Memory { return remembered{r} }

type remembered struct{ r *Remote }

// ReadMemory implements [unwind.Memory].
func (m remembered) ReadMemory(addr uint64, p []byte) error {
	for done := 0; done < len(p); {
		at := addr + uint64(done)
		page, err := m.r.page(at &^ (pageSize - 1))
		if err != nil {
			return &unwind.MemoryError{Addr: addr, Size: len(p), Err: err}
		}
		n := copy(p[done:], page[at&(pageSize-1):])
		m.r.overlay(at, p[done:done+n])
		done += n
	}
	return nil
}

func (r *Remote) page(start uint64) ([]byte, error) {
	if page, ok := r.seen.pages[start]; ok {
		return page, nil
	}
	page := make([]byte, pageSize)
	if err := (examined{r.client}).ReadMemory(start, page); err != nil {
		return nil, err
	}
	r.seen.pages[start] = page
	return page, nil
}

// overlay puts the original bytes back where breakpoints are.
func (r *Remote) overlay(start uint64, p []byte) {
	for addr, original := range r.seen.planted {
		for i, b := range original {
			if at := addr + uint64(i); at >= start && at-start < uint64(len(p)) {
				p[at-start] = b
			}
		}
	}
}

// examined reads memory from the server each time, breakpoints included.
type examined struct{ client *rpc2.RPCClient }

// ReadMemory implements [unwind.Memory].
func (m examined) ReadMemory(addr uint64, p []byte) error {
	for done := 0; done < len(p); {
		want := min(len(p)-done, rpc2.ExamineMemoryLengthLimit)
		got, _, err := m.client.ExamineMemory(addr+uint64(done), want)
		if err == nil && len(got) != want {
			err = errShort
		}
		if err != nil {
			return &unwind.MemoryError{Addr: addr, Size: len(p), Err: err}
		}
		done += copy(p[done:], got)
	}
	return nil
}

// maxBreakpoints bounds how many breakpoints are asked for, one by one.
const maxBreakpoints = 4096

// breakpoints returns the original bytes where the server has written breakpoints.
// The server lists the addresses, and disassembles the original instructions.
func (r *Remote) breakpoints() (map[uint64][]byte, error) {
	list, err := r.client.ListBreakpoints(true)
	if err != nil {
		return nil, &RemoteError{"list breakpoints", err}
	}
	if len(list) > maxBreakpoints {
		return nil, &RemoteError{What: fmt.Sprintf("%d breakpoints are too many", len(list))}
	}
	out := make(map[uint64][]byte, len(list))
	for _, bp := range list {
		if bp.WatchExpr != "" {
			continue // in a debug register
		}
		for _, addr := range bp.Addrs {
			if original, ok := r.seen.planted[addr]; ok {
				out[addr] = original
				continue
			}
			code, err := r.client.DisassembleRange(api.EvalScope{GoroutineID: -1}, addr, addr+breakpointSize, api.IntelFlavour)
			if err != nil || len(code) == 0 || len(code[0].Bytes) < breakpointSize {
				return nil, &RemoteError{fmt.Sprintf("the code under the breakpoint at %#x", addr), errors.Join(errShort, err)}
			}
			out[addr] = code[0].Bytes[:breakpointSize]
		}
	}
	return out, nil
}

// breakpointSize is the length of a breakpoint instruction on amd64.
const breakpointSize = 1
