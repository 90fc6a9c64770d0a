//go:build linux

package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

var shopFiles = map[string]string{
	"go.mod": "module shop\ngo 1.24\n",
	"main.go": `package main

// int sell(int n);
import "C"

//export audit
func audit(n C.int) C.int {
	println("audit")
	return n
}

func main() {
	println(C.sell(3))
}
`,
	"shop.cc": `namespace shop {
struct Order {
	int n;
	int total() {
		return n * 2;
	}
};
}
extern "C" int audit(int n);
extern "C" int sell(int n) {
	shop::Order o{n};
	auto taxed = [](int t) {
		return t + 1;
	};
	return audit(taxed(o.total()));
}
`,
}

// buildShop builds it.
func buildShop(t *testing.T) (program string) {
	t.Helper()
	need(t)
	testneed.Platform(t, "linux/amd64")
	testneed.Tool(t, "g++")
	dir := t.TempDir()
	for name, text := range shopFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "shop", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=", "CGO_CXXFLAGS=-g -O0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "shop")
}

// TestProxyBreaks: through clew proxy, breakpoints are set in native code that Delve does not name: a function of a namespace, a line of a lambda, a regular expression.
// Go's are Delve's, and what is nowhere is refused.
func TestProxyBreaks(t *testing.T) {
	program := buildShop(t)
	script := []string{"break main.main", "continue", "break shop::Order::total", "break shop.cc:13", "break /^sell$/", "break shop::nothere", "continue", "continue", "continue", "clear 2", "continue"}
	for _, s := range []server{proxied, ownServer} {
		out := s.connect(t, nil, script, program)
		for _, want := range []string{
			`Breakpoint 1 set at 0x[0-9a-f]+ for main\.main\(\)`, `Breakpoint 2 set at 0x`, `Breakpoint 3 set at 0x`, `Breakpoint 4 set at 0x`,
			`(?s)> \[Breakpoint 1\] main\.main.*> \[Breakpoint 4\] .*shop\.cc:11 .*> \[Breakpoint 2\] .*shop\.cc:5 .*> \[Breakpoint 3\] .*shop\.cc:13 `,
		} {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("%s: no %q:\n%s", s.name, want, out)
			}
		}
	}
}

// TestExported: a Go function that C calls is meant by its name, and not cgo's function of C; a line behind a file's end is refused where the file is known.
func TestExported(t *testing.T) {
	out := ownServer.connect(t, nil, []string{"break audit", "break shop.cc:999", "continue"}, buildShop(t))
	for _, want := range []string{`Breakpoint 1 set at 0x[0-9a-f]+ for .*audit\(\) .*main\.go:\d+`, `could not find statement at .*shop\.cc:999`, `> \[Breakpoint 1\] .*audit\(\) .*main\.go:`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
}
