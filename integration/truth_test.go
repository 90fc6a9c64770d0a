package integration

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/unwind/stackjson"
)

// entry is a line of a record: see native.c for the kinds.
type entry struct {
	kind               byte
	fn, ra, cfa, extra uint64
}

func readRecord(t testing.TB, stem string, thread uint64) []entry {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("%s.%d", stem, thread))
	if err != nil {
		t.Fatalf("the program's record: %v", err)
	}
	var entries []entry
	for line := range strings.Lines(string(data)) {
		var e entry
		if _, err := fmt.Sscanf(line, "%c 0x%x 0x%x 0x%x 0x%x", &e.kind, &e.fn, &e.ra, &e.cfa, &e.extra); err != nil {
			// glibc prints 0 without the prefix.
			if _, err = fmt.Sscanf(line, "%c 0x%x 0x%x 0x%x %d", &e.kind, &e.fn, &e.ra, &e.cfa, &e.extra); err != nil {
				t.Fatalf("record line %q: %v", line, err)
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// expected is one frame that must come, or may.
type expected struct {
	what     string
	pc       uint64 // exact, or
	fn       uint64 // within the code of the function that begins here, or
	name     string // by name (as path.Match has it)
	callee   *entry // whose return address this is
	kind     string // "" for ra
	optional bool
}

// reach is more than any function of native.c takes.
const reach = 1024

func (e *expected) matches(f *stackjson.Frame) bool {
	pc := uint64(f.PC)
	switch {
	case e.pc != 0:
		return pc == e.pc
	case e.fn != 0:
		return pc >= e.fn && pc < e.fn+reach
	}
	ok, _ := path.Match(e.name, f.Function)
	return ok
}

// Names between C and Go, in the order of a stack.
var (
	goToC = []string{"runtime.asmcgocall", "runtime.cgocall"}
	cToGo = []string{"_cgoexp_*_pour", "runtime.cgocallbackg1", "runtime.cgocallbackg", "runtime.cgocallbackg?", "runtime.cgocallback", "crosscall2"}
)

// goNames are the Go functions at one place of a stack, innermost first. A
// trailing ? marks what may be missing.
type goNames []string

// expect puts record and Go's functions together: groups are the Go functions of
// each stretch of Go code, innermost first. The first frame's is the instruction
// that the program stopped at.
func expect(record []entry, groups []goNames) (want []expected) {
	names := func(list []string) {
		for _, n := range list {
			name, optional := strings.CutSuffix(n, "?")
			want = append(want, expected{what: name, name: name, optional: optional})
		}
	}
	group := func() {
		if len(groups) > 0 {
			names(groups[0])
			groups = groups[1:]
		}
	}
	for i := range record {
		e := &record[i]
		switch {
		case e.kind == 'B':
			if i == 0 {
				group() // stopped in Go
			}
			names(cToGo)
			want = append(want, expected{what: "cgo's stub for pour", fn: e.fn})
		case i == 0:
			want = append(want, expected{what: "the innermost function", fn: e.fn, kind: "pc"})
		}
		want = append(want, expected{what: fmt.Sprintf("return address of the function at %#x", e.fn), pc: e.ra, callee: e})
		switch e.kind {
		case 'E':
			names(goToC)
			group()
		case 'S':
			want = append(want, expected{what: "what the signal interrupted", pc: e.extra, kind: "pc"})
		}
	}
	return want
}

// physical leaves the inlined frames out: they have no place on the stack.
func physical(s *stackjson.Stack) (out []stackjson.Frame) {
	for _, f := range s.Frames {
		if !f.Inlined {
			out = append(out, f)
		}
	}
	return out
}

// mappings reads /proc/PID/maps, or the program's copy of it.
func mappings(t testing.TB, name string) []imagemap.Mapping {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := imagemap.ParseMaps(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return maps
}

// findings collects what is wrong with a stack.
type findings []string

func (f *findings) add(format string, a ...any) { *f = append(*f, fmt.Sprintf(format, a...)) }

// checkForm holds a stack to what every stack must be: frames numbered, the
// first a PC, every lookup address in an executable mapping.
func (bad *findings) checkForm(s *stackjson.Stack, maps []imagemap.Mapping) {
	for i, f := range s.Frames {
		if f.Index != i {
			bad.add("frame %d has index %d", i, f.Index)
		}
		at := uint64(f.PC)
		if f.Kind == stackjson.KindRA {
			at--
		}
		if !slices.ContainsFunc(maps, func(m imagemap.Mapping) bool { return at >= m.Start && at < m.End && m.Executable() }) {
			bad.add("WRONG FRAME %d: %v (%s) lies in no executable mapping", i, f.PC, f.Kind)
		}
	}
}

// checkExact demands that a stack is exactly what is expected and ends cleanly.
func (bad *findings) checkExact(s *stackjson.Stack, want []expected) {
	rest := bad.compare(s, want)
	if len(rest) > 0 {
		bad.add("%d frames are missing, from %s on", len(rest), rest[0].what)
	}
	if s.Stop != stackjson.StopEnd {
		bad.add("the stack is not complete: %s: %s", s.Stop, s.Reason)
	}
}

// checkHonest demands that no frame is wrong, and that a stack which says that
// it is complete is so.
func (bad *findings) checkHonest(s *stackjson.Stack, want []expected) {
	rest := bad.compare(s, want)
	for len(rest) > 0 && rest[0].optional {
		rest = rest[1:]
	}
	if len(rest) > 0 && s.Stop != stackjson.StopTruncated {
		bad.add("the stack claims to be complete (%s) without %d frames, from %s on", s.Reason, len(rest), rest[0].what)
	}
}

// compare reports every frame that is not the next expected one, and returns
// what did not come. Frames that were scanned for may be wrong, and say so.
// Behind a thread of C's may be one frame more: the last return address on
// record lies in libc's code that starts threads, whose caller is clone.
func (bad *findings) compare(s *stackjson.Stack, want []expected) []expected {
	frames := physical(s)
	thread := len(want) > 0 && want[len(want)-1].callee != nil && want[len(want)-1].callee.kind == 'T'
	for i := range frames {
		f := &frames[i]
		for len(want) > 0 && want[0].optional && !want[0].matches(f) {
			want = want[1:]
		}
		switch {
		case len(want) > 0 && want[0].matches(f):
			bad.checkFrame(f, &want[0])
			if c := want[0].callee; c != nil && i > 0 && frames[i-1].Trust != stackjson.TrustScan && uint64(frames[i-1].CFA) != c.cfa {
				bad.add("WRONG FRAME %d has CFA %v, the program recorded %#x", frames[i-1].Index, frames[i-1].CFA, c.cfa)
			}
			want = want[1:]
		case f.Trust == stackjson.TrustScan:
			for j := range want { // a scan may miss callers
				if want[j].matches(f) {
					want = want[j+1:]
					break
				}
			}
		case len(want) == 0 && thread && i == len(frames)-1 && strings.Contains(f.Image, "libc"):
		case len(want) == 0:
			bad.add("WRONG FRAME %d is too many: %v %s, trust %s", f.Index, f.PC, f.Function, f.Trust)
			return nil
		default:
			bad.add("WRONG FRAME %d: %v %s, trust %s by %s; expected %s (pc %#x)", f.Index, f.PC, f.Function, f.Trust, f.Strategy, want[0].what, want[0].pc)
			return nil
		}
	}
	return want
}

func (bad *findings) checkFrame(f *stackjson.Frame, want *expected) {
	kind := stackjson.KindRA
	if want.kind == "pc" || f.Index == 0 {
		kind = stackjson.KindPC
	}
	if f.Kind != kind {
		bad.add("frame %d (%v) has kind %s, want %s", f.Index, f.PC, f.Kind, kind)
	}
}

// report fails the test for what was found. A gap says that clew is known to
// fall short here: then the stack must still fall short (so that the gap does
// not outlive its cause), and must have no wrong frame.
func (bad findings) report(t testing.TB, gap string) {
	t.Helper()
	if gap != "" {
		if len(bad) == 0 {
			t.Errorf("this gap is closed, take it out: %s", gap)
		}
		bad = slices.DeleteFunc(bad, func(s string) bool { return !strings.HasPrefix(s, "WRONG") })
	}
	for _, s := range bad {
		t.Error(s)
	}
}
