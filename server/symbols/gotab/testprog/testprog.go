// Package testprog builds small programs for the tests of packages that read
// executables: pure Go, and Go with C.
package testprog

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// A Build says which program to build and how.
type Build struct {
	Name string
	Cgo  bool     // the Go+C program, linked by the C compiler's linker
	Args []string // further arguments of go build
	Env  []string // further environment
}

// Builds are the ways of linking that place Go's tables differently. They
// cover position-dependent and -independent, internal and external linking,
// with and without symbols.
func Builds() []Build {
	pie := "-buildmode=pie"
	strip := "-ldflags=-s -w"
	return []Build{
		{Name: "plain"},
		{Name: "stripped", Args: []string{strip}},
		{Name: "pie", Args: []string{pie}},
		{Name: "pie-stripped", Args: []string{pie, strip}},
		{Name: "cgo", Cgo: true},
		{Name: "cgo-stripped", Cgo: true, Args: []string{strip}},
		{Name: "cgo-pie", Cgo: true, Args: []string{pie}},
		{Name: "cgo-pie-stripped", Cgo: true, Args: []string{pie, strip}},
	}
}

// Stripped reports whether the build has no symbols.
func (b Build) Stripped() bool {
	for _, a := range b.Args {
		if a == "-ldflags=-s -w" {
			return true
		}
	}
	return false
}

// Make builds the program and returns its path.
func (b Build) Make(t testing.TB) string {
	t.Helper()
	files := map[string]string{"go.mod": "module example.com/prog\n\ngo 1.20\n", "main.go": goSource}
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if b.Cgo {
		cc := testneed.CC(t)
		files["main.go"], files["native.c"] = cgoSource, cSource
		env = append(env, "CC="+cc, "CGO_ENABLED=1", "CGO_CFLAGS=-O1 -g -gz=zlib")
	}
	env = append(env, b.Env...)
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "prog")
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, b.Args...), ".")...)
	cmd.Dir, cmd.Env = dir, env
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", b.Name, err, msg)
	}
	return out
}

const goSource = `package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type number interface{ ~int | ~float64 }

func sum[T number](list []T) (s T) {
	for _, x := range list {
		s = add(s, x)
	}
	return s
}

func add[T number](a, b T) T { return a + b }

//go:noinline
func recurse(n int, big [64]int) int {
	if n == 0 {
		return big[len(os.Args)]
	}
	defer func() { big[0]++ }()
	return recurse(n-1, big) + 1
}

func main() {
	args := append([]string(nil), os.Args...)
	sort.Strings(args)
	fmt.Println(strings.Join(args, ","), sum([]float64{1, 2}), recurse(3, [64]int{}))
}
`

// Lines of native.c that tests ask for are marked there.
const cSource = `#include <stdint.h>

static volatile int sink;

__attribute__((noinline)) int clew_leaf(int x) {
	sink = x; /* line 6 */
	return sink + 1;
}

__attribute__((noinline)) int clew_middle(int x) {
	int y = clew_leaf(x * 2); /* line 11 */
	return y + sink;
}

int clew_outer(int x) {
	return clew_middle(x) + 3; /* line 16 */
}

/* A function without a size, as hand-written assembly often is. */
__asm__(".text\n.globl clew_unsized\n.type clew_unsized,@function\nclew_unsized:\n"
#if defined(__x86_64__)
	"nop\nnop\nnop\nret\n"
#elif defined(__aarch64__)
	"nop\nnop\nnop\nret\n"
#else
	"nop\n"
#endif
);
`

const cgoSource = `package main

/*
int clew_outer(int);
*/
import "C"
import "fmt"

func main() {
	fmt.Println(C.clew_outer(20))
}
`
