package main

import (
	"debug/elf"
	"embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

//go:embed testdata/steps
var sources embed.FS

// linkage says where the C code is.
type linkage int

const (
	static linkage = iota // in the program
	linked                // in a library that the program is linked with
	opened                // in a library that the program opens when it runs
)

// variant is a way to build testdata/steps.
type variant struct {
	name     string
	cflags   string
	linkage  linkage
	stripped bool // the library
	// undescribed: C functions that nobody can be sure of, so that steps out of
	// them may be refused. Without frame pointers and tables, or with frame
	// pointers in functions that have no names left.
	undescribed bool
	// leafflags are for leaf.c, of a library, where they are not cflags.
	leafflags string
}

// The variants: with frame pointers, with call-frame information instead, and
// with neither; with lines and without.
var variants = []variant{
	{name: "static-O0-g-fp", cflags: "-O0 -g"},
	{name: "static-O1-g-fp", cflags: "-O1 -g -fno-omit-frame-pointer"},
	{name: "static-O2-g-omit", cflags: "-O2 -g -fomit-frame-pointer"},
	{name: "static-O2-fp", cflags: "-O2 -g0 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables"},
	{name: "linked-O1-g-fp", cflags: "-O1 -g -fno-omit-frame-pointer", linkage: linked},
	{name: "linked-O2-fp-stripped", cflags: "-O2 -g0 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables", linkage: linked, stripped: true, undescribed: true},
	{name: "opened-O1-g-fp", cflags: "-O1 -g -fno-omit-frame-pointer", linkage: opened},
	{name: "opened-O2-fp-stripped", cflags: "-O2 -g0 -fno-omit-frame-pointer", linkage: opened, stripped: true},

	{name: "static-O2-omit", cflags: "-O2 -g0 -fomit-frame-pointer"},
	{name: "static-O2-omit-notables", cflags: "-O2 -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables", undescribed: true},
	{name: "linked-O2-omit", cflags: "-O2 -g0 -fomit-frame-pointer", linkage: linked},
	{name: "linked-O2-omit-stripped", cflags: "-O2 -g0 -fomit-frame-pointer", linkage: linked, stripped: true},
	{name: "linked-O2-omit-notables-stripped", cflags: "-O2 -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables", linkage: linked, stripped: true, undescribed: true},
	{name: "linked-g-called-by-notables", cflags: "-O2 -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables", leafflags: "-O1 -g", linkage: linked},
}

// program is a built variant and what a debugger cannot know of it.
type program struct {
	variant   variant
	path      string
	library   string // where the C code is, "" for static
	spots     map[string]uint64
	functions map[string]elf.Symbol // of the C code and of Go
	// asmcgocall are the two places in runtime.asmcgocall: at the calls of C code,
	// and behind them.
	atCall, behindCall []uint64
}

// build builds a variant below folder.
func (v variant) build(folder, cc, strip string) (*program, error) {
	dir := filepath.Join(folder, v.name)
	source := filepath.Join(dir, "src")
	if err := os.MkdirAll(source, 0o755); err != nil {
		return nil, err
	}
	p := &program{variant: v, path: filepath.Join(dir, "steps"), functions: make(map[string]elf.Symbol), spots: make(map[string]uint64)}
	files, ldflags := []string{"main.go", "steps.h"}, ""
	switch v.linkage {
	case static:
		files = append(files, nativeFiles...)
	case opened:
		files, ldflags = append(files, "shim.c"), "-ldl"
	case linked:
		ldflags = "-L" + dir + " -lsteps -Wl,-rpath," + dir
	}
	if err := write(source, files...); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(source, "go.mod"), []byte("module steps\n\ngo 1.24\n"), 0o644); err != nil {
		return nil, err
	}
	if err := p.buildLibrary(dir, cc, strip); err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-o", p.path, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "CC="+cc, "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=", "GO111MODULE=on",
		"CGO_CFLAGS="+v.cflags, "CGO_LDFLAGS="+ldflags+" -pthread")
	if err := output(build); err != nil {
		return nil, err
	}
	return p, p.read(p.path)
}

