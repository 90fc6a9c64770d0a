package places

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

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/integration/internal/shadow"
	"github.com/clewdbg/clew/internal/testkit"
)

//go:embed testdata/steps
var sources embed.FS

// variant is a way to build testdata/steps.
type variant struct {
	program.Variant
	// leafflags are for leaf.c, of a library, where they are not CFlags.
	leafflags string
	onARM64   bool // it is for arm64 alone
}

// The variants: those of the other tests, one with lines and no frame pointers,
// and one whose leaf has lines and whose callers have no tables. On arm64 each comes with
// signed return addresses, too.
var variants = func() (list []variant) {
	for _, v := range program.Variants {
		list = append(list, variant{Variant: v})
	}
	list = append(list,
		variant{Variant: program.Variant{Name: "static-O2-g-omit", CFlags: "-O2 -g -fomit-frame-pointer"}},
		variant{leafflags: "-O1 -g", Variant: program.Variant{Name: "linked-g-called-by-notables", Linkage: program.Linked,
			CFlags: "-O2 -g0 -fomit-frame-pointer " + program.NoTables}})
	for _, v := range list[:len(list):len(list)] {
		if v.leafflags == "" {
			v.Name, v.CFlags, v.onARM64 = "pac-"+v.Name, v.CFlags+" -mbranch-protection=standard", true
			list = append(list, v)
		}
	}
	return list
}()

// built is a built variant and the facts that a debugger cannot know of it.
type built struct {
	variant   variant
	path      string
	native    string // where the C code is, "" for static
	spots     map[string]uint64
	functions map[string]elf.Symbol // of the C code and of Go
	// asmcgocall are the two places in runtime.asmcgocall: at the calls of C code,
	// and behind them.
	atCall, behindCall []uint64
}

// program is a variant that was built below folder.
func (v variant) program(folder string) *built {
	dir := filepath.Join(folder, v.Name)
	p := &built{variant: v, path: filepath.Join(dir, "steps"), functions: make(map[string]elf.Symbol), spots: make(map[string]uint64)}
	if v.Linkage != program.Static {
		p.native = filepath.Join(dir, "libsteps.so")
	}
	return p
}

// unstripped is the library with its symbols, where no debugger looks for it.
func (p *built) unstripped() string {
	return filepath.Join(filepath.Dir(p.native), "with-symbols", "libsteps.so")
}

// learn takes in what is to be known of the program.
func (p *built) learn() error {
	if p.native != "" {
		if err := p.read(p.unstripped()); err != nil {
			return err
		}
	}
	return p.read(p.path)
}

// build builds a variant below folder. What is to have no tables has none, or the build fails.
func (v variant) build(folder string, tools program.Tools) (*built, error) {
	p, err := v.make(folder, tools)
	if err == nil && v.Tableless() {
		err = p.checkTableless(tools)
	}
	return p, err
}

func (p *built) checkTableless(tools program.Tools) error {
	source := filepath.Join(filepath.Dir(p.path), "checked")
	if err := os.MkdirAll(source, 0o755); err != nil {
		return err
	}
	if err := write(source, nativeFiles...); err != nil {
		return err
	}
	images := []string{p.path}
	if p.native != "" {
		images = append(images, p.native, p.unstripped())
	}
	return program.CheckTableless(tools, p.variant.CFlags, filepath.Join(source, "steps.c"), images...)
}

func (v variant) make(folder string, tools program.Tools) (*built, error) {
	p := v.program(folder)
	dir := filepath.Dir(p.path)
	source := filepath.Join(dir, "src")
	if err := os.MkdirAll(source, 0o755); err != nil {
		return nil, err
	}
	files, ldflags := []string{"main.go", "steps.h"}, ""
	switch v.Linkage {
	case program.Static:
		files = append(files, nativeFiles...)
	case program.Opened:
		files, ldflags = append(files, "shim.c"), "-ldl"
	case program.Linked:
		ldflags = "-L" + dir + " -lsteps -Wl,-rpath," + dir
	}
	if err := write(source, files...); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(source, "go.mod"), []byte("module steps\n\ngo 1.24\n"), 0o644); err != nil {
		return nil, err
	}
	if err := p.buildLibrary(dir, tools); err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-o", p.path, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "CC="+tools.CC, "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=", "GO111MODULE=on",
		"CGO_CFLAGS="+v.CFlags, "CGO_LDFLAGS="+ldflags+" -pthread")
	if tools.Arch != "" {
		build.Env = append(build.Env, "GOARCH="+tools.Arch)
	}
	return p, testkit.Run(build)
}

// buildLibrary builds the C code as a library.
func (p *built) buildLibrary(dir string, tools program.Tools) error {
	v := p.variant
	if v.Linkage == program.Static {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.unstripped()), 0o755); err != nil {
		return err
	}
	if err := write(dir, nativeFiles...); err != nil {
		return err
	}
	leaf := filepath.Join(dir, "leaf.o")
	flags := strings.Fields(v.CFlags)
	leafflags := flags
	if v.leafflags != "" {
		leafflags = strings.Fields(v.leafflags)
	}
	if err := testkit.Run(exec.Command(tools.CC, append(leafflags, "-fPIC", "-c", "-o", leaf, filepath.Join(dir, "leaf.c"))...)); err != nil {
		return err
	}
	args := append(flags, "-shared", "-fPIC", "-pthread", "-o", p.unstripped(), filepath.Join(dir, "steps.c"), leaf)
	if err := testkit.Run(exec.Command(tools.CC, args...)); err != nil {
		return err
	}
	if v.Stripped {
		return testkit.Run(exec.Command(tools.Strip, "-s", "-o", p.native, p.unstripped()))
	}
	return os.Link(p.unstripped(), p.native)
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

// read takes functions and spots from a file.
func (p *built) read(name string) error {
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
func (p *built) readSwitch(f *elf.File, fn elf.Symbol) error {
	text := f.Section(".text")
	code := make([]byte, fn.Size)
	if _, err := text.ReadAt(code, int64(fn.Value-text.Addr)); err != nil {
		return err
	}
	if err := p.callsOf(f.Machine, fn.Value, code); err != nil {
		return err
	}
	if len(p.atCall) == 0 {
		return fmt.Errorf("runtime.asmcgocall has no call of C code")
	}
	return nil
}

// callsOf notes the calls of C code in the code of a function: through a register, or (Go
// 1.26 on amd64) through a landing pad that jumps to it.
func (p *built) callsOf(machine elf.Machine, start uint64, code []byte) error {
	pad := p.functions["runtime.asmcgocall_landingpad.abi0"].Value
	for at := 0; at < len(code); {
		size, is := 4, shadow.KindOfARM64(code[at:]) == shadow.Call && code[at+3] == 0xd6 // blr
		if machine == elf.EM_X86_64 {
			inst, err := x86asm.Decode(code[at:], 64)
			if err != nil {
				return fmt.Errorf("runtime.asmcgocall+%d: %w", at, err)
			}
			target, direct := inst.Args[0].(x86asm.Rel)
			to := start + uint64(at+inst.Len) + uint64(int64(target))
			size, is = inst.Len, inst.Op == x86asm.CALL && (!direct || to == pad)
		}
		if is {
			p.atCall = append(p.atCall, start+uint64(at))
			p.behindCall = append(p.behindCall, start+uint64(at+size))
		}
		at += size
	}
	return nil
}

// cFunctions are those of steps.c, which may lie in the library.
func (p *built) inLibrary(function string) bool {
	return p.native != "" && !strings.HasPrefix(function, "main.") && !strings.HasPrefix(function, "runtime.")
}
