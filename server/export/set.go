package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/unwind"
)

// Formats are the forms that a [Set] is written in.
var Formats = []string{"text", "json", "cbf", "swift", "pprof", "otlp", "snapshot"}

// endings are what files of a format are called by.
var endings = map[string]string{
	"text": ".txt", "json": ".json", "cbf": ".cbf", "swift": ".swift.json", "pprof": ".pb.gz", "otlp": ".otlp.pb", "snapshot": ".snapshot.json",
}

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
	// Head is the first line of text without groups; "" for none.
	Head string
	// Groups are written instead of the stacks in text, JSON, pprof and otlp; nil for none.
	Groups *Page

	byStack map[[2]uint64]*unwind.Thread
}

// FormatError says that there is no such format.
type FormatError struct{ Format string }

// Error names the formats that there are.
func (e *FormatError) Error() string {
	return fmt.Sprintf("unknown format %q; known: %s", e.Format, strings.Join(Formats, ", "))
}

// one returns the single stack of a set that is not of all.
func (s *Set) one() (*unwind.Stack, error) {
	for st := range s.traces() {
		return &st, nil
	}
	return nil, errors.New("there is no stack to write")
}

// traces are the stacks for CBF: without ancestors, unless those are asked for.
func (s *Set) traces() iter.Seq[unwind.Stack] {
	if s.Ancestors {
		return s.Stacks
	}
	return func(yield func(unwind.Stack) bool) {
		for st := range s.Stacks {
			if st.State != nil && len(st.State.Ancestors) > 0 {
				state := *st.State
				state.Ancestors, st.State = nil, &state
			}
			if !yield(st) {
				return
			}
		}
	}
}

// Write writes the stacks in a format that is one piece of text or data, which
// cbf is not.
func (s *Set) Write(w io.Writer, format string) error {
	text := TextOptions{Color: Color(w), Names: s.Names.On(Terminal(w)), SegmentName: s.segmentName}
	switch format {
	case "text":
		if s.Groups != nil {
			return s.Groups.Text(w, text)
		}
		if s.Head != "" {
			if _, err := fmt.Fprintf(w, "%s\n\n", s.Head); err != nil {
				return err
			}
		}
		return Text(w, s.Stacks, text)
	case "json":
		if s.Groups != nil {
			return s.Groups.json(w, s.Arch, s.Images)
		}
		return JSON(w, s.Arch, s.Stacks, s.Images, false)
	case "swift":
		return Swift(w, s.Arch, s.traces(), s.Images)
	case "pprof":
		return Pprof(w, s.Arch, s.counted(), s.Images)
	case "otlp":
		return OTLP(w, s.Arch, s.Pid, s.counted(), s.Images)
	case "snapshot":
		if s.Snapshot == nil {
			return fmt.Errorf("no snapshot: the memory that was read for the stacks was not kept")
		}
		snap, err := s.Snapshot()
		if err != nil {
			return err
		}
		return snapshot.Write(w, snap)
	}
	return &FormatError{format}
}

// counted are the stacks, or one of each group, with the number of those that it stands for.
func (s *Set) counted() iter.Seq2[unwind.Stack, int] {
	if s.Groups != nil {
		return s.Groups.counted()
	}
	return Once(s.Stacks)
}

// WritePath writes the stacks to path: a file, for cbf also its image map beside
// it, or a folder. All appear whole or not at all.
func (s *Set) WritePath(path, format string) error {
	switch {
	case format != "cbf":
		if !slices.Contains(Formats, format) {
			return &FormatError{format}
		}
		return WriteFile(path, func(w io.Writer) error { return s.Write(w, format) })
	case s.All:
		return WriteFolder(path, s)
	}
	st, err := s.one()
	if err != nil {
		return err
	}
	return WriteStack(path, s.Arch, st, s.Images)
}

// File is a file that is not written anywhere.
type File struct {
	Name string // without folders
	Data []byte
}

// Files returns what [Set.WritePath] would write: one file called name with the
// format's ending, for cbf two, or those of a folder, which have their own names.
func (s *Set) Files(name, format string) ([]File, error) {
	switch {
	case format != "cbf":
		var b bytes.Buffer
		if err := s.Write(&b, format); err != nil {
			return nil, err
		}
		return []File{{name + endings[format], b.Bytes()}}, nil
	case s.All:
		var files []File
		err := s.fill(func(f File) error {
			files = append(files, f)
			return nil
		})
		return files, err
	}
	st, err := s.one()
	if err != nil {
		return nil, err
	}
	data, err := EncodeStack(st, WordSize(s.Arch), cbf.EncodeOptions{})
	if err != nil {
		return nil, err
	}
	cif, err := imagesData(s.Arch, s.Images)
	if err != nil {
		return nil, err
	}
	return []File{{name + endings[format], data}, {name + imagesEnding, cif}}, nil
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

// FormatOf returns the format that a file's ending stands for, "" if none. The
// longest ending counts: x.swift.json is swift.
func FormatOf(path string) string {
	best := ""
	for format, ending := range endings {
		if strings.HasSuffix(path, ending) && (best == "" || len(ending) > len(endings[best])) {
			best = format
		}
	}
	return best
}
