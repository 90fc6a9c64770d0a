package codemodel_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// tally counts instructions by the model's grade.
type tally struct {
	all, exact, wrong [prologue.Proven + 1]int
	unknown           int      // in no known function, or not known to be reached
	other             int      // model and tables cannot be compared
	first             []string // wrong ones
	missed            []string // not reached
}

func (t *tally) String() string {
	n := t.unknown
	for _, k := range t.all {
		n += k
	}
	percent := func(k int) string { return fmt.Sprintf("%.3f %%", 100*float64(k)/float64(max(n, 1))) }
	out := fmt.Sprintf("%d instructions: proven and exact %s, exact behind calls that may not return %s, without a rule %s, not comparable %s",
		n, percent(t.exact[prologue.Proven]), percent(t.exact[prologue.Some]), percent(t.unknown+t.all[prologue.Unproven]), percent(t.other))
	return out + fmt.Sprintf("; wrong %v", t.wrong)
}

// compare compares the model with the CFA that the tables have at each instruction, but
// for fillers, which nothing executes, and for functions that are to be skipped.
func (m *image) compare(t testing.TB, skip func(*cfi.FDE) bool) *tally {
	t.Helper()
	model := codemodel.New(m.arch, m)
	got := &tally{}
	var d prologue.Decoder
	for fde := range m.table.All() {
		if skip != nil && skip(&fde) {
			continue
		}
		err := m.table.Rows(&fde, func(row *cfi.Row) bool {
			r := row.Rule()
			for pc := row.Start; pc < row.End; {
				code := m.Code(pc, 16)
				if !m.filler(code) {
					got.count(model, m.arch.SP(), pc, r.CFA)
				}
				pc += uint64(max(d.For(m.arch, code, pc).Len, 1))
			}
			return true
		})
		if err != nil {
			t.Error(err)
		}
	}
	return got
}

func (m *image) filler(code []byte) bool {
	if m.arch == unwind.ARM64 {
		return prologue.Padding(m.arch, code) > 0
	}
	in, err := x86asm.Decode(code, 64)
	return err == nil && in.Op == x86asm.NOP
}

func (t *tally) count(model *codemodel.Image, sp unwind.Register, pc uint64, want rule.Value) {
	var p codemodel.Place
	f := model.At(pc)
	ok := f != nil
	if ok {
		p, ok = f.At(pc)
	}
	if !ok {
		t.unknown++
		t.missed = append(t.missed, fmt.Sprintf("%#x", pc))
		return
	}
	t.all[p.Proof]++
	cfa := p.Rule.CFA
	plain := want.From == rule.Register && !want.Deref
	switch {
	case p.Proof == prologue.Unproven:
	case want == cfa, want == rule.In(sp, p.Height) && p.Height >= 0:
		t.exact[p.Proof]++
	case plain && want.Register == sp && p.Height >= 0, plain && cfa.From == rule.Register && !cfa.Deref && want.Register == cfa.Register:
		t.wrong[p.Proof]++
		t.first = append(t.first, fmt.Sprintf("%#x in %#x (%v): tables %v+%d, model %v+%d, height %d", pc, f.Start, p.Proof, want.Register, want.Offset, cfa.Register, cfa.Offset, p.Height))
	default:
		t.other++
	}
}

func (t *tally) check(tt testing.TB) {
	tt.Helper()
	tt.Log(t)
	for _, s := range t.first[:min(len(t.first), 10)] {
		tt.Error(s)
	}
}

// The compilers for arm64.
const (
	arm64GCC   = "aarch64-linux-gnu-gcc"
	arm64Clang = "clang-19 --target=aarch64-linux-gnu"
)

