package native

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// objdump returns the instructions of a file's .text by address.
func objdump(t *testing.T, program string, flags ...string) map[uint64]string {
	t.Helper()
	return instructions(t, exec.Command(testneed.Tool(t, "objdump"), append(flags, "-d", "-w", "--no-show-raw-insn", "-j", ".text", program)...))
}

// instructions returns what a run of objdump writes.
func instructions(t *testing.T, objdump *exec.Cmd) map[uint64]string {
	t.Helper()
	out, err := objdump.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[uint64]string)
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		at, text, ok := strings.Cut(lines.Text(), ":\t")
		addr, err := strconv.ParseUint(strings.TrimSpace(at), 16, 64)
		if ok && err == nil {
			all[addr] = strings.TrimSpace(text)
		}
	}
	return all
}

var (
	spaces  = regexp.MustCompile(`\s+`)
	target  = regexp.MustCompile(`^((?:[a-z0-9,. ]+ )?(?:j[a-z]+|call|loop[a-z]*|xbegin)(?:,p[nt])?) (?:0x)?([0-9a-f]+)$`)
	filler  = regexp.MustCompile(`^(?:data16 |data32 |cs |%?ds |rex\.W )*(?:nop[lw]?|xchg) .*|^(?:data16 )*nop$`)
	farther = regexp.MustCompile(`rip\+0xf{7}[0-9a-f]+`)
	zero    = regexp.MustCompile(`([+,(\s]|^)0x0\(`)
)

// plain leaves out what tools write in different ways that mean the same: spaces, 0x, names, what only fills.
func plain(text string) string {
	for _, mark := range []string{"#", "//", " <"} {
		text, _, _ = strings.Cut(text, mark)
	}
	text = strings.TrimSpace(spaces.ReplaceAllString(text, " "))
	text = farther.ReplaceAllStringFunc(text, func(n string) string {
		v, _ := strconv.ParseUint(n[len("rip+0x"):], 16, 64)
		return fmt.Sprintf("rip-%#x", -v)
	})
	if filler.MatchString(text) {
		return "nop"
	}
	return zero.ReplaceAllString(target.ReplaceAllString(text, "$1 $2"), "$1(")
}

// TestDisassemble compares with objdump, over all of a program's code.
func TestDisassemble(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	own := []string{build(t, "g++", "shop.cc", "-O0"), build(t, "clang", "shop.cc", "-O2", "-mavx2")}
	for syntax, library := range map[Syntax]string{ATT: "/lib/x86_64-linux-gnu/libc.so.6", Intel: "/lib/x86_64-linux-gnu/libstdc++.so.6"} {
		for _, path := range append(own, library) {
			if _, err := os.Stat(path); err != nil {
				testneed.LeaveOut(t, "no file %s", path)
			}
			flags := []string{"-M", string(syntax)}
			c := open(t, path)
			wrong, same := make(map[string]int), 0
			example := make(map[string]string)
			for start, text := range runs(objdump(t, path, flags...)) {
				all, err := c.Disassemble(start, start+text.size, syntax)
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range all {
					want := plain(text.at[i.Addr])
					if got := plain(i.Text); got != want {
						key, _, _ := strings.Cut(want, " ")
						wrong[key]++
						example[key] = got + "   |   " + want
					} else {
						same++
					}
				}
			}
			n := 0
			for _, times := range wrong {
				n += times
			}
			t.Logf("%s, %s: %d as objdump, %d otherwise", path, syntax, same, n)
			if n*200 > same {
				t.Errorf("%s, %s: %d instructions of %d are not as objdump has them, as %v", path, syntax, n, same+n, example)
			}
		}
	}
}

// TestImportedNames: a call through a linkage table has the function's name as it is written, not as the linker has it.
func TestImportedNames(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	c := open(t, build(t, "g++", "shop.cc", "-O0", "-shared", "-fPIC"))
	found := c.Functions("shop::viaHidden")
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	all, err := c.Disassemble(found[0].Entry, found[0].Ranges[0].End, ATT)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(i Instruction) bool { return strings.HasSuffix(i.Text, " <shop::most@plt>") }) {
		t.Errorf("no call of shop::most@plt: %v", all)
	}
}

// stretch is code without a gap.
type stretch struct {
	size uint64
	at   map[uint64]string
}

func runs(all map[uint64]string) map[uint64]stretch {
	low, high := ^uint64(0), uint64(0)
	for addr := range all {
		low, high = min(low, addr), max(high, addr)
	}
	out := make(map[uint64]stretch)
	for ; low < high; low += maxCode {
		for all[low] == "" {
			low--
		}
		end := min(low+maxCode, high)
		for all[end] == "" {
			end--
		}
		out[low] = stretch{end - low, all}
		low = end - maxCode
	}
	return out
}
