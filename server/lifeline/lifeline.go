// Package lifeline keeps a debuggee from suffering when its debugger is killed.
//
// When a tracer dies the kernel lets its tracees go on, with three faults. A program that we launched runs on in the background, without a
// debugger. A program that we attached to stays stopped: the SIGSTOP
// that held it is delivered after all. And breakpoints stay in its code, each a
// SIGTRAP that kills it. The guard is a small process of its own, with the debugger
// at the other end of its standard input. When that end closes without a message, it
// kills a launched program, and restores and continues an attached one.
package lifeline

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
)

// Line is a running guard.
type Line struct {
	in  *os.File
	cmd *exec.Cmd
}

// Command is the only argument of a guard, but for withClient. Who calls [Start] has to call [Serve] when it is started with it.
const Command = "lifeline"

// Start runs this program as a guard. client, which may be nil, is the session's connection to its client.
func Start(client *os.File) (*Line, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find clew's own executable: %w", err)
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	defer theirs.Close()
	cmd := exec.Command(exe, Command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // not in our terminal's group: Ctrl-C is not for it
	cmd.Dir = "/"
	cmd.Env = []string{}
	cmd.Stdin = theirs
	cmd.Stderr = os.Stderr // where it says why we have ended
	if client != nil {
		cmd.Args, cmd.ExtraFiles = append(cmd.Args, withClient), []*os.File{client}
	}
	if err := cmd.Start(); err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("start guard: %w", err)
	}
	_ = debug.SetCrashOutput(ours, debug.CrashOptions{}) // without it the guard cannot say more than Go's runtime does
	return &Line{in: ours, cmd: cmd}, nil
}

// Patch is memory of a process that the debugger changes: original is what it holds
// without a debugger. A patch is undone only where memory still holds what was written.
type Patch struct {
	Addr     uint64
	Original []byte
	Written  []byte
}

// Launch announces that we are about to start the program at path: if we die
// before [Line.Kill] names its process, the guard finds it among our orphans.
func (l *Line) Launch(path string) error {
	session, _, err := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	if err != 0 {
		return fmt.Errorf("own session: %w", err)
	}
	return l.send("%s %d %d %q\n", wordLaunch, os.Getpid(), session, path)
}

// Attach announces that we are about to attach to the process: if we die before
// [Line.Continue] says that all patches were told, the guard finds breakpoints by
// comparing the program with its file.
func (l *Line) Attach(pid int) error { return l.send("%s %d\n", wordAttach, pid) }

// Kill has the process killed if we die.
func (l *Line) Kill(pid int) error { return l.send("%s %d\n", wordKill, pid) }

// Patch announces changes that are about to be written, in one message.
func (l *Line) Patch(pid int, patches ...Patch) error {
	var words strings.Builder
	for _, p := range patches {
		fmt.Fprintf(&words, "%s %d %#x %x %x\n", wordPatch, pid, p.Addr, p.Original, p.Written)
	}
	return l.send("%s", words.String())
}

// Forget says that memory is no more what was written there, or as it was.
func (l *Line) Forget(pid int, addr uint64) error {
	return l.send("%s %d %#x\n", wordForget, pid, addr)
}

// Continue has the process mended and continued if we die. All its patches were told.
func (l *Line) Continue(pid int) error { return l.send("%s %d\n", wordContinue, pid) }

// Reads says which file Delve is about to read, unless it is the executable of what [Line.Launch] or [Line.Attach] announces.
func (l *Line) Reads(path string) error { return l.send("%s %q\n", wordReads, path) }

// Say tells the session's client why the session ends.
func (l *Line) Say(text string) error { return l.send("%s %q\n", wordSay, text) }

// Spare says that we have left the process, or that it has ended.
func (l *Line) Spare(pid int) error { return l.send("%s %d\n", wordSpare, pid) }

func (l *Line) send(format string, a ...any) error {
	_, err := fmt.Fprintf(l.in, format, a...)
	return err
}

// Release ends the guard and spares the process.
func (l *Line) Release() {
	_ = l.send("%s\n", wordDone)
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	_ = l.in.Close()
	// The exit status may have gone to a debugger's wait4(-1).
	_ = l.cmd.Wait()
}

// The words of the guard's language, one line each.
const (
	wordLaunch   = "launch"   // HOST-PID SESSION-ID QUOTED-PATH
	wordAttach   = "attach"   // PID
	wordKill     = "kill"     // PID
	wordContinue = "continue" // PID
	wordPatch    = "patch"    // PID ADDRESS ORIGINAL-BYTES WRITTEN-BYTES
	wordForget   = "forget"   // PID ADDRESS
	wordSpare    = "spare"    // PID
	wordReads    = "reads"    // QUOTED-PATH
	wordSay      = "say"      // QUOTED-TEXT
	wordDone     = "done"     // do nothing
)
