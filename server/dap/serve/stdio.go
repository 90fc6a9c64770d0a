package serve

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Stdio makes a connection of the process's standard input and output, and puts
// others in their place: what the program (which inherits them) writes goes to
// standard error, and it reads nothing. It must come before anything else uses
// them.
func Stdio() (io.ReadWriteCloser, error) {
	in, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	out, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("standard output: %w", err)
	}
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(dup2(null, 0), dup2(2, 1), unix.Close(null)); err != nil {
		return nil, fmt.Errorf("replace standard input and output: %w", err)
	}
	// Reads of pipes and sockets can be ended by closing, if they do not block.
	_ = unix.SetNonblock(in, true)
	return &stdio{in: os.NewFile(uintptr(in), "stdin"), out: os.NewFile(uintptr(out), "stdout")}, nil
}

type stdio struct{ in, out *os.File }

func (s *stdio) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *stdio) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s *stdio) Close() error                { return errors.Join(s.in.Close(), s.out.Close()) }

// SyscallConn implements [syscall.Conn]: it is that of the output.
func (s *stdio) SyscallConn() (syscall.RawConn, error) { return s.out.SyscallConn() }
