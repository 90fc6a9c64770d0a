package macho

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// program is a generated program, ready to be run.
type program struct {
	target    target
	level     string
	loader    string
	libraries [2]string
}

// base is where the loader maps library i.
func base(i int) uint64 { return 0x3_0000_0000 + uint64(i)*0x4000_0000 }

// stackAt is where it maps the stack, which has stackSize bytes.
const (
	stackAt   = 0x7_0000_0000
	stackSize = 4 << 20
)

// run runs a tool in a directory.
func run(t testing.TB, dir, tool string, args ...string) {
	t.Helper()
	cmd := exec.Command(testneed.Tool(t, tool), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", tool, args, err, out)
	}
}

// link makes a library of object files.
func link(t testing.TB, dir, arch, out string, args ...string) {
	t.Helper()
	run(t, dir, "ld64.lld-19", append([]string{"-arch", arch, "-dylib", "-platform_version", "macos", "11.0", "11.0", "-install_name", out, "-o", out}, args...)...)
}

// build makes a program of nested functions from a seed.
func build(t testing.TB, a target, level string, seed uint64, nested int) program {
	t.Helper()
	dir := t.TempDir()
	if keep := os.Getenv("CLEW_MACHO_KEEP"); keep != "" {
		dir = filepath.Join(keep, a.name+level+"-"+strconv.FormatUint(seed, 10))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	src := generate(a, seed, nested)
	compile := func(name, text string, args ...string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, dir, "clang-19", slices.Concat(strings.Fields(level), args, []string{"--target=" + a.triple, "-c", "-w", "-ffreestanding", "-fno-stack-protector", "-funwind-tables",
			name, "-o", name + ".o"})...)
	}
	compile("with.c", src.withFP, "-fno-omit-frame-pointer")
	compile("without.c", src.without, "-fomit-frame-pointer")
	compile("assembler.s", src.assembler)
	compile("far.c", far)
	compile("binder.s", a.binder)
	link(t, dir, a.name, "far.dylib", "far.c.o", "binder.s.o")
	link(t, dir, a.name, "near.dylib", "with.c.o", "without.c.o", "assembler.s.o", "far.dylib")
	p := program{target: a, level: level, loader: filepath.Join(dir, "loader"),
		libraries: [2]string{filepath.Join(dir, "near.dylib"), filepath.Join(dir, "far.dylib")}}
	loader, err := filepath.Abs("testdata/loader.c")
	if err != nil {
		t.Fatal(err)
	}
	cc := "gcc"
	if a.name == "arm64" {
		cc = "aarch64-linux-gnu-gcc"
	}
	run(t, dir, cc, "-O1", "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector", "-o", p.loader, loader)
	return p
}
