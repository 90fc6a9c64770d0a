//go:build amd64 || arm64

package crash

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/clewdbg/clew/internal/crashguard"
)

func install(o Options) error {
	clew, err := find(o.Monitor)
	if err != nil {
		return err
	}
	dir := o.Dir
	if dir == "" {
		if dir, err = DefaultDir(); err != nil {
			return err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("crash reports are off: %w", err)
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("crash reports are off: %w", os.NewSyscallError("socketpair", err))
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "crash output"), os.NewFile(uintptr(pair[1]), "crash monitor")
	// No end may stay open here: the runtime duplicates its own, and a copy of the monitor's would have the program wait for ever.
	defer func() { _ = errors.Join(ours.Close(), theirs.Close()) }()
	// The kernel takes the least that it allows. No timeout: with one, the runtime's own signals end a write instead of having it go on (signal(7)),
	// and the text is through before a stack is taken.
	if err := syscall.SetsockoptInt(pair[0], syscall.SOL_SOCKET, syscall.SO_SNDBUF, 1); err != nil {
		return fmt.Errorf("crash reports are off: %w", os.NewSyscallError("setsockopt", err))
	}
	d := crashguard.Defaults
	guard, err := crashguard.Start(clew, crashguard.Options{
		Pid: os.Getpid(), Dir: dir, Keep: limit(o.MaxReports, d.Keep), Age: limit(o.MaxAge, d.Age), PerMin: limit(o.MaxPerMinute, d.PerMin), Size: limit(o.MaxSize, d.Size),
		Snapshot: o.Snapshot, Output: o.Output != nil,
	}, theirs, o.Output)
	if err != nil {
		return fmt.Errorf("crash reports are off: %w", err)
	}
	allow(guard)
	if err := debug.SetCrashOutput(ours, debug.CrashOptions{}); err != nil {
		return fmt.Errorf("crash reports are off: %w", err)
	}
	return nil
}

// allow lets the guard and what it starts read this process, where Yama allows that to parents only.
func allow(pid int) {
	const setPtracer = 0x59616d61 // PR_SET_PTRACER
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setPtracer, uintptr(pid), 0)
}
