package testneed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// LeftOut begins the line in which a test says that it was left out, and why.
const LeftOut = "LEFT OUT: "

// InCI reports whether leaving a test out is a failure.
func InCI() bool { return os.Getenv("CI") == "true" }

// LeaveOut ends the test: skipped with its reason, or failed in CI. The reason
// is one line that names the missing need.
func LeaveOut(t testing.TB, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	if InCI() {
		t.Fatalf("CI leaves no test out, but: %s", reason)
	}
	t.Skip(LeftOut + reason)
}

// A Need is something that a test asks of the machine.
type Need struct {
	Name     string   // as in messages, and as Tool takes it
	Programs []string // any of them will do; the first found is taken
	Env      string   // an environment variable that may name the program; "" for none
	Debian   []string // the Debian packages that hold it
	// Try are arguments with which the program must succeed, for one that may be there and not
	// work: rustup's rustc without a toolchain. It then counts as missing. Nil: it is not tried.
	Try []string
}

// Needs lists every program that tests and checks ask for.
var Needs = []Need{
	Compiler,
	{Name: "readelf", Programs: []string{"readelf"}, Debian: []string{"binutils"}},
	{Name: "objdump", Programs: []string{"objdump"}, Debian: []string{"binutils"}},
	{Name: "objcopy", Programs: []string{"objcopy"}, Debian: []string{"binutils"}},
	{Name: "strip", Programs: []string{"strip"}, Debian: []string{"binutils"}},
	{Name: "g++", Programs: []string{"g++"}, Debian: []string{"g++"}},
	{Name: "gcc", Programs: []string{"gcc"}, Debian: []string{"gcc", "libc6-dev"}},
	{Name: "rustc", Programs: []string{"rustc"}, Env: "RUSTC", Try: []string{"--version"}, Debian: []string{"rustc"}},
	{Name: "gdc", Programs: []string{"gdc"}, Debian: []string{"gdc"}},
	{Name: "clang", Programs: []string{"clang"}, Debian: []string{"clang"}},
	{Name: "clang++", Programs: []string{"clang++"}, Debian: []string{"clang", "libc++-dev", "libc++abi-dev"}},
	{Name: "lldb", Programs: []string{"lldb"}, Debian: []string{"lldb"}},
	{Name: "clang-14", Programs: []string{"clang-14"}, Debian: []string{"clang-14"}},
	{Name: "lli-14", Programs: []string{"lli-14"}, Debian: []string{"llvm-14-runtime", "libllvm14"}},
	{Name: "clang-19", Programs: []string{"clang-19"}, Debian: []string{"clang-19"}},
	{Name: "ld64.lld-19", Programs: []string{"ld64.lld-19"}, Debian: []string{"lld-19"}},
	{Name: "llvm-objdump-19", Programs: []string{"llvm-objdump-19"}, Debian: []string{"llvm-19"}},
	{Name: "gdb", Programs: []string{"gdb"}, Debian: []string{"gdb"}},
	{Name: "llvm-symbolizer-19", Programs: []string{"llvm-symbolizer-19"}, Debian: []string{"llvm-19"}},
	{Name: "dsymutil-19", Programs: []string{"dsymutil-19"}, Debian: []string{"llvm-19"}},
	{Name: "llvm-dwp-19", Programs: []string{"llvm-dwp-19"}, Debian: []string{"llvm-19"}},
	{Name: "dwp", Programs: []string{"dwp"}, Debian: []string{"binutils"}},
	{Name: "dwz", Programs: []string{"dwz"}, Debian: []string{"dwz"}},
	{Name: "python3", Programs: []string{"python3"}, Debian: []string{"python3"}},
	{Name: "protoc", Programs: []string{"protoc"}, Debian: []string{"protobuf-compiler", "python3-grpcio"}}, // for the plugin in Python
	{Name: "aarch64-linux-gnu-gcc", Programs: []string{"aarch64-linux-gnu-gcc"}, Debian: []string{"gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"}},
	{Name: "aarch64-linux-gnu-objdump", Programs: []string{"aarch64-linux-gnu-objdump"}, Debian: []string{"binutils-aarch64-linux-gnu"}},
	{Name: "qemu-aarch64", Programs: []string{"qemu-aarch64"}, Debian: []string{"qemu-user"}},
	{Name: "qemu-aarch64_be", Programs: []string{"qemu-aarch64_be"}, Debian: []string{"qemu-user"}},
	{Name: "qemu-s390x", Programs: []string{"qemu-s390x"}, Debian: []string{"qemu-user"}},
	{Name: "npm", Programs: []string{"npm"}, Debian: []string{"nodejs", "npm"}},
	{Name: "chromium", Programs: []string{"chromium"}, Debian: []string{"chromium", "fonts-dejavu-core"}},
	{Name: "musl-gcc", Programs: []string{"musl-gcc"}, Debian: []string{"musl-tools"}},
	{Name: "xz", Programs: []string{"xz"}, Debian: []string{"xz-utils"}},
	{Name: "unshare", Programs: []string{"unshare"}, Debian: []string{"util-linux"}},
	{Name: "zstd", Programs: []string{"zstd"}, Debian: []string{"zstd"}},
	{Name: "lz4", Programs: []string{"lz4"}, Debian: []string{"lz4"}},
	{Name: "debuginfod", Programs: []string{"debuginfod"}, Debian: []string{"debuginfod"}},
	{Name: "debuginfod-find", Programs: []string{"debuginfod-find"}, Debian: []string{"debuginfod"}},
	{Name: "c++filt", Programs: []string{"c++filt"}, Debian: []string{"binutils"}},
	{Name: "protoc", Programs: []string{"protoc"}, Debian: []string{"protobuf-compiler"}},
}

