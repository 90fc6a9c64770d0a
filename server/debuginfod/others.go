package debuginfod

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// patience is how long Delve may wait for a server before clew goes on without it, and
// patienceAfter how long once it was used up.
const (
	patience      = 3 * time.Second
	patienceAfter = 100 * time.Millisecond
)

// BoundOthers sees to it that Delve does not wait for a slow server: it ends the
// debuginfod-find that Delve runs for every image without debug information when it
// starts a program, one after the other and without a bound. What Delve then lacks,
// clew gets in the background. notify is told of it once. When ctx ends, Delve waits no
// longer at all. It lasts until stop is called.
func BoundOthers(ctx context.Context, notify func(string)) (stop func()) {
	if os.Getenv("DEBUGINFOD_URLS") == "" {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		w := watch{seen: make(map[int]time.Time), bound: patience, notify: notify}
		tick := time.NewTicker(patienceAfter / 2)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				if ctx.Err() != nil {
					w.bound = 0
				}
				w.look(now)
			}
		}
	}()
	return func() { close(done) }
}

// watch knows the programs that Delve waits for.
type watch struct {
	seen   map[int]time.Time // when a process was first there
	bound  time.Duration
	notify func(string)
}

func (w *watch) look(now time.Time) {
	running := othersRunning()
	for pid := range w.seen {
		if _, ok := running[pid]; !ok {
			delete(w.seen, pid)
		}
	}
	for pid := range running {
		if _, ok := w.seen[pid]; !ok {
			w.seen[pid] = now
		}
		if now.Sub(w.seen[pid]) < w.bound {
			continue
		}
		kill(pid, running[pid])
		if w.bound == patience {
			w.bound = patienceAfter
			w.notify(fmt.Sprintf("the servers in DEBUGINFOD_URLS are slow: nothing waits for them longer than %v, and names may come later", patience))
		}
	}
}

// kill ends a debuginfod-find, and removes the file that it has not finished. It may have
// ended by itself.
func kill(pid int, buildID string) {
	unfinished := openFiles(pid, filepath.Join(cacheFolder(os.Getenv), buildID))
	if p, err := os.FindProcess(pid); err == nil && p.Kill() == nil {
		for _, path := range unfinished {
			_ = os.Remove(path)
		}
	}
}

// othersRunning returns the children of this process that run debuginfod-find and that
// [Client] has not started, with the build IDs that they ask for. Only Linux tells, where
// alone Delve runs it.
func othersRunning() map[int]string {
	out := make(map[int]string)
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(children)) {
			line, _ := os.ReadFile(filepath.Join("/proc", child, "cmdline"))
			args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
			pid, err := strconv.Atoi(child)
			if err == nil && filepath.Base(args[0]) == "debuginfod-find" && len(args) > 1 && args[1] != ownFlag {
				out[pid] = args[len(args)-1]
			}
		}
	}
	return out
}
