package interpose

import (
	"errors"
	"maps"
	"os"
	"syscall"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// Runner stands before what runs the processes of a group. Delve has no callback
// between its own breakpoints and a resume, nor between a stop and its decision to
// run on, but whatever command or protocol resumes the program does so through one
// interface value of its group, which the runner replaces:
//
//   - Before a resume, when Delve has written all the breakpoints that it wants for
//     a step, the armed return breakpoint is placed (package steps). Where it cannot
//     be, nothing runs. Breakpoints in native code that has come since are placed (package breakpoints). No step stops between arm64's exclusive instructions (exclusive.go).
//   - After a stop Delve learns of the libraries that hold Go code (libraries.go).
//   - Then, before Delve evaluates any condition, threads are marked that
//     stand at a breakpoint instruction of the program's own (hardcoded.go),
//     processes that are new get their guard, and conditions in native code are evaluated (package breakpoints).
//   - Before a process is left, it is cleared of what would kill it (release.go).
//
// The target's lock is held in all of them.
type Runner struct {
	proc.ProcessGroup
	group *proc.TargetGroup
	// Armed is a step that is under way; nil for none.
	Armed armed
	// breaks are the breakpoints that clew places; nil where there can be none.
	breaks *breakpoints.Set
	// launched says that Delve has started the program.
	launched bool
	// resumed says that the program was continued through the runner since it stands
	// here; until then, first is the program's own time when it last stopped.
	resumed bool
	first   uint64
	// goLibraries has the libraries that were looked at, and whether they hold Go code.
	goLibraries map[string]bool
	// brks are the threads at arm64 breakpoint instructions of the program's own, and where
	// those are.
	brks map[int]uint64
}

// armed is a step's breakpoints that are to be placed, or are.
type armed interface {
	// Place is called before each resume, with the target's lock held, while every thread stands. With an error nothing runs.
	Place() error
	// CheckReplaced is called after each stop: the program may have replaced the code under them.
	CheckReplaced()
}

// RunnerOf returns the runner of a group, and puts it there first if necessary.
func RunnerOf(group *proc.TargetGroup) (*Runner, error) {
	held, err := internals.ProcessGroup(group)
	if err != nil {
		return nil, err
	}
	r, done := (*held).(*Runner)
	if !done {
		r = &Runner{ProcessGroup: *held, group: group, first: TimeOf(group)}
		*held = r
		resumes.Add(1)
	}
	return r, nil
}

// Prepare puts the guard and the runner where Delve's writes and resumes pass.
func Prepare(group *proc.TargetGroup, breaks *breakpoints.Set, launched bool) error {
	if err := guardGroup(group, launched); err != nil {
		return err
	}
	r, err := RunnerOf(group)
	if err == nil {
		r.launched = launched
	}
	resumes.Add(1)
	if recorded, _ := group.Recorded(); err != nil || recorded {
		return err
	}
	r.breaks = breaks
	return r.addLibraries() // Delve has attached without any
}

// ContinueOnce runs the program until one of its threads stops.
func (r *Runner) ContinueOnce(cctx *proc.ContinueOnceContext) (proc.Thread, proc.StopReason, error) {
	if err := r.prepare(); err != nil {
		if cctx != nil && cctx.ResumeChan != nil {
			close(cctx.ResumeChan) // whoever waits for it learns of the error
			cctx.ResumeChan = nil
		}
		return nil, proc.StopUnknown, err
	}
	r.resumed = true
	resumes.Add(1)
	show := r.hideLibraries()
	recorded, _ := r.group.Recorded()
	inside.enter(r.group, !recorded)
	thread, reason, err := r.ProcessGroup.ContinueOnce(cctx)
	inside.leave()
	show()
	resumes.Add(1)
	if err == nil {
		err = r.addLibraries()
	}
	if err == nil {
		reason = r.stopped(thread, reason)
	}
	return thread, reason, err
}

// prepare is what comes before a resume.
func (r *Runner) prepare() error {
	r.placeBreaks()
	if r.Armed != nil {
		if err := r.Armed.Place(); err != nil { // or the program would run away
			return err
		}
	}
	for _, step := range []func() error{r.freeCalls, r.passBrk, r.freeSequences} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// placeBreaks places breakpoints in code that has come since.
func (r *Runner) placeBreaks() {
	if r.breaks == nil {
		return
	}
	if valid, _ := r.group.Selected.Valid(); valid {
		r.breaks.Refresh(r.group.Selected)
	}
}

// stepBrk is a step over a breakpoint instruction of the program's own where that does
// nothing but stop.
func (r *Runner) stepBrk(id int) (passed bool, err error) {
	for _, target := range r.group.Targets() {
		if thread, ok := target.FindThread(id); ok {
			return skipBrk(target, thread)
		}
	}
	return false, nil
}

// passBrk moves threads behind breakpoint instructions of the program's own.
func (r *Runner) passBrk() error {
	for _, target := range r.group.Targets() {
		if valid, _ := target.Valid(); valid {
			if err := passBrk(target, r.brks); err != nil {
				return err
			}
		}
	}
	r.brks = nil
	return nil
}

// StepInstruction has a thread execute one instruction.
func (r *Runner) StepInstruction(thread int) error {
	resumes.Add(1)
	defer resumes.Add(1)
	for _, step := range []func(int) (bool, error){r.stepBrk, r.stepSequence} {
		if done, err := step(thread); done || err != nil {
			return err
		}
	}
	recorded, _ := r.group.Recorded()
	inside.enter(r.group, !recorded) // the instruction may be a system call that waits
	err := r.ProcessGroup.StepInstruction(thread)
	inside.leave()
	if !r.resumed {
		r.first = TimeOf(r.group)
	}
	return err
}

// Detach leaves a process. Delve has taken back the user's breakpoints before. What
// is killed suffers nothing more.
func (r *Runner) Detach(pid int, kill bool) error {
	if !kill {
		_ = r.passBrk() // a process that has exited has none
		release(r.group, pid)
	}
	resumes.Add(1)
	err := r.ProcessGroup.Detach(pid, kill)
	if err != nil && kill && endAnyway(pid) {
		err = nil
	}
	if err == nil {
		noteGuard(life.Load().Spare(pid))
	}
	return err
}

// endAnyway kills a process that Delve has refused to kill, if this process traces it. Delve asks the kernel whether a thread
// has stopped, and searches the answer for the name that the process had at its start (pkg/proc/native/proc_linux.go, status): a
// process that has changed its name seems to run. The kernel reaps it when clew, its parent, ends. Test: integration/scenarios, renamed.
func endAnyway(pid int) bool {
	status, err := procfs.ReadStatus(pid)
	if errors.Is(err, syscall.EMFILE) { // Delve could not ask for the same reason: it has found the process before
		return syscall.Kill(pid, syscall.SIGKILL) == nil
	}
	if err != nil {
		return false
	}
	_, err = os.Stat("/proc/self/task/" + status.Field("TracerPid")) // one of this process's threads
	return err == nil && status.Field("TracerPid") != "" && syscall.Kill(pid, syscall.SIGKILL) == nil
}

// stopped checks every thread of a program that has just stopped. The reason is
// that of the stop.
func (r *Runner) stopped(trapped proc.Thread, reason proc.StopReason) proc.StopReason {
	if r.Armed != nil {
		r.Armed.CheckReplaced()
	}
	_ = guardGroup(r.group, r.launched) // a target may be new: a program that was followed into
	r.brks = make(map[int]uint64)
	for _, target := range r.group.Targets() {
		if valid, _ := target.Valid(); !valid {
			continue
		}
		for _, thread := range target.ThreadList() {
			markHardcoded(target, thread)
		}
		if targets.Arch(target) == unwind.ARM64 {
			maps.Copy(r.brks, markedBrks(target))
		}
		if r.breaks != nil {
			r.breaks.Judge(target)
		}
		// Delve takes the reason from here for the target that has stopped.
		if trapped != nil && reason == proc.StopUnknown && hasMark(target) {
			if _, ok := target.FindThread(trapped.ThreadID()); ok {
				reason = proc.StopHardcodedBreakpoint
			}
		}
	}
	return reason
}

// CheckRoute says whether Delve has let the program run by another way than the
// runner: then no breakpoint of clew's would be placed in time.
func (r *Runner) CheckRoute() error {
	if r.resumed || r.first == 0 || TimeOf(r.group) == r.first {
		return nil
	}
	return internals.Changed(internals.EntryProcessGroup, "the program has run, and not through TargetGroup.procgrp")
}

// TimeOf tells whether a process has run meanwhile: the count of the times at which
// the kernel took its first thread off a processor. It is 0 where it is not known.
func TimeOf(group *proc.TargetGroup) uint64 {
	if recorded, _ := group.Recorded(); recorded || group.Selected == nil {
		return 0
	}
	pid := group.Selected.Pid()
	if th, ok := group.Selected.FindThread(pid); ok {
		_, _ = th.Registers() // which the kernel has only of a thread that is off its processor
	}
	return switches(pid)
}

// switches counts a process's context switches. A thread that a debugger holds has
// none, whatever is done to its registers and memory.
func switches(pid int) uint64 {
	status, err := procfs.ReadStatus(pid)
	if err != nil {
		return 0
	}
	return uint64(status.Number("voluntary_ctxt_switches") + status.Number("nonvoluntary_ctxt_switches"))
}
