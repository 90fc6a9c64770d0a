package integration

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

var plainGroups = []program.GoNames{program.AndMain("main._Cfunc_outer", "main.second", "main.first")}

// TestBreak stops at functions of C by name: in the program and in libraries,
// with DWARF and without, there from the start and loaded later. Without DWARF
// the stop is at the function's very first instruction.
func TestBreak(t *testing.T) {
	for _, v := range program.Variants {
		if v.Stripped {
			continue // has no name to stop at: see TestBreakExported
		}
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			p := build(t, v)
			launch(t, p, "plain", "break", "--break", "leaf_break", "--format", "json").check(t, v, plainGroups)
		})
	}
}

// TestBreakExported stops at a function that a stripped library exports.
func TestBreakExported(t *testing.T) {
	for _, v := range program.Variants {
		if !v.Stripped {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			p := build(t, v)
			launch(t, p, "plain", "break", "--break", "leaf_break", "--format", "json").check(t, v, plainGroups)
		})
	}
}

// TestBreakEveryInstruction stops at each instruction of a function in turn,
// prologue and epilogue included, where following the frame pointer would skip
// the caller.
func TestBreakEveryInstruction(t *testing.T) {
	for _, name := range []string{"static-O0-g-fp", "static-O2-fp", "static-O2-omit", "static-O2-omit-notables"} {
		v := variantNamed(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := build(t, v)
			addresses := instructions(t, p.Path, "leaf_break")
			if len(addresses) < 5 {
				t.Fatalf("leaf_break has %d instructions", len(addresses))
			}
			for _, a := range addresses {
				t.Run(fmt.Sprintf("+%d", a-addresses[0]), func(t *testing.T) {
					s := launch(t, p, "plain", "break", "--break", fmt.Sprintf("*%#x", a), "--format", "json")
					s.check(t, v, plainGroups)
					if f := s.stacks(t)[0].Frames[0]; uint64(f.PC) != a {
						t.Errorf("stopped at %v, not at %#x", f.PC, a)
					}
				})
			}
		})
	}
}

// instructions lists the addresses of a function's instructions.
func instructions(t testing.TB, path, name string) (addresses []uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
	if i < 0 || symbols[i].Size == 0 {
		t.Fatalf("%s has no symbol %s", path, name)
	}
	section := f.Sections[symbols[i].Section]
	data, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	start := symbols[i].Value
	code := data[start-section.Addr:][:symbols[i].Size]
	for at := 0; at < len(code); {
		addresses = append(addresses, start+uint64(at))
		size := 4 // endbr64, which the decoder does not know
		if !strings.HasPrefix(string(code[at:]), "\xf3\x0f\x1e\xfa") {
			inst, err := x86asm.Decode(code[at:], 64)
			if err != nil {
				t.Fatalf("%s at %#x: %v", name, start+uint64(at), err)
			}
			size = inst.Len
		}
		at += size
	}
	return addresses
}

// TestInt3InUnknownCode stops where code that Delve knows nothing of executes
// int3: there Delve by itself runs on.
func TestInt3InUnknownCode(t *testing.T) {
	v := variantNamed(t, "opened-O2-fp-stripped")
	p := build(t, v)
	s := launch(t, p, "plain", "int3", "--format", "json")
	s.check(t, v, plainGroups)
	f := s.stacks(t)[0].Frames[0]
	if f.Image != p.Library || f.File != "" {
		t.Errorf("stopped in %s (%s), want code of %s without a source file", f.Image, f.File, p.Library)
	}
}

// TestSegfault stops by the fatal signal that C code raises: the stack goes
// through Go's handler to the C function that failed, and on to Go.
func TestSegfault(t *testing.T) {
	for _, name := range []string{"static-O1-g-fp", "linked-O2-fp-stripped", "linked-O2-omit-stripped", "static-O2-omit-notables"} {
		v := variantNamed(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := build(t, v)
			s := launch(t, p, "plain", "segv", "--format", "json")
			stack := &s.stacks(t)[0]
			var bad program.Findings
			bad.CheckForm(stack, mappings(t, s.stem+".maps"))
			want := program.Expect(readRecord(t, s.stem, stack.Thread), plainGroups)
			interrupted := slices.IndexFunc(stack.Frames, func(f stackjson.Frame) bool { return want[0].Matches(&f) })
			if interrupted < 0 {
				bad.Add("the function that failed is missing; stop %s: %s", stack.Stop, stack.Reason)
			} else {
				rest := *stack
				rest.Frames = stack.Frames[interrupted:]
				if v.Undescribed {
					bad.CheckHonest(&rest, want)
				} else {
					bad.CheckExact(&rest, want)
				}
				for _, f := range stack.Frames[:max(0, interrupted-1)] { // the last one is libc's trampoline
					if !strings.HasPrefix(f.Function, "runtime.") {
						bad.Add("WRONG FRAME %d: %s is not a frame of Go's handler", f.Index, f.Function)
					}
				}
			}
			report(t, bad, gapOf(t))
			if t.Failed() {
				s.log(t, stack)
			}
		})
	}
}
