package prologue

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/arch/x86/x86asm"
)

// The truth test: programs are single-stepped from their first instruction, with a shadow stack that notes the CFA,
// the return address and the callee-saved registers when a function is entered. At every instruction executed, the
// rule for that instruction is evaluated with the live registers and stack, and compared. No other unwinder is asked.

var stepBuilds = []string{
	"gcc -O0", "gcc -O1", "gcc -O2", "gcc -O3", "gcc -Os",
	"gcc -O0 -fomit-frame-pointer", "gcc -O1 -fno-omit-frame-pointer", "gcc -O2 -fno-omit-frame-pointer", "gcc -Os -fno-omit-frame-pointer",
	"gcc -O2 -fstack-clash-protection", "gcc -O2 -fcf-protection=full -fPIE", "gcc -O2 -march=x86-64-v3", "gcc -O2 -mstackrealign",
	"gcc -O1 -maccumulate-outgoing-args", "gcc -O3 -march=x86-64-v3 -fno-omit-frame-pointer", "gcc -O2 -fno-shrink-wrap -fno-jump-tables",
	"clang -O0", "clang -O1", "clang -O2", "clang -Os", "clang -O2 -fno-omit-frame-pointer", "clang -O3 -march=x86-64-v3", "clang -O2 -fstack-clash-protection",
}

func TestStep(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no gcc: the truth test of this package cannot run")
		}
		t.Skip("NOT TESTED against live code: no gcc")
	}
	var all tally
	for _, b := range stepBuilds {
		if _, err := exec.LookPath(strings.Fields(b)[0]); err != nil {
			t.Logf("NOT BUILT (no compiler): %s", b)
			continue
		}
		t.Run(strings.ReplaceAll(b, " ", ""), func(t *testing.T) {
			got := stepBuild(t, b)
			t.Log(got)
			if got.wrong != 0 {
				t.Errorf("%d wrong rules", got.wrong)
			}
			if got.right < 1000 {
				t.Errorf("only %d instructions compared", got.right)
			}
			if got.unknown*100 > got.right+got.unknown {
				t.Errorf("more than 1 %% unknown: %d", got.unknown)
			}
			all.add(got)
		})
	}
	t.Logf("all builds: %v", &all)
}

type tally struct {
	right, unknown, wrong, outside int
	likely, pcs, pcsUnknown        int
	kinds                          [5]int
	saved                          int
}

func (t *tally) add(o *tally) {
	t.right, t.unknown, t.wrong, t.outside = t.right+o.right, t.unknown+o.unknown, t.wrong+o.wrong, t.outside+o.outside
	t.likely, t.pcs, t.pcsUnknown, t.saved = t.likely+o.likely, t.pcs+o.pcs, t.pcsUnknown+o.pcsUnknown, t.saved+o.saved
	for i := range t.kinds {
		t.kinds[i] += o.kinds[i]
	}
}

func (t *tally) String() string {
	return fmt.Sprintf("right %d unknown %d wrong %d (addresses %d, unknown %d); likely %d; outside a function's entry part %d; saved registers checked %d; prologue %d epilogue %d body %d nofp %d",
		t.right, t.unknown, t.wrong, t.pcs, t.pcsUnknown, t.likely, t.outside, t.saved, t.kinds[Prologue], t.kinds[Epilogue], t.kinds[Body], t.kinds[BodyNoFP])
}

type function struct {
	name       string
	start, end uint64
	code       []byte
}

// loadFunctions reads the function symbols of an ELF file with their code.
func loadFunctions(t testing.TB, path string) []function {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var out []function
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || int(s.Section) >= len(f.Sections) {
			continue
		}
		sec := f.Sections[s.Section]
		data, err := sec.Data()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, function{s.Name, s.Value, s.Value + s.Size, data[s.Value-sec.Addr : s.Value-sec.Addr+s.Size]})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].start < out[j].start })
	return out
}

// shadow is one activation: what was true when its function was entered.
type shadow struct {
	cfa, ra uint64
	saved   [17]uint64 // by DWARF number
}

type stepper struct {
	t     *testing.T
	pid   int
	funcs []function
	rules map[uint64]*stepRule
	stack []shadow
	got   tally
	shown int
	last  *stepRule // instruction executed last
}

type stepRule struct {
	fn     *function
	rule   Rule
	v      Verdict
	isCall bool
	isRet  bool
	entry  bool // first instruction of a function
	next   uint64
}

func stepBuild(t *testing.T, build string) *tally {
	exe := filepath.Join(t.TempDir(), "step")
	args := strings.Fields(build)
	args = append(args, "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector", "-w", "-o", exe, "testdata/step.c")
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := &stepper{t: t, funcs: loadFunctions(t, exe), rules: map[uint64]*stepRule{}}
	// A ptrace tracer is a thread, not a process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(exe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(s.pid, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatal("program does not end")
		}
		s.step()
		if err := syscall.PtraceSingleStep(s.pid); err != nil {
			t.Fatal(err)
		}
		if _, err := syscall.Wait4(s.pid, &ws, 0, nil); err != nil {
			t.Fatal(err)
		}
		if ws.Exited() {
			if ws.ExitStatus() != 42 {
				t.Fatalf("program failed: status %d", ws.ExitStatus())
			}
			return &s.finish().got
		}
		if !ws.Stopped() || ws.StopSignal() != syscall.SIGTRAP {
			t.Fatalf("program stopped: %v", ws)
		}
	}
}

