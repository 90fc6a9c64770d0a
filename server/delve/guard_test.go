//go:build linux

package delve

import (
	"errors"
	"os"
	"reflect"
	"syscall"
	"testing"
	"unsafe"

	"github.com/go-delve/delve/pkg/proc"
)

// TestGuardField: the one private field that the guard replaces is still there.
func TestGuardField(t *testing.T) {
	field, ok := reflect.TypeFor[proc.Target]().FieldByName("proc")
	if !ok || field.Type != reflect.TypeFor[proc.ProcessInternal]() {
		t.Errorf("proc.Target has no field proc of type proc.ProcessInternal: %+v", field)
	}
}

// TestGuardMappings asks about this process: code may have breakpoints, data may
// not, and what was code may not once it is none.
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
	moments.Add(1) // the target has run
	if err := g.check(code); !errors.As(err, &outside) {
		t.Errorf("a page that is no code any more: %v", err)
	}
	if err := (&guard{pid: 1 << 30}).check(code); !errors.As(err, &outside) || outside.Err == nil {
		t.Errorf("a process that there is not: %v", err)
	}
}
