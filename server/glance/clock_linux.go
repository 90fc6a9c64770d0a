//go:build amd64 || arm64

package glance

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/server/internal/procfs"
)

// clockOf converts times of the clock that Go's runtime reads (CLOCK_MONOTONIC). ok is false
// for a process whose clock is another: one of another time namespace.
func clockOf(pid int) (convert func(nano int64) time.Time, ok bool) {
	its, err := os.Readlink(procfs.Path(pid, "ns/time"))
	if err != nil && !os.IsNotExist(err) { // an old kernel has no such namespaces
		return nil, false
	}
	ours, _ := os.Readlink("/proc/self/ns/time")
	var t unix.Timespec
	if its != ours || unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return nil, false
	}
	now, mono := time.Now(), t.Nano()
	return func(nano int64) time.Time { return now.Add(time.Duration(nano - mono)) }, true
}
