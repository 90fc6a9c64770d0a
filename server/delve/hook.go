package delve

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/go-delve/delve/pkg/logflags"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/debugger"
)

// A breakpoint instruction that the program itself contains stops it under
// Delve only in functions that Delve knows; anywhere else (C code without
// DWARF, a stripped library, JIT code) it is passed over silently, and a
// program that reports its own trouble with int3 runs on.
//
// Delve has no callback between a stop and its decision to run on, but it logs
// there, through a logger that an embedder may supply: "callInjection protocol
// on:" comes once per stop, with every thread stopped and before Delve looks
// for such instructions itself (proc.(*TargetGroup).Continue). The hook uses
// that moment to mark the threads as Delve would, had it known the function.
// The state it sets is public API (proc.Thread.Breakpoint).
// Test: integration TestInt3InUnknownCode.
//
// Another line is logged right before every resume, when Delve has written all
// the breakpoints that it wants for a step: there the armed return breakpoint is
// placed ([Session.Arm]).
//
// A third one is logged before a program is started for the first time. What is
// built first has its name only then. Whoever must know of a process before there
// is one is told there ([DAPConfig.OnLaunch]).
//
// The last one is logged when Delve is about to leave a process, before it takes
// the target's lock: see release.go.
type hook struct {
	mu       sync.Mutex
	dbg      *debugger.Debugger
	group    *proc.TargetGroup
	armed    *temporary
	onLaunch func(path string)
}

const (
	stopMoment   = "callInjection protocol on:"
	resumeMoment = "ContinueOnce"
	launchMoment = "launching process with args: %v"
	detachMoment = "detaching"
	// hardcodedID is the logical ID that Delve gives to such stops; it forgets
	// them by this ID when the target goes on.
	hardcodedID = -3
	int3        = 0xcc
)

var theHook = sync.OnceValue(func() *hook {
	h := &hook{}
	logflags.SetLoggerFactory(h.logger)
	// The moment is logged only while the debugger layer logs. The factory's
	// loggers drop what was not asked for ([SetupLogging]).
	_ = logflags.Setup(true, "debugger", "")
	return h
})

func installHook() *hook { return theHook() }

func (h *hook) watch(dbg *debugger.Debugger, group *proc.TargetGroup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dbg, h.group = dbg, group
}

// launches calls f before a program is started, with its path.
func (h *hook) launches(f func(path string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onLaunch = f
}

// launching runs on Delve's own goroutine, when it is about to start a program.
func (h *hook) launching(path string) {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	h.mu.Lock()
	f := h.onLaunch
	h.mu.Unlock()
	if f != nil {
		f(path)
	}
}

// arm has the breakpoint placed at the next resume.
func (h *hook) arm(b *temporary) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.armed = b
}

// disarm forgets the breakpoint, and gives what went wrong with it. was is false
// where none was armed.
func (h *hook) disarm() (failed error, was bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.armed
	h.armed = nil
	if b == nil {
		return nil, false
	}
	return b.failed, true
}

// resuming runs on Delve's own goroutine, which holds the target's lock.
func (h *hook) resuming() {
	h.mu.Lock()
	b := h.armed
	h.mu.Unlock()
	if b == nil || b.placed != nil || b.failed != nil {
		return
	}
	if err := b.place(); err != nil { // which could be done when it was armed
		b.failed = fmt.Errorf("the breakpoint at the caller cannot be placed: %w", err)
		_ = b.group.RequestManualStop() // or the program would run away
	}
}

// detaching runs on Delve's own goroutine, which does not hold the target's lock
// yet. What was launched is killed, and suffers nothing more.
func (h *hook) detaching() {
	h.mu.Lock()
	dbg := h.dbg
	h.mu.Unlock()
	if dbg == nil || dbg.AttachPid() == 0 {
		return
	}
	group, unlock := dbg.LockTargetGroup()
	defer unlock()
	release(group)
}

func (h *hook) logger(flag bool, fields logflags.Fields, out io.Writer) logflags.Logger {
	l := newTextLogger(flag, fields, out)
	if isDebuggerLayer(fields) {
		l.hook = h
	}
	return l
}

// stopped runs on Delve's own goroutine, which holds the target's lock.
func (h *hook) stopped() {
	h.mu.Lock()
	group, armed := h.group, h.armed
	h.mu.Unlock()
	if armed != nil {
		armed.checkReplaced()
	}
	if group == nil {
		return
	}
	_ = guardGroup(group) // a target may be new: a program that was followed into
	for _, target := range group.Targets() {
		if valid, _ := target.Valid(); !valid {
			continue
		}
		for _, thread := range target.ThreadList() {
			markHardcoded(target, thread)
		}
	}
}

// markHardcoded marks a thread that has just executed a breakpoint instruction
// of the program's own in code of no known function.
func markHardcoded(target *proc.Target, thread proc.Thread) {
	state := thread.Breakpoint()
	if state.Breakpoint != nil || !thread.SoftExc() || !target.BinInfo().Arch.BreakInstrMovesPC() {
		return
	}
	loc, err := proc.ThreadLocation(thread)
	if err != nil || loc.Fn != nil {
		return // Delve handles functions that it knows
	}
	var code [1]byte
	if n, err := thread.ProcessMemory().ReadMemory(code[:], loc.PC-1); n != 1 || err != nil || code[0] != int3 {
		return
	}
	for _, bp := range target.Breakpoints().M {
		if bp.Addr == loc.PC-1 {
			return
		}
	}
	stopAt(target, thread, loc.PC)
}

// stopAt makes Delve stop as if the thread had executed a breakpoint instruction
// of the program's own before pc.
func stopAt(target *proc.Target, thread proc.Thread, pc uint64) {
	state := thread.Breakpoint()
	state.Active = true
	state.Breakpoint = &proc.Breakpoint{
		Addr:      pc,
		Logical:   &proc.LogicalBreakpoint{Name: proc.HardcodedBreakpoint},
		Breaklets: []*proc.Breaklet{{Kind: proc.UserBreakpoint, LogicalID: hardcodedID}},
	}
	target.StopReason = proc.StopHardcodedBreakpoint
}