// emulation lists what integration/arm64 asks for besides, and no test does.
var emulation = []Need{
	{Name: "aarch64-linux-gnu-g++", Programs: []string{"aarch64-linux-gnu-g++"}, Debian: []string{"g++-aarch64-linux-gnu"}},
	{Name: "aarch64-linux-gnu-strip", Programs: []string{"aarch64-linux-gnu-strip"}, Debian: []string{"binutils-aarch64-linux-gnu"}},
	{Name: "qemu-system-aarch64", Programs: []string{"qemu-system-aarch64"}, Debian: []string{"qemu-system-arm"}},
}

// Compiler is any C compiler.
var Compiler = Need{
	Name:     "C compiler",
	Programs: []string{"gcc", "clang", "cc"},
	Env:      "CC",
	Debian:   []string{"gcc", "libc6-dev"},
}

// Find returns the program's path.
func (n Need) Find() (string, error) {
	programs := n.Programs
	if n.Env != "" && os.Getenv(n.Env) != "" {
		programs = []string{os.Getenv(n.Env)}
	}
	broken := ""
	for _, program := range programs {
		path, err := exec.LookPath(program)
		if err != nil {
			continue
		}
		if err := n.try(path); err != nil {
			broken += fmt.Sprintf("; %s is there and does not work: %v", path, err)
			continue
		}
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("no %s on this machine (looked for %s; Debian: %s%s)",
		n.Name, strings.Join(programs, ", "), strings.Join(n.Debian, " "), broken)
}

// tried has what came of each program that was tried, by its path and arguments: an error or nil.
var tried sync.Map

// try finds out whether a program works, once.
func (n Need) try(path string) error {
	if len(n.Try) == 0 {
		return nil
	}
	key := strings.Join(append([]string{path}, n.Try...), "\x00")
	once, _ := tried.LoadOrStore(key, sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), tryTime)
		defer cancel()
		out, err := exec.CommandContext(ctx, path, n.Try...).CombinedOutput()
		if err != nil {
			first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("%w: %s", err, first)
		}
		return nil
	}))
	return once.(func() error)()
}

// tryTime is how long a program may take to say its version, on a busy machine too.
const tryTime = time.Minute

// Lookup returns the path of the program that Needs or emulation lists under name.
func Lookup(name string) (string, error) {
	n, err := Named(name)
	if err != nil {
		return "", err
	}
	return n.Find()
}

// Named is the need that Needs or emulation lists under name.
func Named(name string) (Need, error) {
	all := slices.Concat(Needs, emulation)
	i := slices.IndexFunc(all, func(n Need) bool { return n.Name == name })
	if i < 0 {
		return Need{}, fmt.Errorf("testneed.Needs does not list %q: add it there, with its Debian package", name)
	}
	return all[i], nil
}

// CC returns the path of a C compiler: $CC, or gcc, clang or cc. Give it to go
// build as CC, which looks for gcc alone.
func CC(t testing.TB) string {
	t.Helper()
	return find(t, Compiler)
}

// Tool returns the path of the program that Needs lists under name. A name
// that is not there fails the test on every machine, because otherwise no one would
// install the program.
func Tool(t testing.TB, name string) string {
	t.Helper()
	i := slices.IndexFunc(Needs, func(n Need) bool { return n.Name == name })
	if i < 0 {
		t.Fatalf("testneed.Needs does not list %q: add it there, with its Debian package", name)
	}
	return find(t, Needs[i])
}

func find(t testing.TB, n Need) string {
	t.Helper()
	path, err := n.Find()
	if err != nil {
		LeaveOut(t, "%v", err)
	}
	return path
}

// Platform asks for one of the platforms, written as "linux/amd64".
func Platform(t testing.TB, platforms ...string) {
	t.Helper()
	if here := runtime.GOOS + "/" + runtime.GOARCH; !slices.Contains(platforms, here) {
		LeaveOut(t, "this is %s; the test is for %s", here, strings.Join(platforms, ", "))
	}
}

// Ptrace asks for leave to trace a child process, which containers and Yama
// may refuse.
func Ptrace(t testing.TB) {
	t.Helper()
	if err := canPtrace(); err != nil {
		LeaveOut(t, "%v", err)
	}
}

// canPtrace tries once whether this process may trace a child.
var canPtrace = sync.OnceValue(tryPtrace)

// Toolchain asks for a Go toolchain by its full version, as "go1.24.6", which
// the go command downloads where it is not there yet. It returns the
// environment entry that makes the go command use it.
func Toolchain(t testing.TB, version string) string {
	t.Helper()
	env := "GOTOOLCHAIN=" + version
	cmd := exec.Command("go", "env", "GOVERSION")
	cmd.Env = append(os.Environ(), env)
	cmd.Dir = t.TempDir() // outside the module, whose go line may ask for more
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = errors.New(lastLine(exit.Stderr))
		}
		LeaveOut(t, "no Go toolchain %s: %v", version, err)
	}
	if got := strings.TrimSpace(string(out)); got != version {
		t.Fatalf("asked for Go toolchain %s, got %s", version, got)
	}
	return env
}

// lastLine returns the last line of a command's error output.
func lastLine(out []byte) string {
	text := strings.TrimSpace(string(out))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
