//go:build linux && (amd64 || arm64)

package sampled

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/integration/internal/shadow"
	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
)

// process is a program that is single-stepped, as package live reads one.
type process struct {
	step  *singlestep.Process
	regs  singlestep.Registers
	calls shadow.Stack
	g     uint64 // the goroutine's runtime.g
	// stacks of the goroutine and of the thread.
	goroutine, thread unwind.Segment
	leaving           bool   // the stack pointer is that of another function already, the instruction is not
	others            frozen // the program's other threads
	switched          int    // for so many instructions Go's scheduler may still be about to go on with a goroutine
}

// start starts a program, and lets it run to the instruction at an address.
func start(cmd *exec.Cmd, at uint64) (*process, error) {
	traced, err := singlestep.Trace(cmd)
	if err != nil {
		return nil, err
	}
	p := &process{step: traced}
	if err := p.begin(at); err != nil {
		p.others.thaw()
		traced.Close()
		return nil, err
	}
	return p, nil
}

// begin runs to a Go function, in which a register has the goroutine (Go's internal ABI).
func (p *process) begin(at uint64) (err error) {
	if err := p.step.RunTo(at); err != nil {
		return err
	}
	if arch == unwind.ARM64 {
		if p.others, err = freeze(p.step.PID); err != nil {
			return err
		}
	}
	if p.regs, err = p.step.Registers(); err != nil {
		return err
	}
	p.g = p.regs[regG]
	p.goroutine = unwind.Segment{Low: p.word(p.g), High: p.word(p.g + 8), Kind: unwind.SegmentGoroutine}
	if !p.goroutine.Contains(p.regs[regSP]) {
		return fmt.Errorf("the stack pointer %#x is not on the goroutine's stack", p.regs[regSP])
	}
	p.calls = append(p.calls, p.entered())
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", p.step.PID))
	if err != nil {
		return err
	}
	defer maps.Close()
	list, err := imagemap.ParseMaps(maps)
	for _, m := range list {
		if m.Path == "[stack]" {
			p.thread = unwind.Segment{Low: m.Start, High: m.End, Kind: unwind.SegmentG0}
		}
	}
	if err == nil && len(p.others) > 0 && p.word(p.g+gStackGuard) == preempted {
		return errPreempted
	}
	return err
}

// preempted is what the field has that says how far the stack may grow, when the goroutine
// shall wait (runtime/stack.go, stackPreempt).
const preempted = ^uint64(1313)

var errPreempted = errors.New("the goroutine is to wait for threads that stand still")

// same says whether two stack pointers are on one stack.
func (p *process) same(a, b uint64) bool {
	return p.goroutine.Contains(a) == p.goroutine.Contains(b) && p.thread.Contains(a) == p.thread.Contains(b)
}

// advance executes one instruction of a kind.
func (p *process) advance(kind shadow.Kind) error {
	if kind == shadow.Exclusive {
		return p.passExclusive()
	}
	result, err := p.step.Step()
	switch {
	case err != nil:
		return err
	case result.Ended:
		return fmt.Errorf("the program ended with status %d", result.Status)
	case result.Signal:
		return nil
	}
	before, stack := p.regs[regPC], p.regs[regSP]
	if p.regs, err = p.step.Registers(); err != nil {
		return err
	}
	sp := p.regs[regSP]
	depth := len(p.calls)
	p.settle(kind)
	if next := p.regs[regPC]; next < before || next > before+longestCall {
		p.leaving = false
	} else if len(p.calls) < depth && kind != shadow.Return {
		p.leaving = true
	}
	if p.switched--; !p.same(stack, sp) {
		p.switched = switching
	}
	if p.switched > 0 && p.calls.Back(sp, p.regs[regPC]) {
		p.switched = 0
	}
	if kind == shadow.Call {
		if a := p.entered(); a.RA-before <= longestCall && !p.noCall(a.RA) {
			p.calls = append(p.calls, a)
		}
	}
	return nil
}

// finish lets the function that was just entered run until it returns.
func (p *process) finish() (err error) {
	below := len(p.calls) - 1
	top := p.calls[below]
	for p.regs[regPC] != top.RA || p.regs[regSP] != top.CFA {
		if p.regs[regPC] == top.RA { // of a call of itself
			if _, err := p.step.Step(); err != nil {
				return err
			}
		}
		if err := p.step.RunTo(top.RA); err != nil {
			return err
		}
		if p.regs, err = p.step.Registers(); err != nil {
			return err
		}
	}
	p.calls = p.calls[:below]
	return nil
}

