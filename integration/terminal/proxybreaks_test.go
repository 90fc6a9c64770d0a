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
extern "C" int sell(int n) {
	shop::Order o{n};
	auto taxed = [](int t) {
		return t + 1;
	};
	return taxed(o.total());
}
`,
}

// TestProxyBreaks: through clew proxy, breakpoints are set in native code that Delve does not name: a function of a namespace, a line of a lambda, a regular expression.
// Go's are Delve's, and what is nowhere is refused.
func TestProxyBreaks(t *testing.T) {
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
	script := []string{"break main.main", "continue", "break shop::Order::total", "break shop.cc:12", "break /^sell$/", "break shop::nothere", "continue", "continue", "continue", "clear 2", "continue"}
	for _, s := range []server{proxied, ownServer} {
		out := s.connect(t, nil, script, filepath.Join(dir, "shop"))
		for _, want := range []string{
			`Breakpoint 1 set at 0x[0-9a-f]+ for main\.main\(\)`, `Breakpoint 2 set at 0x`, `Breakpoint 3 set at 0x`, `Breakpoint 4 set at 0x`,
			`(?s)> \[Breakpoint 1\] main\.main.*> \[Breakpoint 4\] .*shop\.cc:10 .*> \[Breakpoint 2\] .*shop\.cc:5 .*> \[Breakpoint 3\] .*shop\.cc:12 `,
		} {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("%s: no %q:\n%s", s.name, want, out)
			}
		}
	}
}
