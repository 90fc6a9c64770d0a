package dap

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/dapwire"
)

// judged is a program whose values are known for each of its 100 rounds; judgedPart is its library.
const (
	judged = `#include <vector>
#include "part.h"
struct Base { int id; long big; };
struct Item : Base { unsigned a : 3; int b : 5; int arr[4]; std::vector<int> v; };
static volatile int sink;
__attribute__((noinline)) static void visit(Item *it, int i) {
	sink += i; // visit
	auto f = [&](int k) {
		return k + it->id; // lambda
	};
	sink += f(i);
	Part p{(unsigned)i % 4u, i};
	sink += part(p);
}
int main() {
	Item it{};
	for (int i = 0; i < 100; i++) {
		it.id = i, it.big = 10L * i, it.a = i, it.b = -(i % 16), it.arr[2] = i;
		if (i % 40 == 0)
			it.v.push_back(i);
		visit(&it, i);
	}
}
`
	judgedHeader = "struct Part { unsigned flag : 2; int n; };\nint part(const Part &p);\n"
	judgedPart   = "#include \"part.h\"\nint part(const Part &p) {\n\treturn p.flag + p.n; // part\n}\n"
)

// buildJudged builds them, and says on which lines the comments are.
func buildJudged(t *testing.T) (exe string, lineOf func(comment string) (path string, line int)) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	cxx := testneed.Tool(t, "g++")
	dir := t.TempDir()
	sources := map[string]string{"judged.cc": judged, "part.h": judgedHeader, "part.cc": judgedPart}
	for name, text := range sources {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"-shared", "-fPIC", "part.cc", "-o", "libpart.so"}, {"judged.cc", "-o", "judged", "-L.", "-lpart", "-Wl,-rpath," + dir}} {
		cmd := exec.Command(cxx, append([]string{"-g", "-O0"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return filepath.Join(dir, "judged"), func(comment string) (string, int) {
		for name, text := range sources {
			for i, line := range strings.Split(text, "\n") {
				if strings.HasSuffix(line, "// "+comment) {
					return filepath.Join(dir, name), i + 1
				}
			}
		}
		t.Fatalf("no line has // %s", comment)
		return "", 0
	}
}

// TestConditions: conditions, hit conditions and messages of breakpoints in native code are evaluated as the code's own: they hold in the rounds in which
// the program's values say so, and in no other.
func TestConditions(t *testing.T) {
	exe, lineOf := buildJudged(t)
	for _, tt := range []struct {
		at, condition, hits, message string
		holds                        func(i int) bool
		shown                        func(i int) string
	}{
		{"visit", "it->a == 5", "", "{i}", func(i int) bool { return i%8 == 5 }, nil},
		{"visit", "it->b == -3 && it->b < 0", "", "{i}", func(i int) bool { return i%16 == 3 }, nil},
		{"visit", "it->arr[2] > 90", "", "{i}", func(i int) bool { return i > 90 }, nil},
		{"visit", "it->id == 42 || it->big == 990", "", "{i}", func(i int) bool { return i == 42 || i == 99 }, nil},
		{"visit", "it->v.size() == 2", "", "{i}", func(i int) bool { return i >= 40 && i < 80 }, nil},
		{"visit", "((Base *)it)->id % 50 == 1", "", "{i}", func(i int) bool { return i%50 == 1 }, nil},
		{"visit", "it->a == 9", "", "{i}", func(int) bool { return false }, nil},
		{"lambda", "k >= 98", "", "{k}", func(i int) bool { return i >= 98 }, nil},
		{"part", "p.flag == 3 && p.n < 20", "", "{p.n}", func(i int) bool { return i%4 == 3 && i < 20 }, nil},
		{"visit", "it->a == 5", "3", "{i}", func(i int) bool { return i == 21 }, nil},
		{"visit", "it->a == 5", "> 11", "{i}", func(i int) bool { return i%8 == 5 && i > 87 }, nil},
		{"visit", "i == 80", "", "100% of {it->v}, {it->b}, {nosuch} and {it->arr}", func(i int) bool { return i == 80 }, func(int) string {
			return "100% of 3 elements {0, 40, 80}, 0, <unknown: there is no variable nosuch here> and {0, 0, 80, 0}"
		}},
	} {
		t.Run(tt.at+" "+tt.condition+" "+tt.hits, func(t *testing.T) {
			t.Parallel()
			path, line := lineOf(tt.at)
			var want []string
			for i := range 100 {
				if text := fmt.Sprint(i); tt.holds(i) {
					if tt.shown != nil {
						text = tt.shown(i)
					}
					want = append(want, "> [Go 0]: "+text+"\n")
				}
			}
			c := start(t, binary("clew")).dial()
			c.initialize()
			c.ok("launch", object{"mode": "exec", "program": exe})
			c.event("initialized")
			got := c.breakAt(path, object{"line": line, "condition": tt.condition, "hitCondition": tt.hits, "logMessage": tt.message})
			if len(got) != 1 || !got[0].Verified && tt.at != "part" || got[0].Line != line { // the library is not loaded yet
				t.Fatalf("%+v", got)
			}
			c.ok("configurationDone", nil)
			var logged []string
			c.until("the end", func(m *dapwire.Message) bool {
				var out dap.OutputEventBody
				if m.Event == "output" && m.Decode("body", &out) == nil && strings.HasPrefix(out.Output, "> [Go") {
					if out.Line != line || out.Source == nil || out.Source.Path != path {
						t.Errorf("%+v", out)
					}
					logged = append(logged, out.Output)
				}
				return m.Event == "terminated"
			})
			if !slices.Equal(logged, want) {
				t.Errorf("logged %q, want %q", logged, want)
			}
			c.ok("disconnect", object{"terminateDebuggee": true})
			c.end()
		})
	}
}

// TestConditionStops: a condition stops where it holds; one that cannot be evaluated stops and says so; a condition that is changed counts at once, in
// functions and at instructions too.
func TestConditionStops(t *testing.T) {
	exe, lineOf := buildJudged(t)
	path, line := lineOf("visit")
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe})
	c.event("initialized")
	c.breakAt(path, object{"line": line, "condition": "it->a == 5 && it->arr[2] > 50"})
	c.ok("configurationDone", nil)
	round := func(want string) (thread int64) {
		t.Helper()
		m := c.event("stopped")
		thread = threadOf(t, m)
		var value struct{ Result string }
		decode(t, c.request("evaluate", object{"expression": "i", "context": "watch", "frameId": c.stack(thread, 0, 1).StackFrames[0].ID}), &value)
		if value.Result != want {
			t.Fatalf("round %s, want %s: %v", value.Result, want, m)
		}
		return thread
	}
	thread := round("53")
	c.breakAt(path, object{"line": line, "condition": "it->nothing == 3"})
	c.ok("continue", object{"threadId": thread})
	m := c.event("stopped")
	if text := fmt.Sprint(m); !strings.Contains(text, "it->nothing == 3") || !strings.Contains(text, "has no member nothing") {
		t.Errorf("%s", text)
	}
	thread = threadOf(t, m)
	pc := c.stack(thread, 0, 1).StackFrames[0].PC
	c.breakAt(path)
	c.ok("setFunctionBreakpoints", object{"breakpoints": []object{{"name": "part", "condition": "p.flag == 0 && p.n > 58"}}})
	c.ok("continue", object{"threadId": thread})
	thread = threadOf(t, c.event("stopped"))
	c.ok("setFunctionBreakpoints", object{"breakpoints": []object{}})
	c.ok("setInstructionBreakpoints", object{"breakpoints": []object{{"instructionReference": pc, "condition": "it->v.size() == 3"}}})
	c.ok("continue", object{"threadId": thread})
	round("80")
	c.ok("disconnect", object{"terminateDebuggee": true})
	c.end()
}

// TestSharedAddress: breakpoints at one address, of a line, of the line before, where the function begins, and of the function, are all verified, stop by their own
// conditions, and go one by one.
func TestSharedAddress(t *testing.T) {
	exe, lineOf := buildJudged(t)
	path, line := lineOf("visit")
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe})
	c.event("initialized")
	set := func(lines ...object) (ids []float64) {
		t.Helper()
		for i, b := range c.breakAt(path, lines...) {
			if !b.Verified || b.Line != line && b.Line != line-1 || b.Message != "" {
				t.Fatalf("breakpoint %d: %+v", i, b)
			}
			ids = append(ids, float64(b.Id))
		}
		return ids
	}
	at := func(line int, condition, hits string) object {
		return object{"line": line, "condition": condition, "hitCondition": hits}
	}
	ids := set(at(line-1, "i == 10 || i == 40", ""), at(line, "it->a == 4", "3"))
	var body dap.SetFunctionBreakpointsResponseBody
	decode(t, c.request("setFunctionBreakpoints", object{"breakpoints": []object{{"name": "visit", "condition": "i == 40 || it->id == 50"}}}), &body)
	if b := body.Breakpoints[0]; !b.Verified || ids[0] == ids[1] || float64(b.Id) == ids[0] {
		t.Fatalf("%+v, beside %v", b, ids)
	}
	stops := func(want string, id float64) (thread int64) {
		t.Helper()
		m := c.event("stopped")
		thread = threadOf(t, m)
		var value struct{ Result string }
		decode(t, c.request("evaluate", object{"expression": "i", "context": "watch", "frameId": c.stack(thread, 0, 1).StackFrames[0].ID}), &value)
		if hit, _ := m["hitBreakpointIds"].([]any); value.Result != want || len(hit) != 1 || hit[0] != id {
			t.Fatalf("round %s, want %s by %v: %v", value.Result, want, id, m)
		}
		return thread
	}
	c.ok("configurationDone", nil)
	thread := stops("10", ids[0])
	c.ok("continue", object{"threadId": thread})
	stops("20", ids[1]) // the third round in which a is 4
	set(at(line, "i == 30", ""))
	c.ok("continue", object{"threadId": thread})
	stops("30", ids[1])
	set()
	c.ok("continue", object{"threadId": thread})
	stops("40", float64(body.Breakpoints[0].Id))
	c.ok("continue", object{"threadId": thread})
	stops("50", float64(body.Breakpoints[0].Id))
	c.ok("continue", object{"threadId": thread})
	c.event("terminated")
	c.ok("disconnect", object{"terminateDebuggee": true})
	c.end()
}
