package program

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/testneed"
)

// sources are the program's. They live below testdata so that they are no part of
// clew itself.
//
//go:embed testdata/native
var sources embed.FS

// Linkage says where the native code is.
type Linkage int

// The places.
const (
	Static Linkage = iota // in the program
	Linked                // in a library that the program is linked with
	Opened                // in a library that the program opens when it runs
)

// Variant is a way to build testdata/native.
type Variant struct {
	Name     string
	Compiler string // gcc, clang or g++; "" is any C compiler
	CFlags   string
	Rust     bool // the middle of the native code is Rust
	Linkage  Linkage
	Stripped bool // the library
	// Undescribed: no frame pointers and no tables. Stacks may end early, but
	// must not be wrong.
	Undescribed bool
	// SFrame is the version of the native code's SFrame tables, which then has no
	// other ones: [OwnSFrame], "v1", "v2", "v3"; "" for none.
	SFrame string
	// MachO is a prebuilt Mach-O library of the native code, "" for none: "omit",
	// "O0", "fp-universal". The program has a loader for it, which maps the file, or
	// with InMemory reads it into memory.
	MachO    string
	InMemory bool
}

// Variants are those of the integration tests: with frame pointers, with
// call-frame information instead, and with neither.
var Variants = []Variant{
	{Name: "static-O0-g-fp", CFlags: "-O0 -g"},
	{Name: "static-O1-g-fp", CFlags: "-O1 -g -fno-omit-frame-pointer"},
	{Name: "static-O2-fp", CFlags: "-O2 -g0 -fno-omit-frame-pointer " + NoTables},
	{Name: "linked-O1-g-fp", CFlags: "-O1 -g -fno-omit-frame-pointer", Linkage: Linked},
	{Name: "linked-O2-fp-stripped", CFlags: "-O2 -g0 -fno-omit-frame-pointer " + NoTables, Linkage: Linked, Stripped: true},
	{Name: "opened-O1-g-fp", CFlags: "-O1 -g -fno-omit-frame-pointer", Linkage: Opened},
	{Name: "opened-O2-fp-stripped", CFlags: "-O2 -g0 -fno-omit-frame-pointer", Linkage: Opened, Stripped: true},

	{Name: "static-O2-omit", CFlags: "-O2 -g0 -fomit-frame-pointer"},
	{Name: "static-O2-omit-notables", CFlags: "-O2 -g0 -fomit-frame-pointer " + NoTables, Undescribed: true},
	{Name: "linked-O2-omit", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: Linked},
	{Name: "linked-O2-omit-stripped", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: Linked, Stripped: true},
	{Name: "linked-O2-omit-notables-stripped", CFlags: "-O2 -g0 -fomit-frame-pointer " + NoTables, Linkage: Linked, Stripped: true, Undescribed: true},
}

// MuslVariants run on a C library of another kind, musl. As distributed it has no tables, no frame pointers
// and few symbols.
var MuslVariants = []Variant{
	{Name: "musl-O1-g-fp", Compiler: "musl-gcc", CFlags: "-O1 -g -fno-omit-frame-pointer"},
	{Name: "musl-linked-O2-omit-stripped", Compiler: "musl-gcc", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: Linked, Stripped: true},
}

// Named returns the variant with a name, of those that tests know by name.
func Named(name string) (Variant, bool) {
	for _, v := range slices.Concat(Variants, MuslVariants, MachOVariants, SFrameVariants(Tools{})) {
		if v.Name == name {
			return v, true
		}
	}
	return Variant{}, false
}

// language is the native code's: its file's extension.
func (v Variant) language() string {
	if strings.HasSuffix(v.Compiler, "++") {
		return "cc"
	}
	return "c"
}

// Tools are the programs that a build needs.
type Tools struct {
	CC     string // compiles C
	CXX    string // compiles C++, for variants in it
	Strip  string // for stripped variants
	Rust   string // for variants with Rust
	SFrame string // the folder of fetch-toolchains.sh, "" for none
	Arch   string // GOARCH of the program, "" for this machine's
}

// Tools finds them; the error names the missing one.
func (v Variant) Tools() (t Tools, err error) {
	if v.language() == "c" && v.Compiler != "" {
		t.CC, err = testneed.Lookup(v.Compiler)
	} else {
		t.CC, err = testneed.Compiler.Find()
	}
	if err == nil && v.language() != "c" {
		t.CXX, err = testneed.Lookup(v.Compiler)
	}
	if err == nil && v.Rust {
		t.Rust, err = testneed.Lookup("rustc")
	}
	if err == nil && v.Stripped {
		t.Strip, err = testneed.Lookup("strip")
	}
	return t, err
}

// CrossTools finds those that build for linux/arm64 on another machine.
func (v Variant) CrossTools() (t Tools, err error) {
	t.Arch = "arm64"
	find := func(to *string, name string) {
		if err == nil {
			*to, err = testneed.Lookup(name)
		}
	}
	find(&t.CC, "aarch64-linux-gnu-gcc")
	if v.Rust {
		find(&t.Rust, "rustc")
	}
	if v.Compiler == "clang" {
		find(&t.CC, "clang")
	}
	if v.language() != "c" {
		find(&t.CXX, "aarch64-linux-gnu-g++")
	}
	if v.Stripped {
		find(&t.Strip, "aarch64-linux-gnu-strip")
	}
	return t, err
}

// Program is a built variant.
type Program struct {
	Path    string
	Library string // where the native code is, "" for Static
	load    string // how it is loaded, see macho.c
}

// Env is the environment that the program needs.
func (p Program) Env() []string {
	env := os.Environ()
	for name, value := range p.Variables() {
		env = append(env, name+"="+value)
	}
	return env
}

