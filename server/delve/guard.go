package delve

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/imagemap"
)

// Delve writes a breakpoint wherever it is told to, and it tells itself to write
// one at what it takes for a return address: a word of the heap, or of the
// program's own data. Every such write goes through one method of the process
// that a proc.Target holds (WriteBreakpoint). The guard stands before it and
// refuses what lies outside the executable mappings, whichever command or
// protocol asked. It also stands before EraseBreakpoint, which would write the
// original byte back into whatever is at the address by then.
//
// The field that holds the process is not exported. The guard replaces its value
// through reflection, after checking its type; where that fails, as it would
// with another release of Delve, the session does not start.
// Test: TestGuard, and integration/stepping.
type guard struct {
	proc.ProcessInternal
	pid int
}

// OutsideCodeError says that a breakpoint was to be written where no code can
// be.
type OutsideCodeError struct {
	Addr uint64
	Err  error // why the mappings could not be read, nil where they could
}

// Error names the address.
func (e *OutsideCodeError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("no breakpoint is written at %#x: whether it is code cannot be checked: %v", e.Addr, e.Err)
	}
	return fmt.Sprintf("no breakpoint is written at %#x: it lies outside every executable mapping", e.Addr)
}

// Unwrap gives the cause.
func (e *OutsideCodeError) Unwrap() error { return e.Err }

// WriteBreakpoint refuses software breakpoints outside of code. Watchpoints are
// registers of the processor and change no memory.
func (g *guard) WriteBreakpoint(bp *proc.Breakpoint) error {
	if bp.WatchType == 0 {
		if err := checkExecutable(g.pid, bp.Addr); err != nil {
			return err
		}
	}
	return g.ProcessInternal.WriteBreakpoint(bp)
}

// EraseBreakpoint leaves memory alone that holds the breakpoint no more: the
// program has replaced its code (execve, dlclose), or written over it.
func (g *guard) EraseBreakpoint(bp *proc.Breakpoint) error {
	if bp.WatchType == 0 && !stillPlanted(g.ProcessInternal, bp) {
		return nil
	}
	return g.ProcessInternal.EraseBreakpoint(bp)
}

// stillPlanted says whether the breakpoint instruction is where it was written.
func stillPlanted(p proc.Process, bp *proc.Breakpoint) bool {
	want := p.BinInfo().Arch.BreakpointInstruction()
	have := make([]byte, len(want))
	n, err := p.Memory().ReadMemory(have, bp.Addr)
	return err == nil && n == len(have) && bytes.Equal(have, want)
}

// checkExecutable says whether addr lies in an executable mapping. The mappings
// are read each time: nothing remembered could be relied on.
func checkExecutable(pid int, addr uint64) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return &OutsideCodeError{Addr: addr, Err: err}
	}
	defer f.Close()
	maps, err := imagemap.ParseMaps(f)
	if err != nil {
		return &OutsideCodeError{Addr: addr, Err: err}
	}
	if m, ok := mappingAt(maps, addr); !ok || !m.Executable() {
		return &OutsideCodeError{Addr: addr}
	}
	return nil
}

// guardTarget puts the guard before a target's process, once. Only Linux lists
// its mappings; elsewhere there is no guard.
func guardTarget(t *proc.Target) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	field := reflect.ValueOf(t).Elem().FieldByName("proc")
	if !field.IsValid() || field.Type() != reflect.TypeFor[proc.ProcessInternal]() {
		return fmt.Errorf("this release of Delve keeps its process elsewhere: breakpoints could be written outside of code")
	}
	held := (*proc.ProcessInternal)(unsafe.Pointer(field.UnsafeAddr()))
	if _, done := (*held).(*guard); !done {
		*held = &guard{ProcessInternal: *held, pid: t.Pid()}
	}
	return nil
}

// guardGroup guards every target of a group. Recordings and core files have no
// memory that could be harmed, and no mappings to ask the kernel for.
func guardGroup(group *proc.TargetGroup) error {
	if recorded, _ := group.Recorded(); recorded {
		return nil
	}
	for _, t := range group.Targets() {
		if err := guardTarget(t); err != nil {
			return err
		}
	}
	return nil
}
