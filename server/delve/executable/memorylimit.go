package executable

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// Delve reads an executable and its debug file without a limit: one that is damaged or made for it can take all of the machine's memory.
// So a session that takes more than its share ends, with a message. What guards the program against this process's end then
// acts (server/lifeline). Test: TestMemoryLimit.

const (
	leastMemory = 4 << 30 // bytes that a session may take on any machine
	memoryLooks = 100 * time.Millisecond
)

// watched is started once: a process has one session.
var watched sync.Once

// LimitMemory ends this process where it takes too much memory. file is what Delve is about to read; say tells the session's client.
func LimitMemory(file string, say func(string)) {
	watched.Do(func() {
		limit := memoryLimit()
		if limit == 0 {
			return // the system does not say
		}
		go watchMemory(time.Tick(memoryLooks), limit, residentSet, func(taken uint64) {
			text := fmt.Sprintf("clew: this session has taken %d MiB of memory, and ends: Delve cannot read %s, or a file of debugging information that goes with it", taken>>20, printable.Line(file))
			fmt.Fprintln(os.Stderr, text)
			say(text)
			os.Exit(1)
		})
	})
}

// watchMemory calls end when more memory is taken than the limit, in bytes.
func watchMemory(look <-chan time.Time, limit uint64, taken func() uint64, end func(taken uint64)) {
	for range look {
		if now := taken(); now > limit {
			end(now)
			return
		}
	}
}

// memoryLimit is half of the machine's memory, 0 where that is unknown.
func memoryLimit() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			kb, _ := strconv.ParseUint(f[1], 10, 64)
			return max(leastMemory, kb<<10/2)
		}
	}
	return 0
}

// residentSet is the memory of this process, in bytes (proc_pid_status(5), VmRSS and VmSwap).
func residentSet() uint64 {
	status, err := procfs.ReadStatus(os.Getpid())
	if err != nil {
		return 0
	}
	var sum uint64
	for _, field := range []string{"VmRSS", "VmSwap"} {
		kb, _ := strconv.ParseUint(strings.TrimSuffix(status.Field(field), " kB"), 10, 64)
		sum += kb << 10
	}
	return sum
}
