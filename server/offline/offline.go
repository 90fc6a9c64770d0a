// Package offline makes input for the engine from a snapshot: a stopped program
// as one line of JSON, its images as files.
package offline

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/unwind"
)

// Opener opens snapshots, and keeps the files of images from one to the next. It is not safe for concurrent use.
type Opener struct {
	// Root is the folder that absolute paths lie below; "" is "/".
	Root  string
	files codemap.Files
	last  *codemap.Map // of the snapshot before
}

// FindDebugFiles says where separate debug files are looked for, below the root,
// instead of where distributions put them.
func (o *Opener) FindDebugFiles(folders []string) { o.files.DebugFolders = folders }

// Open makes the input and the threads. Paths of images are relative to dir;
// absolute ones lie below the root. An image that cannot be opened, or that is
// another build, is not used, and every stack says so.
func (o *Opener) Open(s *snapshot.Snapshot, dir string) (*engine.Input, []unwind.Thread, error) {
	memory, err := s.Target()
	if err != nil {
		return nil, nil, err
	}
	images, err := imageMap(s)
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
	in := &engine.Input{
		Target: assembler.Target{
			Arch: s.Arch, OS: s.OS, Order: s.Order(), Memory: memory,
			Executable: executable, Writable: writable(s), Code: code, PACMask: s.PACMask,
		},
		Images: code.Images(), Keys: code.Keys(), Section: code.Section, Hosted: code.GoRanges(), Names: code, Notes: code.Notes(), About: code.About(),
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

func imageMap(s *snapshot.Snapshot) (*imagemap.ImageMap, error) {
	ws := imagemap.Word64
	if s.Arch.PointerSize() == 4 {
		ws = imagemap.Word32
	}
	var images []imagemap.Image
	for i, img := range s.Images {
		end := img.End
		if end <= img.Base {
			end = img.Base + 1 // unknown: the file says, see codemap
		}
		if end <= img.Base {
			return nil, fmt.Errorf("images[%d]: base %#x is at the end of the address space", i, img.Base)
		}
		loaded := &imagemap.Loaded{Bias: img.Base, HasBias: true, Executable: mapped(s, img.Path)}
		images = append(images, imagemap.Image{
			Base: start(s, &img), EndOfText: end, BuildID: img.BuildID, Path: img.Path, Loaded: loaded,
		})
	}
	return imagemap.New(ws, "", images)
}

// start returns the start of an image's first mapping, where its ELF header is; its
// base (the load bias) where mappings are unknown.
func start(s *snapshot.Snapshot, img *snapshot.Image) uint64 {
	for _, m := range s.Maps {
		if isPath(m.Path, img.Path) && m.Start >= img.Base && m.Start < img.End {
			return m.Start
		}
	}
	return img.Base
}

// isPath says whether a mapping's path is an image's. The kernel marks a file that
// has no name any more.
func isPath(mapping, image string) bool {
	return mapping == image || strings.TrimSuffix(mapping, " (deleted)") == image
}

// mapped lists the executable mappings of an image, as a live process has them.
// The vDSO, which is no file, is read up to their end: its section headers come
// after its code.
func mapped(s *snapshot.Snapshot, path string) (ranges []imagemap.Range) {
	for _, m := range s.Maps {
		if m.Executable() && isPath(m.Path, path) {
			ranges = append(ranges, imagemap.Range{Start: m.Start, End: m.End})
		}
	}
	return ranges
}
