package prologue

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/steptest"
)

// The truth test: programs are single-stepped from their first instruction, with a shadow stack that notes the CFA,
// the return address and the callee-saved registers when a function is entered. At every instruction executed, the
// rule for that instruction is evaluated with the live registers and stack, and compared. No other unwinder is asked.

// registers by DWARF number; the PC apart.
type registers struct {
	r  [80]uint64
	pc uint64
}

// testArch is what the test itself knows of an architecture, independently of the package.
type testArch struct {
	steptest.Machine
	rule  func(code []byte, start, pc uint64) (Rule, Verdict)
	text  func(Rule) string
	fp    Reg
	saved []Reg
}

// needTool leaves the test out where a tool is missing.
func needTool(t *testing.T, tool string) { testneed.Tool(t, tool) }

func stepAll(t *testing.T, a *testArch, builds []string, run func(t *testing.T, exe string) singlestep.Program) {
	var all tally
	for _, b := range builds {
		t.Run(strings.ReplaceAll(b, " ", ""), func(t *testing.T) {
			needTool(t, strings.Fields(b)[0])
			exe := filepath.Join(t.TempDir(), "step")
			args := append(strings.Fields(b), "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector", "-w", "-o", exe, "testdata/step.c")
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			s := &stepper{t: t, a: a, funcs: loadFunctions(t, exe), rules: map[uint64]*stepRule{}}
			s.run(run(t, exe))
			got := &s.got
			t.Log(got)
			if got.wrong != 0 {
				t.Errorf("%d wrong rules", got.wrong)
			}
			if got.right < 1000 {
				t.Errorf("only %d instructions compared", got.right)
			}
			if got.unknown*1000 > got.right {
				t.Errorf("more than 0.1 %% unknown: %d", got.unknown)
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

type stepper struct {
	t *testing.T
	a *testArch
	steptest.Shadow
	funcs []function
	rules map[uint64]*stepRule
	got   tally
	shown int
}

type stepRule struct {
	fn   *function
	rule Rule
	v    Verdict
}

// run steps the program to its end, which it reports by status 42.
func (s *stepper) run(program singlestep.Program) {
	s.Shadow = steptest.Shadow{T: s.t, Machine: s.a.Machine, Program: program, Status: 42,
		Entry: func(pc uint64) bool {
			i := sort.Search(len(s.funcs), func(i int) bool { return s.funcs[i].start >= pc })
			return i < len(s.funcs) && s.funcs[i].start == pc
		},
		Visit: func(pc uint64, all *singlestep.Registers) {
			r := s.lookup(pc)
			if r.fn == nil {
				s.got.outside++
				return
			}
			s.compare(pc, r, s.a.registers(*all))
		},
	}
	s.Run()
	for _, r := range s.rules {
		if r.fn != nil {
			s.got.pcs++
			if r.v.Kind == Unknown {
				s.got.pcsUnknown++
			}
		}
	}
}

// registers are a program's, with the program counter apart.
func (a *testArch) registers(all singlestep.Registers) *registers {
	out := new(registers)
	out.pc = all[a.Arch.PC()]
	all[a.Arch.PC()] = 0
	out.r = all
	return out
}

func (s *stepper) word(addr uint64) uint64 {
	var b [8]byte
	if s.Program.Read(addr, b[:]) != 8 {
		return 0xbad0bad0bad0bad0
	}
	return binary.LittleEndian.Uint64(b[:])
}

func (s *stepper) lookup(pc uint64) *stepRule {
	if r := s.rules[pc]; r != nil {
		return r
	}
	r := &stepRule{}
	s.rules[pc] = r
	i := sort.Search(len(s.funcs), func(i int) bool { return s.funcs[i].end > pc })
	if i == len(s.funcs) || pc < s.funcs[i].start {
		return r // only _start, which has no symbol of type function and calls twice
	}
	f := &s.funcs[i]
	if !strings.Contains(f.name, ".cold") { // a cold part is not entered by a call: the contract excludes it
		r.fn = f
		r.rule, r.v = s.a.rule(f.code, f.start, pc)
	}
	return r
}

func (s *stepper) compare(pc uint64, r *stepRule, regs *registers) {
	truth := &s.Stack[len(s.Stack)-1]
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
		s.t.Errorf("%s+%#x (%#x), %v: %s\n%s", r.fn.name, pc-r.fn.start, pc, r.v, problem, s.a.text(r.rule))
	}
}

// check evaluates a rule with live registers and memory.
func (s *stepper) check(r *Rule, regs *registers, truth *steptest.Activation) string {
	cfa := regs.r[r.CFA.Base] + uint64(r.CFA.Off)
	if r.CFA.Deref {
		cfa = s.word(cfa) + uint64(r.CFA.Add)
	}
	if cfa != truth.CFA {
		return fmt.Sprintf("CFA %#x, truth %#x", cfa, truth.CFA)
	}
	value := func(self Reg, l Loc) uint64 {
		switch l.Kind {
		case Same:
			return regs.r[self]
		case InReg:
			return regs.r[l.Reg]
		case AtCFA:
			return s.word(cfa + uint64(l.Off))
		case AtReg:
			return s.word(regs.r[l.Reg] + uint64(l.Off))
		}
		return 0xdeadbeef
	}
	ra := value(0, r.RA)
	if r.Signed {
		ra &= 1<<48 - 1 // the program's addresses are below
	}
	if ra != truth.RA {
		return fmt.Sprintf("return address %#x, truth %#x", ra, truth.RA)
	}
	if fp := value(s.a.fp, r.FP); fp != truth.Saved[s.a.fp] {
		return fmt.Sprintf("caller's frame pointer %#x, truth %#x", fp, truth.Saved[s.a.fp])
	}
	var moved [80]bool
	for _, x := range r.Saved[:r.N] {
		moved[x.Reg] = true
		if x.Loc.Kind == Lost {
			return fmt.Sprintf("register %d lost", x.Reg)
		}
		if v := value(x.Reg, x.Loc); v != truth.Saved[x.Reg] {
			return fmt.Sprintf("caller's register %d = %#x, truth %#x", x.Reg, v, truth.Saved[x.Reg])
		}
		s.got.saved++
	}
	for _, x := range s.a.saved {
		if !moved[x] && regs.r[x] != truth.Saved[x] {
			return fmt.Sprintf("register %d said to be unchanged", x)
		}
	}
	return ""
}
