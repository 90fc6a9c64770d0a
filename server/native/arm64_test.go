package native

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// decodedRow matches a row of a line table as objdump shows it.
var decodedRow = regexp.MustCompile(`(?m)^leaf\.c +(\d+) +(0x[0-9a-f]+)`)

// TestARM64 compares the ends of prologues with the second rows that objdump shows, and instructions with objdump's, in code for arm64.
func TestARM64(t *testing.T) {
	source, err := filepath.Abs("testdata/leaf.c")
	if err != nil {
		t.Fatal(err)
	}
	objdump := testneed.Tool(t, "aarch64-linux-gnu-objdump")
	for _, level := range []string{"-O0", "-O2"} {
		program := filepath.Join(t.TempDir(), "program")
		run(t, "aarch64-linux-gnu-gcc", "-g", level, "-nostdlib", "-static", "-o", program, source)
		c := open(t, program)
		lines, err := exec.Command(objdump, "--dwarf=decodedline", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		var rows []uint64
		for _, m := range decodedRow.FindAllStringSubmatch(string(lines), -1) {
			addr, err := strconv.ParseUint(m[2], 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, addr)
		}
		for _, name := range []string{"one", "leaf", "frame", "loop", "vec"} {
			for _, f := range c.Functions(name) {
				if i := slices.Index(rows, f.Entry); level == "-O0" && (i < 0 || f.Body != rows[i+1]) {
					t.Errorf("%s: %+v, rows %s", name, f, hex(rows))
				}
			}
		}
		want := instructions(t, exec.Command(objdump, "-d", "-w", "-M", "no-aliases", "--no-show-raw-insn", "-j", ".text", program))
		plainer := instructions(t, exec.Command(objdump, "-d", "-w", "--no-show-raw-insn", "-j", ".text", program))
		for start, code := range runs(want) {
			all, err := c.Disassemble(start, start+code.size, "")
			if err != nil || len(all) == 0 {
				t.Fatalf("%d instructions, %v", len(all), err)
			}
			for _, i := range all {
				if got := sameARM64(i.Text); got != sameARM64(want[i.Addr]) && got != sameARM64(plainer[i.Addr]) {
					t.Errorf("%s, %#x: %s, objdump: %s", level, i.Addr, i.Text, plainer[i.Addr])
				}
				if i.Text != "nop" && i.Function == "" || i.Line == 0 {
					t.Errorf("%s, %#x: %+v", level, i.Addr, i)
				}
			}
		}
	}
}

// hexOrNot matches numbers of both forms.
var hexOrNot = regexp.MustCompile(`\b0x`)

// sameARM64 leaves out what the tools write in different ways.
func sameARM64(text string) string {
	for _, mark := range []string{"//", " <"} {
		text, _, _ = strings.Cut(text, mark)
	}
	return hexOrNot.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
}
