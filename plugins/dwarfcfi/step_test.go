package dwarfcfi

import (
	"context"
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/unwind/tablewalk"
)

// The truth test: programs are single-stepped from their first instruction, the
// C library and, where it is dynamic, the loader included, with a shadow stack
// that notes CFA, return address and callee-saved registers when a function is
// entered. At every instruction that has an FDE the strategy makes one step,
// and that is compared; now and then it walks the whole stack. No other unwinder
// is asked.

// target is a program that runs one instruction at a time.
type target interface {
	// step executes one instruction. A signal that is delivered next is given
	// instead: then nothing was executed.
	step() (stepResult, error)
	registers() (registerFile, error)
	read(addr uint64, p []byte) int
	// images tells of code that is mapped since the last call.
	images() (unwind.ImageDelta, []unwind.Range, error)
}

type stepResult struct {
	ended  bool
	status int
	signal bool // comes next
}

// registerFile has registers by DWARF number.
type registerFile [80]uint64

// machineCode is what the test itself knows of an architecture.
type machineCode struct {
	arch  unwind.Arch
	saved []unwind.Register
	kind  func(code []byte) kindOfInstruction
	// entered gives CFA and return address at a function's first instruction.
	entered func(tr *tracer, regs *registerFile) (cfa, ra uint64)
	redZone uint64 // below SP
	enough  int    // instructions that a program should have
}

type kindOfInstruction int

const (
	other kindOfInstruction = iota
	call
	ret
)

// stepAll steps through programs of several builds.
func stepAll(t *testing.T, code *machineCode, builds []string, start func(t *testing.T, exe string) target, options ...string) {
	var all stepTally
	for _, build := range builds {
		args := strings.Fields(build)
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Logf("NOT BUILT (no such compiler): %s", build)
			continue
		}
		t.Run(strings.ReplaceAll(build, " ", ""), func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "step")
			cfitest.BuildC(t, exe, append(args, options...)...)
			tr := tracer{t: t, machineCode: code, target: start(t, exe), plugin: New()}
			tr.run()
			got := tr.got
			t.Log(got)
			if got.wrong != 0 {
				t.Errorf("%d wrong steps", got.wrong)
			}
			if got.doubtful > 0 && (code.arch != unwind.ARM64 || args[0] != "clang") {
				t.Errorf("%d steps wrong with a note, where tables are exact", got.doubtful)
			}
			if got.right < code.enough || got.walks < code.enough/100 {
				t.Errorf("only %d instructions and %d stacks compared", got.right, got.walks)
			}
			if covered := got.right + got.wrong + got.refused; got.refused*1000 > covered {
				t.Errorf("%d of %d instructions with an FDE refused", got.refused, covered)
			}
			all.add(&got)
		})
	}
	t.Logf("all builds: %v", all)
}

type stepTally struct {
	right, wrong, refused, uncovered int
	doubtful                         int // wrong, with the trust of a scanned frame
	walks, frames, cut               int
	signal, expressions, saved       int
}

func (s *stepTally) add(o *stepTally) {
	s.right, s.wrong, s.refused, s.uncovered = s.right+o.right, s.wrong+o.wrong, s.refused+o.refused, s.uncovered+o.uncovered
	s.doubtful += o.doubtful
	s.walks, s.frames, s.cut = s.walks+o.walks, s.frames+o.frames, s.cut+o.cut
	s.signal, s.expressions, s.saved = s.signal+o.signal, s.expressions+o.expressions, s.saved+o.saved
}

func (s stepTally) String() string {
	return fmt.Sprintf("right %d wrong %d (and %d with a note that they may be) refused %d without FDE %d; by expressions %d, of signal frames %d, callee-saved registers right %d; "+
		"whole stacks %d with %d frames right, %d ended early",
		s.right, s.wrong, s.doubtful, s.refused, s.uncovered, s.expressions, s.signal, s.saved, s.walks, s.frames, s.cut)
}

// activation is what was true when a function was entered, or when a signal
// came.
type activation struct {
	cfa, ra uint64
	saved   registerFile
	signal  bool
}

type tracer struct {
	*machineCode
	target
	t      *testing.T
	plugin *tablewalk.Unwinder
	maps   unwind.RangeSet // executable mappings
	cover  unwind.RangeSet
	stack  []activation
	got    stepTally
	count  int
	last   kindOfInstruction
	window [4096]byte
}

// run steps through the program to its end.
func (tr *tracer) run() {
	tr.t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for result := (stepResult{}); ; {
		if time.Now().After(deadline) {
			tr.t.Fatal("the program does not end")
		}
		tr.look(result.signal)
		var err error
		if result, err = tr.step(); err != nil {
			tr.t.Fatal(err)
		}
		if result.ended {
			if result.status != 42 {
				tr.t.Fatalf("the program failed: status %d", result.status)
			}
			return
		}
	}
}

