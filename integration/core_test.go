package integration

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testkit"
)

// dump runs the program until it crashes; stem begins the names of its records.
func dump(t testing.TB, p program.Program, scenario string) (core, stem string) {
	t.Helper()
	stem = filepath.Join(t.TempDir(), "record")
	return testkit.Core(t, p.Env(), p.Path, scenario, "core", stem), stem
}

// TestCore compares the stacks in core files with the program's record, with
// code in libraries too, which Delve reads as if it were the executable's.
func TestCore(t *testing.T) {
	for _, name := range []string{"static-O2-omit", "linked-O2-omit-stripped", "opened-O1-g-fp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := variantNamed(t, name)
			p := build(t, v)
			for _, s := range program.Scenarios {
				if s.Stop != "int3" || s.Name == "callback" { // which stops in runtime.Breakpoint
					continue
				}
				t.Run(s.Name, func(t *testing.T) {
					core, stem := dump(t, p, s.Name)
					stopped{clew(t, "stack", "--core", core, "--goroutine", "current", "--format", "json", p.Path), stem}.check(t, v, s.Groups)
					if s.Name != "nested" {
						return
					}
					stopped{clew(t, "stack", "--core", withoutCode(t, core), "--goroutine", "current", "--format", "json", p.Path), stem}.check(t, v, s.Groups)
					// A snapshot of it has the same stacks, and every goroutine has a stack.
					file := filepath.Join(t.TempDir(), "core.jsonl")
					clew(t, "stack", "--core", core, "--goroutine", "current", "--format", "snapshot", "-o", file, p.Path).want(t, done)
					unwindSame(t, file)
					if offers := clew(t, "__complete", "stack", "--core", core, p.Path, "--goroutine", "").want(t, done); !strings.Contains(offers.stdout, "\n1\t") {
						t.Errorf("completion without goroutine 1: %v", offers)
					}
					if all := clew(t, "stack", "--core", core, "--goroutine", "all", "--format", "json", p.Path).stacks(t); len(all) < 4 {
						t.Errorf("%d goroutines", len(all))
					}
				})
			}
		})
	}
}

// withoutCode makes a core file that does not describe the mappings of code, as
// gdb's gcore does: it names their files, and no more.
func withoutCode(t testing.TB, core string) string {
	t.Helper()
	f, err := elf.Open(core)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	const header, headers, typ = 64, 56, 0 // sizes of Elf64_Ehdr and Elf64_Phdr; p_type
	for i, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			binary.LittleEndian.PutUint32(data[header+headers*i+typ:], uint32(elf.PT_NULL))
		}
	}
	path := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBadCore: files that are no core files, or are of another program.
func TestBadCore(t *testing.T) {
	v, other := variantNamed(t, "static-O2-omit"), variantNamed(t, "static-O2-fp")
	p, q := build(t, v), build(t, other)
	core, _ := dump(t, p, "plain")
	data, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	clew(t, "stack", "--core", core, q.Path).oneLine(t, failed, "another build", q.Path)
	if named := clew(t, "stack", "--core", core, "--goroutine", "all", "--format", "json").stacks(t); len(named) < 4 {
		t.Errorf("with the executable that the core file names: %d stacks", len(named))
	}
	clew(t, "stack", "--core", core, "--sysroot", t.TempDir()).oneLine(t, failed, p.Path, "name the executable")
	clew(t, "stack", "--core", p.Path, p.Path).oneLine(t, failed, "not a core file")
	clew(t, "stack", "--core", file("empty", nil), p.Path).oneLine(t, failed, "core file")
	clew(t, "stack", "--core", filepath.Join(t.TempDir(), "none"), p.Path).oneLine(t, failed, "no such file")
	clew(t, "stack", "--core", core, filepath.Join(t.TempDir(), "none")).oneLine(t, failed, "no such file")
	clew(t, "stack", "--core", core, "/bin/sh").oneLine(t, failed)
	clew(t, "stack", "--core", core, "--pid", "1", p.Path).oneLine(t, usage, "--pid")
	// Cut off, as when the disk is full: the rest is used or refused, in
	// one line, and nothing is invented.
	for _, size := range []int{100, 5000, len(data) / 2, len(data) - 4096} {
		o := clew(t, "stack", "--core", file("cut", data[:size]), "--goroutine", "current", "--format", "json", p.Path)
		switch o.code {
		case failed:
			o.oneLine(t, failed, "core file")
		case done, truncated:
			if !json.Valid(bytes.TrimSpace([]byte(o.stdout))) {
				t.Errorf("cut to %d bytes: %v", size, o)
			}
		default:
			t.Errorf("cut to %d bytes: %v", size, o)
		}
	}
}

// TestWrongEntry: where a core file says that the program begins elsewhere, the runtime's variables are not there: which goroutines
// there are is not known. The threads have their stacks all the same.
func TestWrongEntry(t *testing.T) {
	p := build(t, variantNamed(t, "static-O2-omit"))
	core, _ := dump(t, p, "plain")
	exe, err := elf.Open(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	data, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	const atEntry, elsewhere = 9, 1 << 30 // AT_ENTRY (elf.h)
	entry := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, atEntry), exe.Entry)
	at := bytes.Index(data, entry)
	if at < 0 {
		t.Fatal("the core file has no entry point")
	}
	binary.LittleEndian.PutUint64(data[at+8:], exe.Entry+elsewhere)
	write(t, core, data)
	const unknown = "runtime.allglen: cannot read 8 bytes"
	clew(t, "stack", "--core", core, "--goroutine", "all", p.Path).oneLine(t, failed, unknown)
	o := clew(t, "stack", "--core", core, p.Path)
	if o.want(t, truncated); !strings.Contains(o.stdout, "\nthread ") || !strings.Contains(o.stderr, "which goroutines there are is not known, and all threads are shown: ") ||
		!strings.Contains(o.stderr, unknown) {
		t.Errorf("%v", o)
	}
}
