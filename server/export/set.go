package export

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/unwind"
)

// Set is stacks of one stop, with everything to write them in any form.
type Set struct {
	Arch    unwind.Arch
	Stacks  iter.Seq[unwind.Stack] // is gone through once for each time that the set is written
	Threads []unwind.Thread        // that they are of: their segments have names in text
	Images  *imagemap.ImageMap
	Pid     int // of the process, 0 if it is not known
	// Ancestors adds those of goroutines to CBF and Swift, as frames of kind async.
	Ancestors bool
	// Snapshot makes a snapshot of the stacks; nil where the memory that was read for them was
	// not kept.
	Snapshot func() (*snapshot.Snapshot, error)
	// Names says how text shows names of functions.
	Names names.Style
	// All is set where all stacks were asked for: as CBF they make a folder, however
	// many there are. Without it there is one stack.
	All bool
	// OneFileEach keeps one stack a file in a folder of CBF, however many there are.
	OneFileEach bool
	// Values returns those of each frame of a stack; nil where none are written. With Registers, JSON has registers by their
	// names, too.
	Values    func(*unwind.Stack) [][]stackjson.Value
	Registers bool
	// Crash is what ended the program: the first stack is the one that died. nil for none.
	Crash *stackjson.Crash
	// Evidence has text show the candidates that were not believed on stacks that are right, too.
	Evidence bool
	// About is what JSON says of the stop, once the stacks are written; nil for nothing.
	About func() About
	// Head is the first line of text without groups; "" for none.
	Head string
	// Groups are written instead of the stacks in text, JSON, pprof and otlp; nil for none.
	Groups *Page

	byStack map[[2]uint64]*unwind.Thread
}

// About is a stop of a running process.
type About struct {
	Time       time.Time  `json:"time"`
	StoodStill float64    `json:"stoodStill,omitempty"` // seconds
	NotCopied  *NotCopied `json:"notCopied,omitempty"`
}

// NotCopied is what a listing lacks.
type NotCopied struct {
	Places  uint64   `json:"places,omitempty"` // of the runtime's list of goroutines
	Of      uint64   `json:"of,omitempty"`     // places that it has
	Labels  int      `json:"labels,omitempty"` // goroutines whose labels are not known
	Threads []uint64 `json:"threads,omitempty"`
}

// File is a file that is not written anywhere.
type File struct {
	Name string // without folders
	Data []byte
}

// Write writes the stacks in a format that is one piece of text or data, which
// cbf is not.
func (s *Set) Write(w io.Writer, format string) error {
	f, err := FormatNamed(format)
	if err != nil {
		return err
	}
	if f.write == nil {
		return fmt.Errorf("%s is several files: name a path for them", format)
	}
	return f.write(s, w)
}

// WritePath writes the stacks to path: a file, for cbf also its image map beside
// it, or a folder. All appear whole or not at all.
func (s *Set) WritePath(path, format string) error {
	f, err := FormatNamed(format)
	if err != nil {
		return err
	}
	if f.write == nil {
		return f.writePath(s, path)
	}
	return WriteFile(path, func(w io.Writer) error { return f.write(s, w) })
}

// Files returns what [Set.WritePath] would write: one file called name with the
// format's ending, for cbf two, or those of a folder, which have their own names.
func (s *Set) Files(name, format string) ([]File, error) {
	f, err := FormatNamed(format)
	if err != nil {
		return nil, err
	}
	if f.write == nil {
		return f.files(s, name)
	}
	var b bytes.Buffer
	if err := f.write(s, &b); err != nil {
		return nil, err
	}
	return []File{{name + f.Ending, b.Bytes()}}, nil
}

// segmentText names a stack, for people.
var segmentText = map[unwind.SegmentKind]string{
	unwind.SegmentThread:    "thread stack",
	unwind.SegmentGoroutine: "goroutine stack",
	unwind.SegmentG0:        "system stack (g0)",
	unwind.SegmentSignal:    "signal stack",
}

// segmentName names the stack that a frame lies on.
func (s *Set) segmentName(stack *unwind.Stack, segment int) string {
	if s.byStack == nil {
		s.byStack = make(map[[2]uint64]*unwind.Thread, len(s.Threads))
		for i := range s.Threads {
			s.byStack[[2]uint64{s.Threads[i].ID, s.Threads[i].Goroutine}] = &s.Threads[i]
		}
	}
	if th := s.byStack[[2]uint64{stack.Thread, stack.Goroutine}]; th != nil && segment >= 0 && segment < len(th.Segments) {
		return segmentText[th.Segments[segment].Kind]
	}
	return ""
}
