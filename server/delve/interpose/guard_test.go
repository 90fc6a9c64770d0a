//go:build linux

package interpose

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/go-delve/delve/pkg/proc"
)

// memoryOf is a process that consists of this process's memory.
type memoryOf struct {
	proc.ProcessInternal
	erased []uint64
	halts  int
}

func (m *memoryOf) BinInfo() *proc.BinaryInfo { return proc.NewBinaryInfo("linux", "amd64", false) }

func (m *memoryOf) Memory() proc.MemoryReadWriter { return m }

func (m *memoryOf) ReadMemory(p []byte, addr uint64) (int, error) {
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return 0, err
	}
	defer memory.Close()
	return memory.ReadAt(p, int64(addr))
}

func (m *memoryOf) WriteMemory(uint64, []byte) (int, error) { return 0, errors.New("not here") }

func (m *memoryOf) EraseBreakpoint(bp *proc.Breakpoint) error {
	m.erased = append(m.erased, bp.Addr)
	return nil
}

// TestGuardUndoes: of the breakpoints that were written before there was a guard,
// those outside of code are taken out, where they are still in memory, and no
// others.
func TestGuardUndoes(t *testing.T) {
	page, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(page) }()
	page[0] = int3
	data := make([]byte, 1<<16) // large: on the heap, where it stays
	data[0], data[1], data[2] = int3, int3, 1
	at := func(p *byte) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }
	planted, watched, overwritten := at(&data[0]), at(&data[1]), at(&data[2])
	list := map[uint64]*proc.Breakpoint{}
	for _, addr := range []uint64{at(&page[0]), planted, watched, overwritten} {
		list[addr] = &proc.Breakpoint{Addr: addr}
	}
	list[watched].WatchType = proc.WatchWrite
	process := &memoryOf{}
	g := &guard{ProcessInternal: process, pid: os.Getpid()}
	g.undo(list)
	if len(process.erased) != 1 || process.erased[0] != planted {
		t.Errorf("taken out: %#x, want %#x", process.erased, planted)
	}
	if len(list) != 4 {
		t.Errorf("Delve's list has %d", len(list))
	}
}

// TestGuardMappings asks about this process: code may have breakpoints, data may
// not, nor may what was code before.
func TestGuardMappings(t *testing.T) {
	page, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(page) }()
	code := uint64(uintptr(unsafe.Pointer(&page[0])))
	data := uint64(uintptr(unsafe.Pointer(t)))
	g := &guard{pid: os.Getpid()}
	var outside *OutsideCodeError
	if err := g.check(code); err != nil {
		t.Error(err)
	}
	for _, addr := range []uint64{data, 0, ^uint64(0)} {
		if err := g.check(addr); !errors.As(err, &outside) || outside.Addr != addr {
			t.Errorf("%#x: %v", addr, err)
		}
	}
	if err := syscall.Mprotect(page, syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	resumes.Add(1) // the target has run
	if err := g.check(code); !errors.As(err, &outside) {
		t.Errorf("a page that is no code any more: %v", err)
	}
	if err := (&guard{pid: 1 << 30}).check(code); !errors.As(err, &outside) || outside.Err == nil {
		t.Errorf("a process that there is not: %v", err)
	}
}

func (m *memoryOf) RequestManualStop(*proc.ContinueOnceContext) error { m.halts++; return nil }

// TestGuardReleased: a process that is about to be left is halted no more.
func TestGuardReleased(t *testing.T) {
	m := &memoryOf{}
	g := &guard{ProcessInternal: m}
	for want := range 2 {
		if err := g.RequestManualStop(nil); err != nil || m.halts != 1 {
			t.Errorf("released %v: %d halts, %v", want == 1, m.halts, err)
		}
		g.release()
	}
}
