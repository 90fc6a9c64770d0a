package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

// diedMark points out the frame that was interrupted.
const diedMark = "=>"

// diedIn says whether one of n frames from i on is that.
func (t *table) diedIn(i, n int) bool {
	return t.died != nil && t.died.Frame != nil && *t.died.Frame >= i && *t.died.Frame < i+n
}

// crash writes what ended the program, with the stack that died.
func (t *table) crash(c *stackjson.Crash, s *unwind.Stack) {
	t.line(red, "%s", CrashLine(c))
	if c.Frame != nil && *c.Frame < len(s.Frames) {
		if f := &s.Frames[*c.Frame]; f.Function != "" || f.Image != "" {
			t.line(plain, "  in %s", t.place(f))
		}
	}
	if c.Message != "" {
		for _, line := range strings.Split(printable.Lines(c.Message), "\n") {
			t.line(bold, "  %s", line)
		}
	}
	t.died = c
	t.stack(s)
	t.died = nil
	t.registers(c.Registers)
}

// CrashLine is what ended a program, in a line: "SIGSEGV (SEGV_MAPERR): a read at 0x8: unmapped".
func CrashLine(c *stackjson.Crash) string {
	text := c.Signal
	if c.Code != "" {
		text += " (" + c.Code + ")"
	}
	if text != "" {
		text += ": "
	}
	return printable.Text(text + c.Description)
}

// perLine is how many registers stand in a line.
const perLine = 4

// registers writes those of the frame that was interrupted.
func (t *table) registers(all map[string]stackjson.Address) {
	if len(all) == 0 {
		return
	}
	t.line(dim, "  registers there:")
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.SortFunc(names, byNumber)
	for some := range slices.Chunk(names, perLine) {
		line := ""
		for _, name := range some {
			line += fmt.Sprintf("  %4s %-18v", name, all[name])
		}
		t.line(dim, "  %s", strings.TrimRight(line, " "))
	}
}

// byNumber orders x2 before x10.
func byNumber(a, b string) int {
	if len(a) != len(b) && strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
