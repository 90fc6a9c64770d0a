package main

import (
	"fmt"
	"os"
	"time"

	"github.com/clewdbg/clew/server/export"
)

// progress shows how far long work is, on a terminal only, and only when it
// takes longer than a moment.
type progress struct {
	what    string
	total   int
	n       int
	started time.Time
	shown   time.Time
	active  bool
}

const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

func newProgress(what string, total int) *progress {
	return &progress{what: what, total: total, started: time.Now(), active: export.Terminal(os.Stderr)}
}

func (p *progress) add(n int) {
	p.n += n
	now := time.Now()
	if !p.active || now.Sub(p.started) < progressAfter || now.Sub(p.shown) < progressEvery {
		return
	}
	p.shown = now
	fmt.Fprintf(os.Stderr, "\r%d of %d %s", p.n, p.total, p.what)
}

// done removes the line.
func (p *progress) done() {
	if !p.shown.IsZero() {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
