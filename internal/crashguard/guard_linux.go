package crashguard

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// stageWait is the first argument of the guard; the starter has none.
const stageWait = "--wait"

// Main is the starter or the guard, and returns the exit code. work is true for the worker: clew does its work then.
func Main(args []string) (code int, work bool) {
	switch {
	case len(args) > 0 && args[0] == WorkStage:
		closeOnExec(SocketFD)
		return 0, true
	case len(args) > 0 && args[0] == stageWait:
		return wait(args[1:]), false
	}
	closeOnExec(OutputFD + 1)
	return start(args), false
}

// closeOnExec keeps files from what is started: those that a program has open without it would stay open, and whoever reads from a pipe
// would wait for its end.
func closeOnExec(from uintptr) {
	const cloexec = 4 // CLOSE_RANGE_CLOEXEC
	if _, _, errno := syscall.RawSyscall(sysCloseRange, from, uintptr(^uint32(0)), cloexec); errno == 0 {
		return
	}
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, n := range names {
		if fd, err := strconv.Atoi(n.Name()); err == nil && uintptr(fd) >= from {
			syscall.CloseOnExec(fd)
		}
	}
}

const sysCloseRange = 436 // close_range(2), on all architectures

// WorkArgs are the worker's options.
func WorkArgs(args []string) (Options, error) {
	if len(args) == 0 || args[0] != WorkStage {
		return Options{}, errors.New("it is started by package crash of a Go program (github.com/clewdbg/clew/crash), not by hand")
	}
	return Parse(args[1:])
}

// self is this program's own file, also where it was replaced meanwhile.
const self = "/proc/self/exe"

// start starts the guard in a session of its own, and says its ID.
func start(args []string) int {
	o, err := Parse(args)
	if err != nil || o.Pid == 0 || o.Dir == "" {
		fmt.Fprintf(os.Stderr, "clew: %s is started by package crash of a Go program (github.com/clewdbg/clew/crash), not by hand\n", Command)
		return 2
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 1
	}
	files := []uintptr{null.Fd(), null.Fd(), null.Fd(), SocketFD}
	if o.Output {
		files = append(files, OutputFD)
	}
	pid, err := syscall.ForkExec(self, append([]string{"clew", Command, stageWait}, args...), &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "clew: %s: %v\n", Command, err)
		return 1
	}
	fmt.Println(strconv.Itoa(pid))
	return 0
}

// wait sleeps until the program crashes or ends.
func wait(args []string) int {
	closeOnExec(SocketFD)
	if !crashed(SocketFD) {
		return 0
	}
	done, tell, err := os.Pipe()
	if err != nil {
		return 1
	}
	socket := os.NewFile(SocketFD, "socket")
	worker := exec.Command(self, append([]string{Command, WorkStage}, args...)...)
	worker.Args[0] = "clew"
	worker.ExtraFiles = []*os.File{socket, nil, tell}
	if o, err := Parse(args); err == nil && o.Output {
		worker.ExtraFiles[1] = os.NewFile(OutputFD, "output")
	}
	err = worker.Start()
	// From now on the worker's end is the only one: whatever becomes of it, the program goes on.
	_ = errors.Join(socket.Close(), tell.Close())
	if err != nil {
		return 1
	}
	late := time.AfterFunc(MaxHold, func() { _ = worker.Process.Kill() })
	var buf [1]byte
	_, _ = done.Read(buf[:]) // ends when the worker has let go of the program, or is gone
	late.Stop()
	end := time.AfterFunc(MaxWork, func() { _ = worker.Process.Kill() })
	defer end.Stop()
	if worker.Wait() != nil {
		return 1
	}
	return 0
}

type pollFD struct {
	fd              int32
	events, revents int16
}

const pollIn = 1

// crashed waits until there is text to read, or false where the socket ends without any.
func crashed(fd int) bool {
	for {
		p := pollFD{fd: int32(fd), events: pollIn}
		_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, 0, 0, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		var buf [1]byte
		n, _, err := syscall.Recvfrom(fd, buf[:], syscall.MSG_PEEK)
		if err == syscall.EINTR || err == syscall.EAGAIN {
			continue
		}
		return errno == 0 && err == nil && n > 0
	}
}

// Start starts a guard by the file of clew at a path, with the socket's end, and returns its ID.
func Start(clew string, o Options, socket, output *os.File) (pid int, err error) {
	cmd := exec.Command(clew, append([]string{Command}, o.Args()...)...)
	cmd.ExtraFiles = []*os.File{socket}
	if output != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, output)
	}
	for _, v := range os.Environ() { // what changes how a program of Go runs is meant for this one
		if !strings.HasPrefix(v, "GOTRACEBACK=") && !strings.HasPrefix(v, "GODEBUG=") && !strings.HasPrefix(v, "GOMEMLIMIT=") && !strings.HasPrefix(v, "GOGC=") &&
			!strings.HasPrefix(v, "LD_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
			return 0, fmt.Errorf("%s %s: %w: %s", clew, Command, err, strings.TrimSpace(string(exit.Stderr)))
		}
		return 0, fmt.Errorf("%s %s: %w", clew, Command, err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(out))); err != nil {
		return 0, fmt.Errorf("%s %s has answered %.100q: is it clew?", clew, Command, out)
	}
	return pid, nil
}
