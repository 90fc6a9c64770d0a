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
	"golang.org/x/arch/x86/x86asm"
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

// kind is the effect of an instruction on the shadow stack.
type kind int

const (
	otherKind kind = iota
	callKind
	returnKind
)

// kindX86 and kindARM64 decode on their own, independently of the tested code.
func kindX86(code []byte) kind {
	in, err := x86asm.Decode(code[:min(len(code), 15)], 64)
	switch {
	case err != nil:
	case in.Op == x86asm.CALL:
		return callKind
	case in.Op == x86asm.RET:
		return returnKind
	}
	return otherKind
}

func kindARM64(code []byte) kind {
	if len(code) < 4 {
		return otherKind
	}
	switch w := binary.LittleEndian.Uint32(code); {
	case w>>26 == 0x25, w&0xfffffc1f == 0xd63f0000, w&0xfefff800 == 0xd63f0800: // bl, blr, blraa and its like
		return callKind
	case w&0xfffffc1f == 0xd65f0000, w == 0xd65f0bff, w == 0xd65f0fff: // ret, retaa, retab
		return returnKind
	}
	return otherKind
}
