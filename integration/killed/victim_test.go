//go:build linux

package killed

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// victim is a process that sessions attach to.
type victim struct {
	cmd    *exec.Cmd
	counts string
	ended  chan error
	said   *bytes.Buffer
	code   []byte // the text of its file
	at     uint64
}

func start(t *testing.T, busy string) *victim {
	t.Helper()
	v := &victim{cmd: exec.Command(busy), counts: filepath.Join(t.TempDir(), "counts"), ended: make(chan error, 1), said: new(bytes.Buffer)}
	v.cmd.Args = append(v.cmd.Args, v.counts)
	v.cmd.Stderr = v.said
	f, err := elf.Open(busy)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	if v.code, err = text.Data(); err != nil || f.Type != elf.ET_EXEC {
		t.Fatal(f.Type, err)
	}
	v.at = text.Addr
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { v.ended <- v.cmd.Wait() }()
	for end := time.Now().Add(patience); !v.works(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the program does not work")
		}
	}
	return v
}

func (v *victim) end() {
	if v != nil {
		_ = v.cmd.Process.Kill()
	}
}

// faults says what is wrong with a process that was debugged, until nothing is or patience ends.
func (v *victim) faults() (found []string) {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-v.ended:
			return []string{fmt.Sprintf("the program has ended: %v; %s", err, v.said)}
		default:
		}
		if tracerOf(v.cmd.Process.Pid) == 0 {
			found = nil
			if at := v.changed(); len(at) > 0 {
				found = append(found, fmt.Sprintf("its code is changed at %#x", at))
			}
			if !v.works() {
				found = append(found, "it does not go on: "+v.status("State"))
			}
			if len(found) == 0 {
				return nil
			}
		} else {
			found = []string{"it is still traced"}
		}
		if time.Now().After(end) {
			return found
		}
	}
}

// changed lists where the process's code is not its file's.
func (v *victim) changed() (at []uint64) {
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", v.cmd.Process.Pid))
	if err != nil {
		return nil // it has ended
	}
	defer mem.Close()
	now := make([]byte, len(v.code))
	if _, err := mem.ReadAt(now, int64(v.at)); err != nil || bytes.Equal(now, v.code) {
		return nil
	}
	for i := range now {
		if now[i] != v.code[i] {
			at = append(at, v.at+uint64(i))
		}
	}
	return at
}

// works says that every thread goes on.
func (v *victim) works() bool {
	before := v.count()
	for range 100 {
		time.Sleep(10 * time.Millisecond)
		after := v.count()
		all := len(before) == 24 && len(after) == 24
		for i := 0; all && i < 24; i += 8 {
			all = binary.LittleEndian.Uint64(after[i:]) > binary.LittleEndian.Uint64(before[i:])
		}
		if all {
			return true
		}
	}
	return false
}

func (v *victim) count() []byte {
	out, _ := os.ReadFile(v.counts)
	return out
}

func (v *victim) status(field string) string { return statusOf(v.cmd.Process.Pid, field) }

func statusOf(pid int, field string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "\n"+field+":\t")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// tracerOf is the process that traces another one, 0 for none.
func tracerOf(pid int) int {
	id, _ := strconv.Atoi(statusOf(pid, "TracerPid"))
	if group := statusOf(id, "Tgid"); id > 0 && group != "" {
		id, _ = strconv.Atoi(group)
	}
	return id
}
