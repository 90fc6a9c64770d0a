package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
)

// seen is all that was read of the program since [Program.Begin], which stacks are
// made of.
type seen struct {
	current   int // thread
	planted   map[uint64][]byte
	pages     map[uint64][]byte // as they are in memory, breakpoints included
	registers map[int]registers
	threads   []*api.Thread
	machines  map[uint64]uint64 // threads' g0, on arm64; nil until it was asked for
}

// Still reports whether the program is as it was read since [Program.Begin]: the same
// thread stopped it, and all registers, memory and breakpoints that were read are
// the same. Stacks follow from these alone, so they are right even if the program
// has run in between. The error is [live.ErrMoved] if something differs.
//
// Where the client says when its requests begin ([Program.NewRequest]), one check is enough until
// then, or until more is read.
func (p *Program) Still() error {
	if p.checked.Load() {
		return nil
	}
	p.checked.Store(p.requests.Load())
	err := p.still()
	if err != nil {
		p.checked.Store(false)
	}
	return err
}

// NewRequest says that what is read from now on is for another request.
func (p *Program) NewRequest() {
	p.requests.Store(true)
	p.checked.Store(false)
}

func (p *Program) still() error {
	state, err := p.state()
	if err != nil {
		return err
	}
	if state.Pid != p.pid || state.CurrentThread.ID != p.seen.current {
		return live.ErrMoved
	}
	if err := p.stillThreads(); err != nil {
		return err
	}
	planted, err := p.breakpoints()
	if err != nil || !maps.EqualFunc(planted, p.seen.planted, bytes.Equal) {
		return errors.Join(live.ErrMoved, err)
	}
	return p.stillMemory()
}

func (p *Program) stillThreads() error {
	for thread, before := range p.seen.registers {
		if now, err := p.readRegisters(thread); err != nil || now != before {
			return errors.Join(live.ErrMoved, err)
		}
	}
	if p.seen.threads == nil {
		return nil
	}
	now, err := p.listThreads()
	if err != nil || !slices.EqualFunc(now, p.seen.threads, sameThread) {
		return errors.Join(live.ErrMoved, err)
	}
	return nil
}

func sameThread(a, b *api.Thread) bool {
	return a.ID == b.ID && a.PC == b.PC && a.GoroutineID == b.GoroutineID
}

func (p *Program) stillMemory() error {
	addrs := slices.Sorted(maps.Keys(p.seen.pages))
	for len(addrs) > 0 {
		n := 1 // adjacent pages, as many as one request returns
		for n < len(addrs) && n < rpc2.ExamineMemoryLengthLimit/pageSize && addrs[n] == addrs[0]+uint64(n)*pageSize {
			n++
		}
		now := make([]byte, n*pageSize)
		if err := (examined{p.client}).ReadMemory(addrs[0], now); err != nil {
			return errors.Join(live.ErrMoved, err)
		}
		for i, addr := range addrs[:n] {
			if !bytes.Equal(now[i*pageSize:(i+1)*pageSize], p.seen.pages[addr]) {
				return live.ErrMoved
			}
		}
		addrs = addrs[n:]
	}
	return nil
}

// pageSize is the size of one read: a page can be read as a whole, or not at all.
const pageSize = 4 << 10

// Memory reads the stopped program's memory as the program itself would see it.
// What is read is remembered for [Program.Still].
func (p *Program) Memory() unwind.Memory { return remembered{p} }

type remembered struct{ program *Program }

// ReadMemory implements [unwind.Memory].
func (m remembered) ReadMemory(addr uint64, p []byte) error {
	for done := 0; done < len(p); {
		at := addr + uint64(done)
		page, err := m.program.page(at &^ (pageSize - 1))
		if err != nil {
			return &unwind.MemoryError{Addr: addr, Size: len(p), Err: err}
		}
		n := copy(p[done:], page[at&(pageSize-1):])
		m.program.overlay(at, p[done:done+n])
		done += n
	}
	return nil
}

func (p *Program) page(start uint64) ([]byte, error) {
	if page, ok := p.seen.pages[start]; ok {
		return page, nil
	}
	page := make([]byte, pageSize)
	p.checked.Store(false)
	if err := (examined{p.client}).ReadMemory(start, page); err != nil {
		return nil, err
	}
	p.seen.pages[start] = page
	return page, nil
}

// overlay puts the original bytes back where breakpoints are.
func (p *Program) overlay(start uint64, to []byte) {
	for addr, original := range p.seen.planted {
		for i, b := range original {
			if at := addr + uint64(i); at >= start && at-start < uint64(len(to)) {
				to[at-start] = b
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
			err = io.ErrUnexpectedEOF
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
func (p *Program) breakpoints() (map[uint64][]byte, error) {
	list, err := p.client.ListBreakpoints(true)
	if err != nil {
		return nil, fmt.Errorf("list breakpoints: %w", err)
	}
	if len(list) > maxBreakpoints {
		return nil, fmt.Errorf("%d breakpoints are too many", len(list))
	}
	out := make(map[uint64][]byte, len(list))
	for _, bp := range present(list) {
		if bp.WatchExpr != "" {
			continue // in a debug register
		}
		for _, addr := range bp.Addrs {
			if original, ok := p.seen.planted[addr]; ok {
				out[addr] = original
				continue
			}
			size := breakpointSize(p.arch)
			code, err := p.client.DisassembleRange(api.EvalScope{GoroutineID: -1}, addr, addr+uint64(size), api.IntelFlavour)
			if err != nil || len(code) == 0 || len(code[0].Bytes) < size {
				return nil, fmt.Errorf("the code under the breakpoint at %#x: %w", addr, errors.Join(io.ErrUnexpectedEOF, err))
			}
			out[addr] = code[0].Bytes[:size]
		}
	}
	return out, nil
}

// breakpointSize is the length of a breakpoint instruction. (Delve's disassembler for arm64 takes
// whole instructions only.)
func breakpointSize(arch unwind.Arch) int {
	if arch == unwind.ARM64 {
		return 4
	}
	return 1
}
