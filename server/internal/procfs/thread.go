package procfs

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// State is the letter of a thread's state (proc_pid_stat(5)), 0 if it has gone.
func State(pid, tid int) byte {
	text, _ := os.ReadFile(Path(pid, fmt.Sprintf("task/%d/stat", tid)))
	i := bytes.LastIndex(text, []byte(") "))
	if i < 0 || i+2 >= len(text) {
		return 0
	}
	return text[i+2]
}

// Tracer is the thread that traces a thread, 0 for none.
func Tracer(pid, tid int) int {
	text, _ := os.ReadFile(Path(pid, fmt.Sprintf("task/%d/status", tid)))
	return Status(text).Number("TracerPid")
}

// Sleeps is the function of the kernel that a thread sleeps in, "" if that is not known.
func Sleeps(pid, tid int) string {
	text, _ := os.ReadFile(Path(pid, fmt.Sprintf("task/%d/wchan", tid)))
	if name := strings.TrimSpace(string(text)); name != "0" {
		return name
	}
	return ""
}

// Left says where a thread that is in the kernel has left its own code, and by which system call; ok is false for one that
// runs.
func Left(pid, tid int) (call int, sp, pc uint64, ok bool) {
	text, err := os.ReadFile(Path(pid, fmt.Sprintf("task/%d/syscall", tid)))
	words := strings.Fields(string(text))
	if err != nil || len(words) < 3 {
		return 0, 0, 0, false
	}
	call, err = strconv.Atoi(words[0])
	sp, spErr := strconv.ParseUint(words[len(words)-2], 0, 64)
	pc, pcErr := strconv.ParseUint(words[len(words)-1], 0, 64)
	return call, sp, pc, err == nil && spErr == nil && pcErr == nil && pc != 0
}