func (tr *tracer) word(addr uint64) uint64 {
	var b [8]byte
	if tr.read(addr, b[:]) != 8 {
		tr.t.Fatalf("no memory at %#x", addr)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// look looks at the state before the next instruction, or before a signal is
// delivered.
func (tr *tracer) look(signal bool) {
	regs, err := tr.registers()
	if err != nil {
		tr.t.Fatal(err)
	}
	pc, sp := regs[tr.arch.PC()], regs[tr.arch.SP()]
	n := len(tr.stack)
	switch {
	case tr.last == call:
		cfa, ra := tr.entered(tr, &regs)
		tr.stack = append(tr.stack, activation{cfa: cfa, ra: ra, saved: regs})
	case tr.last == ret && n > 0:
		if tr.stack[n-1].cfa != sp {
			tr.t.Fatalf("shadow stack lost at %#x: SP %#x, not %#x", pc, sp, tr.stack[n-1].cfa)
		}
		tr.stack = tr.stack[:n-1]
	case n > 0 && tr.stack[n-1].signal && pc == tr.stack[n-1].ra && sp == tr.stack[n-1].cfa:
		tr.stack = tr.stack[:n-1] // back from the handler
	}
	if signal {
		// The handler is entered as if the trampoline had called it.
		tr.stack = append(tr.stack, activation{cfa: sp, ra: pc, saved: regs, signal: true})
		tr.last = call
		return
	}
	var b [16]byte
	tr.last = tr.kind(b[:tr.read(pc, b[:])])
	if len(tr.stack) > 0 {
		tr.compare(pc, &regs)
	}
}

func (tr *tracer) request(regs *registerFile, maxFrames int) unwind.WalkResult {
	low := regs[tr.arch.SP()] - tr.redZone
	n := tr.read(low, tr.window[:])
	r := unwind.WalkRequest{Arch: tr.arch, Kind: unwind.KindInstruction, MaxFrames: maxFrames, AllRegisters: true,
		Stack: unwind.Windows{{Addr: low, Data: tr.window[:n]}}}
	for reg, v := range regs {
		if !strings.HasPrefix(tr.arch.RegisterName(unwind.Register(reg)), "reg") {
			r.Registers.Set(unwind.Register(reg), v)
		}
	}
	for {
		results, err := tr.plugin.Walk(context.Background(), []unwind.WalkRequest{r})
		if err != nil {
			tr.t.Fatal(err)
		}
		need := results[0].Need
		if results[0].Stop != unwind.StopMemory {
			return results[0]
		}
		data := make([]byte, need.End-need.Start)
		if tr.read(need.Start, data) != len(data) {
			return results[0]
		}
		r.Stack = append(r.Stack, unwind.Window{Addr: need.Start, Data: data})
	}
}

// compare makes a step and compares it with the shadow stack.
func (tr *tracer) compare(pc uint64, regs *registerFile) {
	tr.update(pc)
	if !tr.cover.Contains(pc) {
		tr.got.uncovered++
		return
	}
	tr.count++
	maxFrames := 1
	if tr.count%97 == 0 {
		maxFrames = len(tr.stack)
	}
	result := tr.request(regs, maxFrames)
	if len(result.Steps) == 0 {
		tr.got.refused++
		tr.show(tr.got.refused, "%#x: %v %q need %#x", pc, result.Stop, result.Reason, result.Need)
		return
	}
	top := len(tr.stack) - 1
	if maxFrames > 1 {
		tr.got.walks++
		if len(result.Steps) < maxFrames {
			tr.got.cut++
			tr.show(tr.got.cut, "%#x: %d of %d frames: %v %q need %#x", pc, len(result.Steps), maxFrames, result.Stop, result.Reason, result.Need)
		}
	}
	for i := range result.Steps {
		problem := tr.check(&result.Steps[i], &tr.stack[top-i])
		switch {
		case problem != "" && i == 0 && result.Steps[i].Trust == unwind.TrustScan && result.Steps[i].Note != "":
			tr.got.doubtful++
			return
		case problem != "":
			tr.got.wrong++
			tr.show(tr.got.wrong, "wrong at %#x, step %d of %d: %s; %s", pc, i, len(result.Steps), problem, result.Steps[i].Rule)
			tr.t.Fail()
			return
		case i > 0:
			tr.got.frames++
		default:
			tr.got.right++
		}
	}
}

func (tr *tracer) show(n int, format string, args ...any) {
	if n <= 5 {
		tr.t.Logf(format, args...)
	}
}

func (tr *tracer) check(step *unwind.Step, truth *activation) string {
	ra, _ := step.Caller.PC(tr.arch)
	sp, _ := step.Caller.SP(tr.arch)
	switch {
	case step.CFA != truth.cfa:
		return fmt.Sprintf("CFA %#x, truth %#x", step.CFA, truth.cfa)
	case sp != truth.cfa:
		return fmt.Sprintf("SP %#x, truth %#x", sp, truth.cfa)
	case ra != truth.ra:
		return fmt.Sprintf("return address %#x, truth %#x", ra, truth.ra)
	case (step.CallerKind == unwind.KindInstruction) != truth.signal:
		return fmt.Sprintf("the caller's PC is %v", step.CallerKind)
	}
	if truth.signal {
		tr.got.signal++
	}
	if strings.Contains(step.Rule, "expr:") {
		tr.got.expressions++
	}
	for _, reg := range tr.saved {
		v, ok := step.Caller.Get(reg)
		if !ok || v != truth.saved[reg] {
			return fmt.Sprintf("%s %#x (%v), truth %#x", tr.arch.RegisterName(reg), v, ok, truth.saved[reg])
		}
		tr.got.saved++
	}
	return ""
}

// update tells the strategy of images that are new when code runs outside the
// known mappings.
func (tr *tracer) update(pc uint64) {
	if tr.maps.Contains(pc) {
		return
	}
	delta, maps, err := tr.images()
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.maps = unwind.NewRangeSet(maps...)
	reports, err := tr.plugin.Update(context.Background(), delta)
	if err != nil {
		tr.t.Fatal(err)
	}
	for _, r := range reports {
		tr.cover = tr.cover.Union(r.Coverage)
		if r.Problem != "" {
			tr.t.Errorf("image %d: %s", r.ID, r.Problem)
		}
	}
}
