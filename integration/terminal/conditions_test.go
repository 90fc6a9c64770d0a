package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

const judged = `#include <vector>
struct Base { int id; };
struct Item : Base { unsigned a : 3; int arr[4]; std::vector<int> v; };
static volatile int sink;
__attribute__((noinline)) static void visit(Item *it, int i) {
	sink += i + it->a;
}
static void visitAll(Item *it, int n) {
	for (int i = 0; i < n; i++) {
		it->id = i, it->a = i, it->arr[2] = i;
		if (i % 40 == 0)
			it->v.push_back(i);
		visit(it, i);
	}
}
int main() {
	Item it{};
	visitAll(&it, 100);
}
`

// TestConditions: conditions, and what breakpoints print, are read as the native code's own; rbreak and tbreak do as in GDB.
func TestConditions(t *testing.T) {
	need(t)
	testneed.Platform(t, "linux/amd64")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "judged.cc"), filepath.Join(dir, "judged")
	if err := os.WriteFile(source, []byte(judged), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(testneed.Tool(t, "g++"), "-g", "-O0", source, "-o", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := session{
		tool: "clew", args: []string{"exec"}, target: []string{program},
		script: []string{
			"rbreak ^visit$", "rbreak ^visit", "rbreak nothere", "rbreak", "clear 1", "clear 3",
			"tbreak judged.cc:6 if it->a == 5 && it->arr[2] > 50", "continue", "breakpoints", "print i",
			"break size judged.cc:6", "condition size it->v.size() == 3", "on size print it->a", "on size print it->id * 2", "on size print it->none", "on size args", "breakpoints", "continue",
			"condition size it->id->x == 1", "continue", "clear size", "trace late judged.cc:6", "condition late it->id >= 98", "on late print it->arr[2]", "toggle late", "toggle late", "continue",
		},
	}
	out := s.play(t)
	for _, want := range []string{
		`Breakpoint 1 set at 0x[0-9a-f]+ for visit\(\) .*judged.cc:6`, `no function's name matches "nothere"`, `visit: Breakpoint exists at .*\nBreakpoint 3 set at 0x[0-9a-f]+ for visitAll\(\) .*judged.cc:9`, `a regular expression is required`,
		`Breakpoint 4 set at .*judged.cc:6\nBreakpoint 4 is temporary\n`, `(?s)> \[Breakpoint 4\] visit.*\n53\n`,
		`\tcond it->v\.size\(\) == 3\n`, `> \[size\] visit\(Item\*, int\)\(0x[0-9a-f]+, 80\) .*\n\tit->a: 0\n\tit->id \* 2: 160\n\tit->none: .*has no member none`,
		`error evaluating the breakpoint's condition it->id->x == 1: `,
		`\[late\] visit\(Item\*, int\)\(0x[0-9a-f]+, 98\)\n\tit->arr\[2\]: 98\n.*\[late\] visit.*, 99\)\n\tit->arr\[2\]: 99\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
	for _, unwanted := range []string{`Breakpoint 4 \(enabled\)`, `it->arr\[2\]: 97`, `\[size\] .*total:[3-9]`} {
		if regexp.MustCompile(unwanted).MatchString(out) {
			t.Errorf("%q:\n%s", unwanted, out)
		}
	}
}
