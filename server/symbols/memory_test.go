package symbols

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asLoaded lays the segments of a file out as a loader does, relative relocations
// included, and returns the memory from address 0 on, and the header's address.
func asLoaded(t *testing.T, path string, bias uint64) (memory []byte, base uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if p.Off == 0 {
			base = bias + p.Vaddr
		}
		if end := bias + p.Vaddr + p.Memsz; end > uint64(len(memory)) {
			memory = append(memory, make([]byte, end-uint64(len(memory)))...)
		}
		if _, err := p.ReadAt(memory[bias+p.Vaddr:][:p.Filesz], 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA {
			continue
		}
		entries, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		for ; len(entries) >= 24; entries = entries[24:] {
			if elf.R_X86_64(uint32(f.ByteOrder.Uint64(entries[8:]))) == elf.R_X86_64_RELATIVE {
				f.ByteOrder.PutUint64(memory[bias+f.ByteOrder.Uint64(entries):], bias+f.ByteOrder.Uint64(entries[16:]))
			}
		}
	}
	return memory, base
}

// TestLoadedGo: Go's function table is found in memory where a loader has put a
// program, wherever that is.
func TestLoadedGo(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(1) }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"exe", "pie"} {
		exe := filepath.Join(dir, mode)
		build := exec.Command("go", "build", "-buildmode="+mode, "-o", exe, source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want, err := Open(exe)
		if err != nil {
			t.Fatal(err)
		}
		bias := uint64(0)
		if mode == "pie" {
			bias = 0x123000
		}
		memory, base := asLoaded(t, exe, bias)
		got, _, err := Loaded(bytes.NewReader(memory), base, bias)
		if err != nil {
			t.Fatal(mode, err)
		}
		for _, name := range []string{"main.main", "runtime.mcall", "runtime.goexit"} {
			if w, g := want.Find(name), got.Find(name); len(w) == 0 || len(g) == 0 || w[0] != g[0] {
				t.Errorf("%s: %s lies at %#x, in memory at %#x", mode, name, w, g)
			}
		}
		table := got.GoTable()
		if table == nil {
			t.Fatalf("%s: no table of Go's", mode)
		}
		at := want.Find("main.main")[0]
		fn, _ := table.Func(at)
		file, line, ok := fn.FileLine(at)
		if !ok || line != 3 || !strings.HasSuffix(file, "main.go") {
			t.Errorf("%s: main.main is at %s:%d, %v", mode, file, line, ok)
		}
	}
}
