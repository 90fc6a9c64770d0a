package dwarfline

import (
	"bytes"
	"debug/dwarf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// gdbChain is what GDB says of an address.
type gdbChain struct {
	Line  int
	Names []string
}

func askGDB(t *testing.T, tool, prog string, addrs []uint64) (all []gdbChain) {
	t.Helper()
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%x\n", a)
	}
	file := filepath.Join(t.TempDir(), "addresses")
	if err := os.WriteFile(file, in.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, "-nx", "-batch", "-x", "testdata/chains.py", prog)
	cmd.Env = append(os.Environ(), "ADDRESSES="+file)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var one gdbChain
		if err := json.Unmarshal(line, &one); err == nil {
			all = append(all, one)
		}
	}
	if len(all) != len(addrs) {
		t.Fatalf("gdb answers %d of %d addresses", len(all), len(addrs))
	}
	return all
}

// TestEqualToGDB compares depth, names and the innermost line with GDB's. It takes another
// line on purpose where the row at the address is no statement (the last that is one),
// and where the row has no line.
func TestEqualToGDB(t *testing.T) {
	gdb := testneed.Tool(t, "gdb")
	for _, c := range []struct {
		tool string
		args []string
	}{
		{"g++", []string{"words.cc", "-O2", "-gdwarf-4"}},
		{"g++", []string{"words.cc", "-O2", "-gdwarf-5"}},
		{"clang", []string{"words.cc", "-O2", "-gdwarf-5", "-lstdc++"}},
		{"g++", []string{"scopes.cc", "-O2", "-gdwarf-5"}},
		{"gcc", []string{"chain.c", "other.c", "-O2", "-gdwarf-5"}},
	} {
		t.Run(fmt.Sprint(c.tool, c.args), func(t *testing.T) {
			t.Parallel()
			prog := build(t, testneed.Tool(t, c.tool), c.args...)
			addrs := sample(t, prog, 1000)
			table, statement := openFile(t, prog), statements(t, prog)
			none, same, notStatement, noLine, unnamed := 0, 0, 0, 0, 0
			for i, theirs := range askGDB(t, gdb, prog, addrs) {
				calls, _ := table.Calls(addrs[i])
				if len(calls) == 0 || !calls[0].Function && len(theirs.Names) == 0 {
					none++ // start code, and padding between functions
					continue
				}
				if len(calls) != len(theirs.Names) {
					t.Errorf("%#x: %+v, gdb %+v", addrs[i], calls, theirs)
					continue
				}
				for j, c := range calls {
					switch {
					case c.Linkage == "":
						unnamed++
						if !isScoped(c.Scope+c.Name, theirs.Names[j]) {
							t.Errorf("%#x: %s, gdb %s", addrs[i], c.Scope+c.Name, theirs.Names[j])
						}
					case c.Linkage != theirs.Names[j]:
						t.Errorf("%#x: %+v, gdb %+v", addrs[i], calls, theirs)
					}
				}
				switch {
				case calls[0].Line == theirs.Line:
					same++
				case calls[0].Line == 0:
					noLine++
				case !statement(addrs[i]):
					notStatement++
				default:
					t.Errorf("%#x: line %d, gdb %d", addrs[i], calls[0].Line, theirs.Line)
				}
			}
			t.Logf("%d addresses: %d innermost lines as gdb's, %d rows no statement, %d without a line; %d names without a linker's name",
				len(addrs), same, notStatement, noLine, unnamed)
			if same < (len(addrs)-none)/4 {
				t.Error("too few to compare")
			}
		})
	}
}

// isScoped says whether GDB's name is ours. It adds the parameters of functions that are
// not inlined, and leaves out functions as scopes, and what they lie in.
func isScoped(ours, theirs string) bool {
	rest, ok := strings.CutPrefix(theirs, ours)
	return ok && (rest == "" || rest[0] == '(') || strings.HasSuffix(ours, "::"+theirs)
}

// statements says whether the row at an address is a statement, by debug/dwarf.
func statements(t *testing.T, prog string) func(addr uint64) bool {
	t.Helper()
	data, err := elfOf(t, prog).DWARF()
	if err != nil {
		t.Fatal(err)
	}
	type rowRange struct {
		low, high uint64
		statement bool
	}
	var all []rowRange
	for r := data.Reader(); ; r.SkipChildren() {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			break
		}
		lines, err := data.LineReader(e)
		if err != nil || lines == nil {
			continue
		}
		var before dwarf.LineEntry
		before.EndSequence = true
		for {
			var now dwarf.LineEntry
			if err := lines.Next(&now); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if !before.EndSequence && before.Address < now.Address {
				all = append(all, rowRange{before.Address, now.Address, before.IsStmt})
			}
			before = now
		}
	}
	return func(addr uint64) bool {
		for _, r := range all {
			if r.low <= addr && addr < r.high {
				return r.statement
			}
		}
		return false
	}
}
