package main

import (
	"io"
	"sync"

	"github.com/clewdbg/clew/server/export"
)

// maxComplaints is how many lines a command says of what is wrong in its input: who reads more needs them for each
// line alone, and a stream may have millions.
const maxComplaints = 100

// complaints are lines to a person about what is wrong in files, as many as one reads.
type complaints struct {
	w    io.Writer
	mu   sync.Mutex // workers say lines too
	said int
}

// say writes a line, or counts it.
func (c *complaints) say(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.said++; c.said <= maxComplaints {
		tell(c.w, "%s", text)
	}
}

// end says how many lines were not written. where says what has them all, "" if nothing does.
func (c *complaints) end(where string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if more := c.said - maxComplaints; more > 0 {
		tell(c.w, "%s not shown%s", export.Count(more, "more such line"), where)
	}
}