// switching is how many instructions are between Go's change of stacks and its jump.
const switching = 8

func (p *process) word(addr uint64) uint64 {
	var b [8]byte
	p.step.Read(addr, b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// Offsets in runtime.g, of a runtime.gobuf in it, which has kept its first two fields
// since Go 1.0 and ends with the frame pointer.
const (
	gStackGuard = 16
	gSchedSP    = 56
	gSchedPC    = 64
	gSchedLR    = 88
	gSchedBP    = 96
	gSize       = 512
)

// now is the thread as it stands.
func (p *process) now() (th unwind.Thread) {
	th = unwind.Thread{Goroutine: 1, Segments: []unwind.Segment{p.goroutine, p.thread}, Saved: &unwind.Saved{G: p.g}}
	for reg := range unwind.Register(regPC + 1) {
		th.Registers.Set(reg, p.regs[reg])
	}
	th.Saved.Registers.Set(regPC, p.word(p.g+gSchedPC))
	th.Saved.Registers.Set(regSP, p.word(p.g+gSchedSP))
	th.Saved.Registers.Set(arch.FP(), p.word(p.g+gSchedBP))
	if arch.LR() != unwind.NoRegister {
		th.Saved.Registers.Set(arch.LR(), p.word(p.g+gSchedLR))
	}
	return th
}

// used returns the memory that frames are in, and the goroutine.
func (p *process) used() (out []unwind.Window) {
	const below = 512 // red zones, and frames of assembly without an activation of their own
	low := map[unwind.SegmentKind]uint64{unwind.SegmentGoroutine: p.goroutine.High, unwind.SegmentG0: p.thread.High}
	for _, sp := range append(p.sps(), p.regs[regSP]) {
		for _, s := range []unwind.Segment{p.goroutine, p.thread} {
			if s.Contains(sp) {
				low[s.Kind] = min(low[s.Kind], max(sp-below, s.Low))
			}
		}
	}
	add := func(from, to uint64) {
		b := make([]byte, to-from)
		if n := p.step.Read(from, b); n > 0 {
			out = append(out, unwind.Window{Addr: from, Data: b[:n]})
		}
	}
	add(low[unwind.SegmentGoroutine], p.goroutine.High)
	add(low[unwind.SegmentG0], p.thread.High)
	add(p.g, p.g+gSize)
	return out
}

func (p *process) sps() (out []uint64) {
	for _, a := range p.calls {
		out = append(out, a.CFA)
	}
	return out
}

// intact says whether every return address is where its call has put it, and the innermost
// function runs on its own frame.
func (p *process) intact() bool {
	if p.leaving {
		return false
	}
	return !slices.ContainsFunc(p.calls, func(a shadow.Activation) bool { return lost(p, a) })
}

// process is a [live.Source].

var errNotAsked = errors.New("only the thread that is stepped is asked about")

func (p *process) Arch() unwind.Arch     { return arch }
func (p *process) OS() string            { return "linux" }
func (p *process) Pid() int              { return p.step.PID }
func (p *process) Memory() unwind.Memory { return p }
func (p *process) KnowCode(gocode.Code)  {}
func (p *process) Notes() *live.Notes    { return nil }
func (p *process) Threads([]imagemap.Mapping) ([]reading.Thread, error) {
	return nil, errNotAsked
}
func (p *process) CurrentThread([]imagemap.Mapping) (reading.Thread, error) {
	return reading.Thread{}, errNotAsked
}
func (p *process) Goroutines([]reading.Thread) ([]reading.Thread, error) { return nil, errNotAsked }
func (p *process) Claims(reading.Thread, int) ([]unwind.Frame, error)    { return nil, errNotAsked }

// ReadMemory implements [unwind.Memory].
func (p *process) ReadMemory(addr uint64, b []byte) error {
	if n := p.step.Read(addr, b); n < len(b) {
		return fmt.Errorf("memory at %#x cannot be read", addr+uint64(n))
	}
	return nil
}
