package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/clewdbg/clew/imagemap"
)

// Debian's packages librados-dev and librados2-dbg: a library, and the largest debug
// file that goes with a library of Debian's.
const (
	largeLibrary = "/usr/lib/x86_64-linux-gnu/ceph/libceph-common.so.2"
	largeStop    = "main.inside"
)

// largeDWARF measures the first stack through a library with very large debugging
// information, and lookups in it.
func largeDWARF(t *table, program string) error {
	t.title = "The first stack through a library with 262 MB of DWARF"
	folder := filepath.Dir(program)
	debug, err := largeDebugFile()
	if err != nil {
		t.notes = append(t.notes, "Not measured: "+err.Error()+" (Debian: librados-dev, librados2-dbg)")
		return nil
	}
	t.notes = []string{"A Go program stops in a callback from Debian's librados, six C++ frames deep, with the debug file that\n" +
		"librados2-dbg has for it: from start to the stack, each time with new processes. CPU is that of the server and all\n" +
		"below it. Memory is the server's peak and the proportional set size of the processes below it but for the program."}
	t.header = []string{"", "wall", "against dlv", "CPU", "against dlv", "memory", "against dlv"}
	dlv, clew, err := buildServers(folder)
	if err != nil {
		return err
	}
	large := filepath.Join(folder, "large")
	if out, err := exec.Command("go", "build", "-o", large, "./integration/bench/testdata/librados").CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	if err := firstStacks(t, large, dlv, clew); err != nil {
		return err
	}
	return lookups(t, debug)
}

// largeDebugFile finds the debug file of the library.
func largeDebugFile() (string, error) {
	library, err := os.Open(largeLibrary)
	if err != nil {
		return "", err
	}
	defer library.Close()
	id, err := imagemap.ReadBuildID(library)
	if err != nil {
		return "", err
	}
	hex := fmt.Sprintf("%x", id)
	path := filepath.Join("/usr/lib/debug/.build-id", hex[:2], hex[2:]+".debug")
	_, err = os.Stat(path)
	return path, err
}

// firstStacks measures the time to the first stack and what it takes.
func firstStacks(t *table, program, dlv, clew string) error {
	script := program + ".commands"
	if err := os.WriteFile(script, []byte("break "+largeStop+"\ncontinue\nstack 60\nexit\n"), 0o600); err != nil {
		return err
	}
	terminal := []string{"exec", "--allow-non-terminal-interactive=true", "--init", script, program}
	ways := []struct {
		name, beside string
		run          func() (spent, error)
	}{
		{"dlv exec", "", func() (spent, error) { return commandStack(program, dlv, terminal...) }},
		{"clew exec", "dlv exec", func() (spent, error) { return commandStack(program, clew, terminal...) }},
		{"clew stack", "dlv exec", func() (spent, error) {
			return commandStack(program, clew, "stack", "--break", largeStop, "--", program)
		}},
		{"dlv dap", "", func() (spent, error) { return editorStack(program, dlv) }},
		{"clew dap", "dlv dap", func() (spent, error) { return editorStack(program, clew) }},
	}
	all := map[string][]spent{}
	for round := range max(3, t.rounds/3) {
		for i := range ways {
			w := &ways[(i+round)%len(ways)]
			got, err := w.run()
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			all[w.name] = append(all[w.name], got)
		}
	}
	for _, w := range ways {
		got := medianSpent(all[w.name])
		cells := []string{w.name, seconds(got.wall), "", seconds(got.cpu), "", megabytes(got.memory), ""}
		if w.beside != "" {
			peer := medianSpent(all[w.beside])
			cells[2], cells[4], cells[6] = times(got.wall, peer.wall), times(got.cpu, peer.cpu), times(got.memory, peer.memory)
		}
		t.row(cells...)
	}
	return nil
}

// spent is what one first stack has taken.
type spent struct {
	wall, cpu time.Duration
	memory    int64
}

func medianSpent(all []spent) (out spent) {
	var walls, cpus []time.Duration
	var memories []float64
	for _, s := range all {
		walls, cpus, memories = append(walls, s.wall), append(cpus, s.cpu), append(memories, float64(s.memory))
	}
	return spent{median(walls), median(cpus), int64(median(memories))}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func times[T ~int64](a, b T) string { return fmt.Sprintf("%.2f x", float64(a)/float64(b)) }

// largeFrame is in every stack of the program: the class of two of the library's
// functions, and their file. Delve knows no name of a C++ function in a class.
const largeFrame = "MonMap"

// commandStack runs a command that prints the stack and ends.
func commandStack(program, exe string, args ...string) (spent, error) {
	cmd := exec.Command(exe, args...)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return spent{}, err
	}
	done, others := make(chan error, 1), int64(0)
	go func() { done <- cmd.Wait() }()
	for ended := false; !ended; {
		select {
		case err := <-done:
			if err != nil {
				return spent{}, fmt.Errorf("%w\n%s", err, messages.Bytes())
			}
			ended = true
		case <-time.After(50 * time.Millisecond):
			others = max(others, belowPSS(cmd.Process.Pid, program))
		}
	}
	took := spent{wall: time.Since(begin), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		took.memory = use.Maxrss<<10 + others
	}
	if !strings.Contains(out.String(), largeFrame) {
		return spent{}, fmt.Errorf("no frame of %s:\n%s", largeFrame, out.Bytes())
	}
	return took, nil
}

// editorStack starts a server and has an editor ask for the stack at the stop.
func editorStack(program, exe string) (spent, error) {
	begin := time.Now()
	e, err := connect(exe)
	if err != nil {
		return spent{}, err
	}
	defer e.close()
	if err := e.launch(exe, program, where{location: largeStop}, 0); err != nil {
		return spent{}, err
	}
	var body struct {
		StackFrames []struct {
			Name   string
			Source struct{ Name string }
		}
	}
	if err := e.request("stackTrace", map[string]any{"threadId": e.thread, "levels": 60}, &body); err != nil {
		return spent{}, err
	}
	took := spent{wall: time.Since(begin)}
	for _, f := range body.StackFrames {
		if strings.Contains(f.Name+f.Source.Name, largeFrame) {
			took.cpu, err = usedCPU(e.cmd.Process.Pid, program)
			took.memory = status(e.cmd.Process.Pid, "VmHWM:") + belowPSS(e.cmd.Process.Pid, program)
			return took, err
		}
	}
	return spent{}, fmt.Errorf("no frame of %s: %+v", largeFrame, body.StackFrames)
}
