// Package offline makes input for the engine from a snapshot: a stopped program
// as one line of JSON, its images as files.
package offline

import (
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/symbolstore"
	"github.com/clewdbg/clew/unwind"
)

// Opener opens snapshots, and keeps the files of images from one to the next. It is not safe for concurrent use.
type Opener struct {
	// Root is the folder that absolute paths lie below; "" is "/".
	Root      string
	files     codemap.Files
	generated codemap.Generated
	last      *codemap.Map // of the snapshot before
}

// FindDebugFiles says where separate debug files are looked for, below the root,
// instead of where distributions put them.
func (o *Opener) FindDebugFiles(folders []string) { o.files.DebugFolders = folders }

// FindFiles has files come from a store: those of images, before their paths count, and
// the debug files of those that lie at their paths.
func (o *Opener) FindFiles(s *symbolstore.Store) {
	o.files.Find = s.File
	o.files.Ask = s.DebugFile
}

// Open makes the input and the threads. Paths of images are relative to dir;
// absolute ones lie below the root. An image that cannot be opened, or that is
// another build, is not used, and every stack says so.
func (o *Opener) Open(s *snapshot.Snapshot, dir string) (*engine.Input, []unwind.Thread, error) {
	memory, err := s.Target()
	if err != nil {
		return nil, nil, err
	}
	images, err := s.ImageMap()
	if err != nil {
		return nil, nil, err
	}
	if o.last == nil || o.last.Arch() != s.Arch {
		o.last = codemap.None(s.Arch)
	}
	o.files.Arch = s.Arch
	code := o.last.Next(images, o.files.Offline(func(path string) string {
		return snapshot.ResolvePath(path, dir, o.Root)
	}, o.Root, unwind.ReaderAt{Memory: memory}))
	o.last = code
	o.files.Sweep()
	executable, known := s.Executable()
	if !known && len(s.Images) > 0 {
		executable = code.Executable()
	}
	notes := code.Notes()
	code, err = o.generated.Read(0, nil, executable, unwind.ReaderAt{Memory: memory}, code)
	if err != nil {
		notes = append(notes, err.Error())
	}
	in := &engine.Input{
		Target: assembler.Target{
			Arch: s.Arch, OS: s.OS, Order: s.Order(), Memory: memory,
			Executable: executable, Writable: writable(s), Code: code, PACMask: s.PACMask,
		},
		Images: code.Images(), Keys: code.Keys(), Section: code.Section, Hosted: code.GoRanges(), Names: code, Notes: notes, About: code.About,
	}
	return in, append([]unwind.Thread{}, s.Threads...), nil
}

// writable lists the writable mappings, nil where mappings are unknown.
func writable(s *snapshot.Snapshot) unwind.RangeSet {
	var out []unwind.Range
	for _, m := range s.Maps {
		if len(m.Perm) > 1 && m.Perm[1] == 'w' {
			out = append(out, unwind.Range{Start: m.Start, End: m.End})
		}
	}
	return unwind.NewRangeSet(out...)
}
