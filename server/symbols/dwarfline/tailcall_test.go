package dwarfline

import (
	"debug/elf"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestTailCalls asks for the calls that left no frame: one way is shown, of several
// none.
func TestTailCalls(t *testing.T) {
	objdump := testneed.Tool(t, "objdump")
	for _, c := range []struct{ tool, flags string }{
		{"gcc", "-gdwarf-4"}, {"gcc", "-gdwarf-5"}, {"clang-19", "-gdwarf-5"},
	} {
		t.Run(c.tool+c.flags, func(t *testing.T) {
			t.Parallel()
			prog := build(t, testneed.Tool(t, c.tool), "chain.c", "other.c", "-O2", "-fno-inline", c.flags)
			symbols := make(map[string]elf.Symbol)
			all, err := elfOf(t, prog).Symbols()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range all {
				symbols[s.Name] = s
			}
			find := func(name string) []uint64 {
				if s, ok := symbols[name]; ok {
					return []uint64{s.Value}
				}
				return nil
			}
			table := openFile(t, prog)
			asked := func(caller, callee string) (names string) {
				ret := returnAddress(t, objdump, prog, caller)
				for _, at := range table.TailCalls(ret, symbols[callee].Value, find) {
					calls, err := table.Calls(at)
					if err != nil {
						t.Fatal(err)
					}
					last := calls[len(calls)-1]
					names += last.Name + ":" + strconv.Itoa(last.Line) + " "
				}
				return names
			}
			for _, want := range []struct{ caller, callee, names string }{
				{"top", "leaf", "mid:19 "},
				{"top", "mid", ""},      // called directly
				{"unclear", "leaf", ""}, // over mid or mid2
				{"unclear", "mid2", "fork_:23 "},
				{"leaf", "mid", ""}, // cannot be
			} {
				if got := asked(want.caller, want.callee); got != want.names {
					t.Errorf("%s to %s: %q, want %q", want.caller, want.callee, got, want.names)
				}
			}
			for _, err := range table.Problems() {
				t.Error(err)
			}
		})
	}
}

// returnAddress returns the address behind the first call in a function.
func returnAddress(t *testing.T, objdump, prog, function string) uint64 {
	t.Helper()
	out, err := exec.Command(objdump, "-d", "--no-show-raw-insn", "--disassemble="+function, prog).Output()
	if err != nil {
		t.Fatal(err)
	}
	called := false
	for line := range strings.Lines(string(out)) {
		at, text, ok := strings.Cut(strings.TrimSpace(line), ":")
		if called && ok {
			n, err := strconv.ParseUint(at, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		called = ok && strings.HasPrefix(strings.TrimSpace(text), "call")
	}
	t.Fatalf("no call in %s:\n%s", function, out)
	return 0
}

// FuzzTailCalls follows call sites in whatever .debug_info and .debug_abbrev hold.
func FuzzTailCalls(f *testing.F) {
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		p, outer, other := twoUnits(f, version)
		f.Add(p[".debug_info"], p[".debug_abbrev"], p[".debug_str"], p[".debug_rnglists"], outer+1, other)
	}
	for _, of := range []byte{scopedMember, scopedTop} {
		p := scoped("top", of)
		f.Add(p[".debug_info"], p[".debug_abbrev"], []byte(nil), []byte(nil), uint64(0x1001), uint64(0x10ff))
	}
	f.Fuzz(func(t *testing.T, info, abbrev, str, rnglists []byte, ret, callee uint64) {
		p := parts{".debug_info": info, ".debug_abbrev": abbrev, ".debug_str": str, ".debug_rnglists": rnglists}
		table := New(p.source())
		entry, ok := table.Entry(callee)
		if !ok {
			entry = callee
		}
		jumps := table.TailCalls(ret, entry, func(name string) []uint64 { return []uint64{callee + uint64(len(name))} })
		if len(jumps) > maxTailCalls || len(table.Problems()) > maxProblems {
			t.Errorf("%d jumps, %d problems", len(jumps), len(table.Problems()))
		}
	})
}
