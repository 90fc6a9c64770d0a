// Package live looks at a process that stands stopped under Delve: its images,
// code, threads and goroutines, as input for the engine, and as a snapshot that
// gives the same stacks offline.
package live

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/codemap"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// View is one stop of a process. It is valid until the process runs again.
type View struct {
	session  *delve.Session
	maps     []imagemap.Mapping
	images   *imagemap.ImageMap
	code     *codemap.Map
	recorder *engine.Recorder // nil unless recording
	threads  []delve.Thread
	Input    engine.Input
}

// Look takes in the process as it stands. With record set, what is read of its
// memory is kept for [View.Snapshot].
func Look(s *delve.Session, record bool) (*View, error) {
	v := &View{session: s}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.Pid()))
	if err != nil {
		return nil, fmt.Errorf("read the mappings of process %d: %w", s.Pid(), err)
	}
	if v.maps, err = imagemap.ParseMaps(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	memory := s.Memory()
	if v.images, err = imagemap.Capture(s.Pid(), unwind.ReaderAt{Memory: memory}); err != nil {
		return nil, fmt.Errorf("read the images of process %d: %w", s.Pid(), err)
	}
	if record {
		v.recorder = engine.NewRecorder(memory)
		memory = v.recorder
	}
	v.code = codemap.New(s.Arch(), v.images, codemap.LiveOpener(s.Pid(), unwind.ReaderAt{Memory: memory}))
	if v.threads, err = s.Threads(v.maps); err != nil {
		return nil, err
	}
	v.Input = engine.Input{
		Target: assembler.Target{
			Arch: s.Arch(), OS: runtime.GOOS, Memory: memory,
			Executable: ranges(v.maps, 'x'), Writable: ranges(v.maps, 'w'), Code: v.code,
		},
		Images: v.code.Images(), Section: v.code.Section, Hosted: v.code.GoRanges(), Names: v.code, Notes: v.code.Notes(),
	}
	return v, nil
}

// ranges lists the mappings with a permission.
func ranges(maps []imagemap.Mapping, perm byte) unwind.RangeSet {
	var out []unwind.Range
	for _, m := range maps {
		if strings.IndexByte(m.Perm, perm) >= 0 {
			out = append(out, unwind.Range{Start: m.Start, End: m.End})
		}
	}
	return unwind.NewRangeSet(out...)
}

// Images is the image map of the process.
func (v *View) Images() *imagemap.ImageMap { return v.images }

// Code is the process's code.
func (v *View) Code() *codemap.Map { return v.code }

// Threads gives every thread.
func (v *View) Threads() []delve.Thread { return v.threads }

// Current is the thread that stopped the process.
func (v *View) Current() (delve.Thread, error) {
	for _, th := range v.threads {
		if th.Current {
			return th, nil
		}
	}
	return delve.Thread{}, fmt.Errorf("process %d has no current thread", v.session.Pid())
}

// Goroutines gives every goroutine.
func (v *View) Goroutines() ([]delve.Thread, error) { return v.session.Goroutines(v.threads) }

// Claim fills in Delve's own frames, at most depth of them (0: a number that
// covers ordinary stacks). That Delve fails is no failure: the stack says so.
func (v *View) Claim(th *delve.Thread, depth int) (note string) {
	if depth <= 0 || depth > maxClaims {
		depth = maxClaims
	}
	claims, err := v.session.Claims(*th, depth)
	if err != nil {
		return fmt.Sprintf("Delve's own frames are not known: %v", err)
	}
	th.Claims = claims
	return ""
}

// maxClaims bounds the frames that Delve is asked for: beyond it they cost more
// than what they add (an index into Delve's stack).
const maxClaims = 1000