// buildLibrary builds the C code as a library, and reads it before it is
// stripped.
func (p *program) buildLibrary(dir, cc, strip string) error {
	v := p.variant
	if v.linkage == static {
		return nil
	}
	p.library = filepath.Join(dir, "libsteps.so")
	if err := write(dir, nativeFiles...); err != nil {
		return err
	}
	leaf := filepath.Join(dir, "leaf.o")
	flags := strings.Fields(v.cflags)
	leafflags := flags
	if v.leafflags != "" {
		leafflags = strings.Fields(v.leafflags)
	}
	if err := output(exec.Command(cc, append(leafflags, "-fPIC", "-c", "-o", leaf, filepath.Join(dir, "leaf.c"))...)); err != nil {
		return err
	}
	args := append(flags, "-shared", "-fPIC", "-pthread", "-o", p.library, filepath.Join(dir, "steps.c"), leaf)
	if err := output(exec.Command(cc, args...)); err != nil {
		return err
	}
	if err := p.read(p.library); err != nil {
		return err
	}
	if v.stripped {
		return output(exec.Command(strip, "-s", p.library))
	}
	return nil
}

// nativeFiles are the C code's.
var nativeFiles = []string{"steps.c", "leaf.c", "spots.h", "steps.h"}

// write writes files of the program.
func write(to string, names ...string) error {
	for _, name := range names {
		data, err := sources.ReadFile(path.Join("testdata/steps", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func output(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// read takes functions and spots from a file.
func (p *program) read(name string) error {
	f, err := elf.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 {
			if _, have := p.functions[s.Name]; !have {
				p.functions[s.Name] = s
			}
		}
	}
	if s := f.Section("spots"); s != nil {
		data, err := s.Data()
		if err != nil {
			return err
		}
		for len(data) > 8 {
			at := binary.LittleEndian.Uint64(data)
			name, rest, ok := strings.Cut(string(data[8:]), "\x00")
			if !ok {
				return fmt.Errorf("%s: section spots is cut off", name)
			}
			p.spots[name], data = at, []byte(rest)
		}
	}
	if fn, ok := p.functions["runtime.asmcgocall.abi0"]; ok {
		return p.readSwitch(f, fn)
	}
	return nil
}

// readSwitch finds the calls in runtime.asmcgocall.
func (p *program) readSwitch(f *elf.File, fn elf.Symbol) error {
	text := f.Section(".text")
	code := make([]byte, fn.Size)
	if _, err := text.ReadAt(code, int64(fn.Value-text.Addr)); err != nil {
		return err
	}
	for at := 0; at < len(code); {
		inst, err := x86asm.Decode(code[at:], 64)
		if err != nil {
			return fmt.Errorf("runtime.asmcgocall+%d: %w", at, err)
		}
		// C code is called through a register, or (Go 1.26) through a landing pad that
		// jumps to it.
		target, direct := inst.Args[0].(x86asm.Rel)
		to := fn.Value + uint64(at+inst.Len) + uint64(int64(target))
		if inst.Op == x86asm.CALL && (!direct || to == p.functions["runtime.asmcgocall_landingpad.abi0"].Value) {
			p.atCall = append(p.atCall, fn.Value+uint64(at))
			p.behindCall = append(p.behindCall, fn.Value+uint64(at+inst.Len))
		}
		at += inst.Len
	}
	if len(p.atCall) == 0 {
		return fmt.Errorf("runtime.asmcgocall has no call of C code")
	}
	return nil
}

// cFunctions are those of steps.c, which may lie in the library.
func (p *program) inLibrary(function string) bool {
	return p.library != "" && !strings.HasPrefix(function, "main.") && !strings.HasPrefix(function, "runtime.")
}
