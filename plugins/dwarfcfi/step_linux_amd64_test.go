package dwarfcfi

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/cfi/cfitest"
)

// The truth test: programs are single-stepped from their first instruction,
// the loader and the C library included, with a shadow stack that notes CFA,
// return address and callee-saved registers when a function is entered. At
// every instruction that has an FDE the strategy makes one step, and that is
// compared; now and then it walks the whole stack. No other unwinder is asked.

// Most builds are static: stepping through the loader takes long and is the
// same each time.
var stepBuilds = []string{
	"gcc -O0 -static", "gcc -O1", "gcc -O2 -fcf-protection=full -Wl,-z,now", "gcc -O3 -static", "gcc -Os -static",
	"gcc -O2 -fno-omit-frame-pointer -static", "gcc -O0 -mstackrealign -static", "gcc -O2 -mstackrealign -static",
	"gcc -O2 -fstack-clash-protection -static", "gcc -O1 -maccumulate-outgoing-args -static",
	"gcc -O2 -fno-asynchronous-unwind-tables -g -Wl,--no-eh-frame-hdr", "clang -O0 -static", "clang -O2", "clang -Os -fno-omit-frame-pointer -static",
}

func TestStep(t *testing.T) {
	testneed.CC(t)
	testneed.Ptrace(t)
	var all stepTally
	for _, build := range stepBuilds {
		args := strings.Fields(build)
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Logf("NOT BUILT (no such compiler): %s", build)
			continue
		}
		t.Run(strings.ReplaceAll(build, " ", ""), func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "step")
			cfitest.BuildC(t, exe, args...)
			got := stepProgram(t, exe)
			t.Log(got)
			if got.wrong != 0 {
				t.Errorf("%d wrong steps", got.wrong)
			}
			if got.right < 10_000 || got.walks < 100 {
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
	walks, frames, cut               int
	signal, plt, expressions, saved  int
}

func (s *stepTally) add(o *stepTally) {
	s.right, s.wrong, s.refused, s.uncovered = s.right+o.right, s.wrong+o.wrong, s.refused+o.refused, s.uncovered+o.uncovered
	s.walks, s.frames, s.cut = s.walks+o.walks, s.frames+o.frames, s.cut+o.cut
	s.signal, s.expressions, s.saved = s.signal+o.signal, s.expressions+o.expressions, s.saved+o.saved
}

func (s stepTally) String() string {
	return fmt.Sprintf("right %d wrong %d refused %d without FDE %d; by expressions %d, of signal frames %d, other callee-saved registers right %d; "+
		"whole stacks %d with %d frames right, %d ended early",
		s.right, s.wrong, s.refused, s.uncovered, s.expressions, s.signal, s.saved, s.walks, s.frames, s.cut)
}

// activation is what was true when a function was entered, or when a signal
// came.
type activation struct {
	cfa, ra uint64
	saved   [17]uint64 // by DWARF number
	signal  bool
}

type tracer struct {
	t      *testing.T
	pid    int
	mem    *os.File
	plugin *Plugin
	known  map[string]bool // mappings that were looked at
	maps   []unwind.Range  // executable ones
	cover  unwind.RangeSet
	nextID unwind.ImageID
	stack  []activation
	got    stepTally
	count  int
	last   kindOfInstruction
	window [4096]byte
}

type kindOfInstruction int

const (
	other kindOfInstruction = iota
	call
	ret
)

func stepProgram(t *testing.T, exe string) stepTally {
	// A ptrace tracer is a thread, not a process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(exe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	cmd.Env = []string{"PATH=/bin"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tr := tracer{t: t, pid: cmd.Process.Pid, plugin: New(), known: map[string]bool{}}
	defer func() {
		_ = syscall.Kill(tr.pid, syscall.SIGKILL) // it has ended, but for a failed test
		_ = cmd.Wait()
	}()
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(tr.pid, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	var err error
	if tr.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", tr.pid)); err != nil {
		t.Fatal(err)
	}
	defer tr.mem.Close()
	deadline := time.Now().Add(2 * time.Minute)
	for deliver := 0; ; {
		if time.Now().After(deadline) {
			t.Fatal("the program does not end")
		}
		tr.look(deliver != 0)
		if err := singleStep(tr.pid, deliver); err != nil {
			t.Fatal(err)
		}
		if _, err := syscall.Wait4(tr.pid, &ws, 0, nil); err != nil {
			t.Fatal(err)
		}
		switch deliver = 0; {
		case ws.Exited():
			if ws.ExitStatus() != 42 {
				t.Fatalf("the program failed: status %d", ws.ExitStatus())
			}
			return tr.got
		case !ws.Stopped():
			t.Fatalf("the program ended: %v", ws)
		case ws.StopSignal() != syscall.SIGTRAP:
			deliver = int(ws.StopSignal())
		}
	}
}

func singleStep(pid, signal int) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, syscall.PTRACE_SINGLESTEP, uintptr(pid), 0, uintptr(signal), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func (tr *tracer) read(addr uint64, p []byte) int {
	n, _ := tr.mem.ReadAt(p, int64(addr)) // what cannot be read is told by n
	return n
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
	var pr syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tr.pid, &pr); err != nil {
		tr.t.Fatal(err)
	}
	regs := [17]uint64{pr.Rax, pr.Rdx, pr.Rcx, pr.Rbx, pr.Rsi, pr.Rdi, pr.Rbp, pr.Rsp, pr.R8, pr.R9, pr.R10, pr.R11, pr.R12, pr.R13, pr.R14, pr.R15, pr.Rip}
	pc, sp := pr.Rip, pr.Rsp
	n := len(tr.stack)
	switch {
	case tr.last == call:
		tr.stack = append(tr.stack, activation{cfa: sp + 8, ra: tr.word(sp), saved: regs})
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
	tr.last = tr.instruction(pc)
	if len(tr.stack) > 0 {
		tr.compare(pc, &regs)
	}
}

// instruction says whether a call or a return comes next.
func (tr *tracer) instruction(pc uint64) kindOfInstruction {
	var b [16]byte
	n := tr.read(pc, b[:])
	for i := 0; i < n-1; i++ {
		switch c := b[i]; {
		case c == 0xf2 || c == 0xf3 || c == 0x3e || c == 0x2e || c == 0x66 || c&0xf0 == 0x40: // prefixes
			continue
		case c == 0xe8 || c == 0xff && b[i+1]>>3&7 == 2:
			return call
		case c == 0xc3 || c == 0xc2:
			return ret
		}
		break
	}
	return other
}

func (tr *tracer) request(regs *[17]uint64, maxFrames int) unwind.WalkResult {
	sp := regs[unwind.AMD64RSP]
	n := tr.read(sp-128, tr.window[:])
	r := unwind.WalkRequest{Arch: unwind.AMD64, Kind: unwind.KindInstruction, MaxFrames: maxFrames, AllRegisters: true,
		Stack: unwind.Windows{{Addr: sp - 128, Data: tr.window[:n]}}}
	for reg, v := range regs {
		r.Registers.Set(unwind.Register(reg), v)
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
func (tr *tracer) compare(pc uint64, regs *[17]uint64) {
	tr.images(pc)
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
	ra, _ := step.Caller.PC(unwind.AMD64)
	sp, _ := step.Caller.SP(unwind.AMD64)
	fp, ok := step.Caller.FP(unwind.AMD64)
	switch {
	case step.CFA != truth.cfa:
		return fmt.Sprintf("CFA %#x, truth %#x", step.CFA, truth.cfa)
	case sp != truth.cfa:
		return fmt.Sprintf("SP %#x, truth %#x", sp, truth.cfa)
	case ra != truth.ra:
		return fmt.Sprintf("return address %#x, truth %#x", ra, truth.ra)
	case !ok || fp != truth.saved[unwind.AMD64RBP]:
		return fmt.Sprintf("rbp %#x (%v), truth %#x", fp, ok, truth.saved[unwind.AMD64RBP])
	case (step.CallerKind == unwind.KindInstruction) != truth.signal:
		return fmt.Sprintf("the caller's PC is %v", step.CallerKind)
	}
	if truth.signal {
		tr.got.signal++
	}
	if strings.Contains(step.Rule, "expr:") {
		tr.got.expressions++
	}
	for _, reg := range []unwind.Register{3, 12, 13, 14, 15} {
		v, ok := step.Caller.Get(reg)
		if !ok || v != truth.saved[reg] {
			return fmt.Sprintf("%s %#x (%v), truth %#x", unwind.AMD64.RegisterName(reg), v, ok, truth.saved[reg])
		}
		tr.got.saved++
	}
	return ""
}

// images tells the strategy of mappings that are new when code runs outside
// the known ones.
func (tr *tracer) images(pc uint64) {
	i := sort.Search(len(tr.maps), func(i int) bool { return tr.maps[i].End > pc })
	if i < len(tr.maps) && tr.maps[i].Contains(pc) {
		return
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", tr.pid))
	if err != nil {
		tr.t.Fatal(err)
	}
	delta := unwind.ImageDelta{Arch: unwind.AMD64, OS: "linux"}
	bases := map[string]uint64{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(line)
		low, high, _ := strings.Cut(f[0], "-")
		start, err1 := strconv.ParseUint(low, 16, 64)
		end, err2 := strconv.ParseUint(high, 16, 64)
		if err1 != nil || err2 != nil {
			tr.t.Fatalf("maps: %q", line)
		}
		path := ""
		if len(f) > 5 {
			path = f[5]
		}
		if _, ok := bases[path]; !ok && (f[2] == "00000000") {
			bases[path] = start
		}
		if !strings.Contains(f[1], "x") || tr.known[f[0]] {
			continue
		}
		tr.known[f[0]] = true
		tr.maps = append(tr.maps, unwind.Range{Start: start, End: end})
		if path == "[vdso]" {
			path = filepath.Join(tr.t.TempDir(), "vdso")
			data := make([]byte, end-start)
			n := tr.read(start, data)
			if err := os.WriteFile(path, data[:n], 0o600); err != nil {
				tr.t.Fatal(err)
			}
			bases[path] = start
		}
		if !strings.HasPrefix(path, "/") {
			continue
		}
		file, err := cfitest.Load(path, 0)
		if err == nil && file.Code[0].Start < bases[path] { // else it lies where it was linked to
			file, err = cfitest.Load(path, bases[path])
		}
		if err != nil {
			tr.t.Fatal(err)
		}
		tr.nextID++
		delta.Added = append(delta.Added, file.Image(tr.nextID))
	}
	sort.Slice(tr.maps, func(i, j int) bool { return tr.maps[i].Start < tr.maps[j].Start })
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