func (s *stepper) finish() *stepper {
	for _, r := range s.rules {
		if r.fn == nil {
			continue
		}
		s.got.pcs++
		if r.v.Kind == Unknown {
			s.got.pcsUnknown++
		}
	}
	return s
}

func (s *stepper) word(addr uint64) uint64 {
	var b [8]byte
	if _, err := syscall.PtracePeekData(s.pid, uintptr(addr), b[:]); err != nil {
		return 0xbad0bad0bad0bad0
	}
	return binary.LittleEndian.Uint64(b[:])
}

func dwarfRegs(r *syscall.PtraceRegs) [17]uint64 {
	return [17]uint64{r.Rax, r.Rdx, r.Rcx, r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15, r.Rip}
}

func (s *stepper) lookup(pc uint64) *stepRule {
	if r := s.rules[pc]; r != nil {
		return r
	}
	r := &stepRule{}
	s.rules[pc] = r
	var text [16]byte
	if _, err := syscall.PtracePeekData(s.pid, uintptr(pc), text[:]); err != nil {
		s.t.Fatal(err)
	}
	if in, err := x86asm.Decode(text[:], 64); err == nil {
		r.isCall, r.isRet, r.next = in.Op == x86asm.CALL, in.Op == x86asm.RET, pc+uint64(in.Len)
	}
	i := sort.Search(len(s.funcs), func(i int) bool { return s.funcs[i].end > pc })
	if i < len(s.funcs) && pc >= s.funcs[i].start {
		f := &s.funcs[i]
		// A cold part is not entered by a call: the package's contract excludes it.
		if !strings.Contains(f.name, ".cold") {
			r.fn, r.entry = f, pc == f.start
			r.rule, r.v = AMD64(f.code, f.start, pc)
		}
	}
	return r
}

// step looks at the state before the next instruction.
func (s *stepper) step() {
	var pr syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(s.pid, &pr); err != nil {
		s.t.Fatal(err)
	}
	regs := dwarfRegs(&pr)
	pc := pr.Rip
	if s.last != nil {
		switch {
		case s.last.isCall && (pc != s.last.next || s.lookup(pc).entry):
			s.stack = append(s.stack, shadow{cfa: pr.Rsp + 8, ra: s.word(pr.Rsp), saved: regs})
		case s.last.isRet:
			if len(s.stack) == 0 || s.stack[len(s.stack)-1].cfa != pr.Rsp {
				s.t.Fatalf("shadow stack lost at %#x", pc)
			}
			s.stack = s.stack[:len(s.stack)-1]
		}
	}
	r := s.lookup(pc)
	s.last = r
	if len(s.stack) == 0 {
		return
	}
	if r.fn == nil {
		s.got.outside++
		return
	}
	s.compare(pc, r, &regs)
}

func (s *stepper) compare(pc uint64, r *stepRule, regs *[17]uint64) {
	truth := &s.stack[len(s.stack)-1]
	if r.v.Kind == Unknown {
		s.got.unknown++
		if s.got.unknown == 1 || r.v.Reason != "" && s.shown < 5 {
			s.shown++
			s.t.Logf("%s+%#x (%#x): %v", r.fn.name, pc-r.fn.start, pc, r.v)
		}
		return
	}
	problem := s.check(&r.rule, regs, truth)
	s.got.kinds[r.v.Kind]++
	if r.rule.Certain == Likely {
		s.got.likely++
	}
	if problem == "" {
		s.got.right++
		return
	}
	s.got.wrong++
	if s.got.wrong <= 8 {
		s.t.Errorf("%s+%#x (%#x), %v: %s\n%s", r.fn.name, pc-r.fn.start, pc, r.v, problem, r.rule.AMD64String())
	}
}

// check evaluates a rule with live registers and memory.
func (s *stepper) check(r *Rule, regs *[17]uint64, truth *shadow) string {
	cfa := regs[r.CFA.Base] + uint64(r.CFA.Off)
	if r.CFA.Deref {
		cfa = s.word(cfa) + uint64(r.CFA.Add)
	}
	if cfa != truth.cfa {
		return fmt.Sprintf("CFA %#x, truth %#x", cfa, truth.cfa)
	}
	value := func(self Reg, l Loc) uint64 {
		switch l.Kind {
		case Same:
			return regs[self]
		case InReg:
			return regs[l.Reg]
		case AtCFA:
			return s.word(cfa + uint64(l.Off))
		case AtReg:
			return s.word(regs[l.Reg] + uint64(l.Off))
		}
		return 0xdeadbeef
	}
	if ra := value(16, r.RA); ra != truth.ra {
		return fmt.Sprintf("return address %#x, truth %#x", ra, truth.ra)
	}
	if fp := value(RBP, r.FP); fp != truth.saved[RBP] {
		return fmt.Sprintf("caller's rbp %#x, truth %#x", fp, truth.saved[RBP])
	}
	var moved [17]bool
	for _, x := range r.Saved[:r.N] {
		moved[x.Reg] = true
		if x.Loc.Kind == Lost {
			return fmt.Sprintf("register %d lost", x.Reg)
		}
		if v := value(x.Reg, x.Loc); v != truth.saved[x.Reg] {
			return fmt.Sprintf("caller's register %d = %#x, truth %#x", x.Reg, v, truth.saved[x.Reg])
		}
		s.got.saved++
	}
	for _, x := range amd64Arch.saved {
		if !moved[x] && regs[x] != truth.saved[x] {
			return fmt.Sprintf("register %d said to be unchanged", x)
		}
	}
	return ""
}
