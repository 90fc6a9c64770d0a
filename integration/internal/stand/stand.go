//go:build linux && (amd64 || arm64)

package stand

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Place is where a program is to be held.
type Place struct {
	// Name is of a line of the program's STEM.where, or of a function of the
	// program. "" is the first breakpoint instruction of the program's own.
	Name string
	// Steps is how many instructions to go on from there.
	Steps int
}

// Config is a program to hold.
type Config struct {
	Args []string // the program and its arguments
	Env  []string
	// Where is the file with the addresses of places, one "NAME ADDRESS" a line.
	// The program has written it when it executes its first breakpoint
	// instruction, unless Place.Name is "".
	Where string
	Place Place
	// Patience bounds the way to the place.
	Patience time.Duration
}

// Stand is a program that stands.
type Stand struct {
	PID    int
	Thread uint64 // the thread that reached the place
	PC     uint64
	Output func() string // the program's output so far

	release, released chan struct{}
}

// Hold starts the program and brings it to its place.
func Hold(c Config) (*Stand, error) {
	s := &Stand{release: make(chan struct{}), released: make(chan struct{})}
	result := make(chan error)
	go s.keep(c, result)
	if err := <-result; err != nil {
		return nil, err
	}
	return s, nil
}

// Close kills the program.
func (s *Stand) Close() {
	close(s.release)
	<-s.released
}

// keep has the thread that traces the program, and with which the program dies.
func (s *Stand) keep(c Config, result chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.released)
	var out bytes.Buffer
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.Env, &out, &out
	cmd.WaitDelay = time.Second
	// The group is what wait4 can name without taking other children's status.
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		result <- err
		return
	}
	s.PID = cmd.Process.Pid
	s.Output = out.String
	t := &tracer{pid: s.PID, threads: map[int]bool{s.PID: true}, deadline: time.Now().Add(c.Patience)}
	err := t.bring(c)
	if err == nil {
		s.Thread, s.PC = uint64(t.at), t.pc
		err = t.leave()
	}
	if err != nil {
		t.kill()
		_ = cmd.Wait() // for its output; it is gone
		result <- fmt.Errorf("%s: %w; it printed %q", strings.Join(c.Args, " "), err, out.String())
		return
	}
	result <- nil
	<-s.release
	t.kill()
	_ = cmd.Wait() // for its output; it is gone
}

// resolve finds the address of a place.
func resolve(c Config) (uint64, error) {
	data, err := os.ReadFile(c.Where)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		var name string
		var address uint64
		if _, err := fmt.Sscanf(line, "%s 0x%x", &name, &address); err == nil && name == c.Place.Name {
			return address, nil
		}
	}
	f, err := elf.Open(c.Args[0])
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC {
		return 0, errors.New("the program may lie anywhere: names of its functions cannot be places")
	}
	symbols, err := f.Symbols()
	if err != nil {
		return 0, err
	}
	for _, sym := range symbols {
		if sym.Name == c.Place.Name {
			return sym.Value, nil
		}
	}
	return 0, fmt.Errorf("there is no place %q", c.Place.Name)
}
