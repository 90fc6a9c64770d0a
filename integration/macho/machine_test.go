package macho

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/testneed"
)

// launch starts a program and lets it run until its libraries are mapped. stack
// is the program's stack itself, as it changes.
func launch(t testing.TB, p *program) (m singlestep.Program, stack []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stack")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(stackSize); err != nil {
		t.Fatal(err)
	}
	if stack, err = syscall.Mmap(int(file.Fd()), 0, stackSize, syscall.PROT_READ, syscall.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(stack) })
	args := []string{path, p.libraries[0], p.libraries[1]}
	if p.target.name == "arm64" {
		m = singlestep.Emulate(t, singlestep.Emulator{Path: testneed.Tool(t, "qemu-aarch64"), Order: binary.LittleEndian,
			Registers: singlestep.RegistersARM64, Further: singlestep.FurtherARM64}, p.loader, args...)
	} else {
		m = startTraced(t, p.loader, args...)
	}
	if err := m.RunTo(symbol(t, p.loader, "enter")); err != nil {
		t.Fatal(err)
	}
	return m, stack
}

// symbol finds a symbol of an ELF file.
func symbol(t testing.TB, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == name {
			return s.Value
		}
	}
	t.Fatalf("%s has no symbol %s", path, name)
	return 0
}
