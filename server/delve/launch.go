package delve

import (
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/interpose"
)

// launching is told of a program that is about to be started; nil for no listener.
var launching atomic.Pointer[launchWatch]

// launchWatch is told once or more often: a program can be started again.
type launchWatch struct {
	tell func(path string)
	told atomic.Bool
}

// starts is called on Delve's goroutine.
func (w *launchWatch) starts(path string) {
	if w == nil {
		return
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	w.told.Store(true)
	w.tell(path)
}

// check says whether a program that Delve has started was announced before.
func (w *launchWatch) check(s *Session) error {
	if w == nil || w.told.Load() || !s.Launched() || !s.Live() {
		return nil
	}
	return internals.Changed(internals.EntryLaunchLog, "a program was started, and no line of the log said so before")
}

// listen has what Delve logs told to those who act on it.
var listen = sync.OnceFunc(func() {
	delvelog.Hear(&delvelog.Heard{Launch: func(path string) { launching.Load().starts(path) }, Attach: interpose.Attaching, Target: interpose.HideList})
})