// Variables are those of the environment that say how it runs.
func (p Program) Variables() map[string]string {
	return map[string]string{"NATIVE_LIBRARY": p.Library, "NATIVE_LOAD": p.load}
}

// Program is what [Variant.Build] builds, which may have been done on another machine.
func (v Variant) Program(folder string) Program {
	dir := filepath.Join(folder, v.Name)
	p := Program{Path: filepath.Join(dir, "native")}
	switch {
	case v.Linkage == Static:
	case v.MachO != "":
		p.Library = filepath.Join(dir, "libnative.dylib")
	default:
		p.Library = filepath.Join(dir, "libnative.so")
	}
	if v.MachO != "" && v.InMemory {
		p.load = "memory"
	}
	return p
}

// Build builds the variant in a folder of its own below folder. What is to have no tables
// has none, or the build fails.
func (v Variant) Build(folder string, tools Tools) (Program, error) {
	p, err := v.build(folder, tools)
	if err == nil && v.Tableless() {
		err = v.check(p, tools)
	}
	return p, err
}

func (v Variant) check(p Program, tools Tools) error {
	source := filepath.Join(filepath.Dir(p.Path), "checked")
	if err := writeSources(source); err != nil {
		return err
	}
	images := []string{p.Path}
	if p.Library != "" {
		images = append(images, p.Library)
	}
	return CheckTableless(tools, v.CFlags, filepath.Join(source, "native.c"), images...)
}

func (v Variant) build(folder string, tools Tools) (Program, error) {
	p := v.Program(folder)
	dir := filepath.Dir(p.Path)
	source := filepath.Join(dir, "src")
	if err := writeSources(source); err != nil {
		return p, err
	}
	native := "native." + v.language()
	if v.language() != "c" {
		if err := os.Rename(filepath.Join(source, "native.c"), filepath.Join(source, native)); err != nil {
			return p, err
		}
	}
	cflags := v.CFlags + v.sframeFlags(source, tools)
	ldflags := "-pthread"
	if v.Rust {
		library, err := buildRust(dir, source, tools)
		if err != nil {
			return p, err
		}
		cflags += " -DNATIVE_RUST"
		ldflags += " " + library + " -ldl -lm -lgcc_s"
	}
	if v.MachO != "" {
		cflags += " -DNATIVE_MACHO"
	}
	if tools.Arch != "" && v.Compiler == "clang" {
		cflags += " --target=aarch64-linux-gnu"
		ldflags += " --target=aarch64-linux-gnu"
	}
	var others []string // sources of the other linkages
	switch v.Linkage {
	case Static:
		others = []string{"shim.c"}
	case Opened:
		others = []string{native}
		ldflags += " -ldl"
	case Linked:
		others = []string{native, "shim.c"}
		ldflags += " -L" + dir + " -lnative -Wl,-rpath," + dir
	}
	if v.Linkage != Static {
		if err := v.buildLibrary(p.Library, filepath.Join(source, native), cflags, tools); err != nil {
			return p, err
		}
	}
	for _, name := range others {
		if err := os.Remove(filepath.Join(source, name)); err != nil {
			return p, err
		}
	}
	build := exec.Command("go", "build", "-o", p.Path, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "CC="+tools.CC, "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=", "GO111MODULE=on",
		"CGO_CFLAGS="+cflags, "CGO_LDFLAGS="+ldflags+v.sframeLinker(tools))
	if tools.Arch != "" {
		build.Env = append(build.Env, "GOARCH="+tools.Arch)
	}
	if v.language() != "c" {
		build.Env = append(build.Env, "CXX="+tools.CXX, "CGO_CXXFLAGS="+cflags)
	}
	return p, command(build)
}

// buildLibrary builds the native code as a library, stripped if it is to be.
func (v Variant) buildLibrary(library, native, cflags string, tools Tools) error {
	if err := v.linkLibrary(library, native, cflags, tools); err != nil || !v.Stripped {
		return err
	}
	return command(exec.Command(tools.Strip, "-s", library))
}

func (v Variant) linkLibrary(library, native, cflags string, tools Tools) error {
	switch {
	case v.MachO != "":
		return UnpackMachO(library, v.MachO)
	case v.isPrebuilt(tools):
		return UnpackSFrame(library, v.SFrame, tools.Arch)
	}
	args := append(strings.Fields(cflags), "-shared", "-fPIC", "-pthread", "-o", library, native)
	compiler := tools.CC
	if v.language() != "c" {
		compiler = tools.CXX
	}
	if v.Rust {
		args = append(args, filepath.Join(filepath.Dir(library), rustLibrary))
	}
	return command(exec.Command(compiler, args...))
}

const rustLibrary = "libnative_rust.a"

// buildRust builds the Rust part as a static library in dir.
func buildRust(dir, source string, tools Tools) (string, error) {
	library := filepath.Join(dir, rustLibrary)
	args := []string{"--edition", "2021", "--crate-type", "staticlib", "-C", "opt-level=2", "-C", "force-frame-pointers=yes",
		"-o", library, filepath.Join(source, "native.rs")}
	if tools.Arch == "arm64" {
		args = append(args, "--target", "aarch64-unknown-linux-gnu")
	}
	return library, command(exec.Command(tools.Rust, args...))
}

// writeSources writes the program's sources as a module.
func writeSources(to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	const from = "testdata/native"
	entries, err := fs.ReadDir(sources, from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := sources.ReadFile(path.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), data, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(to, "go.mod"), []byte("module native\n\ngo 1.24\n"), 0o644)
}

func command(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