// TestForms compares all instructions of compiled code with the compilers' tables:
// switches by jump tables of all forms, calls that do not return, thunks. Every
// instruction is reached.
func TestForms(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	for _, build := range []string{
		"gcc -O0", "gcc -O1", "gcc -O2", "gcc -Os", "gcc -O3 -fno-omit-frame-pointer", "gcc -O2 -fno-pic -no-pie -static -nostartfiles -Wl,-u,all",
		"gcc -O2 -fcf-protection", "gcc -O2 -mfunction-return=thunk", "gcc -O2 -mfunction-return=thunk -mindirect-branch=thunk -fno-jump-tables",
		"gcc -O2 -fstack-clash-protection -fstack-protector-all", "clang-19 -O1", "clang-19 -O2", "clang-19 -Os",
		"clang-19 -O2 -fno-pic -no-pie -static -nostartfiles -Wl,-u,all", "clang-19 -O2 -mretpoline -fno-jump-tables",
		"gcc -O2 -mcmodel=large", "clang-19 -O2 -mcmodel=large", "clang-19 -O2 -mspeculative-load-hardening", "clang-14 -O2 -mspeculative-load-hardening",
		arm64GCC + " -O0", arm64GCC + " -O2", arm64GCC + " -Os", arm64GCC + " -O3 -fomit-frame-pointer", arm64GCC + " -O2 -mbranch-protection=standard",
		arm64GCC + " -O2 -fno-pic -no-pie -static -nostartfiles -Wl,-u,all", arm64GCC + " -O2 -fstack-clash-protection -fstack-protector-all",
		arm64Clang + " -O1", arm64Clang + " -O2", arm64Clang + " -Os", arm64Clang + " -O2 -fno-pic -no-pie -static -nostartfiles -Wl,-u,all",
	} {
		t.Run(strings.ReplaceAll(build, " ", ""), func(t *testing.T) {
			args := strings.Fields(build)
			testneed.Tool(t, args[0])
			out := filepath.Join(t.TempDir(), "forms.so")
			if strings.Contains(build, "-static") {
				args = append(args, "-Wl,--unresolved-symbols=ignore-all")
			} else {
				args = append(args, "-fPIC", "-shared", "-nostartfiles")
			}
			args = append(args, "-w", "-fasynchronous-unwind-tables", "-nostdlib", "-o", out, "testdata/forms.c")
			if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			m := open(t, out, false)
			// Thunks have code that is never reached, and gcc's table of one is wrong at its last instruction.
			got := m.compare(t, func(f *cfi.FDE) bool {
				return !m.isFunction(f.Start) || m.arch == unwind.AMD64 && m.Code(f.Start, 1)[0] == 0xe8
			})
			got.check(t)
			dead := 0 // what hardening puts behind calls that do not come back
			if strings.Contains(build, "hardening") {
				dead = 24
			}
			if n := got.unknown + got.all[prologue.Unproven] + got.other; n > dead || got.exact[prologue.Proven]+got.exact[prologue.Some] < 400 {
				t.Errorf("%d instructions without a rule: %v", n, got.missed)
			}
		})
	}
}

// TestLibraries compares the model with the tables of the machine's libraries. Functions
// whose table has one row though they move the stack pointer are the tables' fault:
// hand-written assembly.
func TestLibraries(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	files := []string{"libc.so.6"}
	if more := os.Getenv("CLEW_LIBRARIES"); more != "" {
		files = strings.Split(more, ",")
	}
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("/lib/x86_64-linux-gnu", name)
			if _, err := os.Stat(path); err != nil {
				testneed.LeaveOut(t, "%v", err)
			}
			m := open(t, path, true)
			got := m.compare(t, func(f *cfi.FDE) bool {
				row, err := m.table.Row(f, f.Start)
				return err == nil && row.Start == f.Start && row.End == f.End
			})
			got.check(t)
			if got.exact[prologue.Proven] < 100_000 && name == "libc.so.6" {
				t.Error("too few are proven")
			}
		})
	}
}

// BenchmarkImage makes the model of every function of the C library.
func BenchmarkImage(b *testing.B) {
	testneed.Platform(b, "linux/amd64")
	m := open(b, "/lib/x86_64-linux-gnu/libc.so.6", true)
	instructions := 0
	var d prologue.Decoder
	for _, p := range m.starts {
		for pc := p.Start; pc < p.End; instructions++ {
			pc += uint64(max(d.AMD64(m.Code(pc, 16), pc).Len, 1))
		}
	}
	for b.Loop() {
		model := codemodel.New(unwind.AMD64, m)
		for _, p := range m.starts {
			model.At(p.Start)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*instructions), "µs/instruction")
}
