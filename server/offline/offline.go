// Package offline makes input for the engine from a snapshot: a stopped program
// as one line of JSON, its images as files.
package offline

import (
	"fmt"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/codemap"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/snapshot"
)

// Open makes the input and the threads. Paths of images are relative to dir;
// absolute ones lie below root ("" is "/"). An image that cannot be opened, or
// that is another build, is not used, and every stack says so.
func Open(s *snapshot.Snapshot, dir, root string) (*engine.Input, []assembler.Thread, error) {
	memory, err := s.Target()
	if err != nil {
		return nil, nil, err
	}
	images, err := imageMap(s)
	if err != nil {
		return nil, nil, err
	}
	code := codemap.New(s.Arch, images, codemap.FileOpener(func(path string) string {
		return snapshot.ResolvePath(path, dir, root)
	}, unwind.ReaderAt{Memory: memory}))
	executable, known := s.Executable()
	if !known && len(s.Images) > 0 {
		executable = code.Executable()
	}
	in := &engine.Input{
		Target: assembler.Target{
			Arch: s.Arch, OS: s.OS, Order: s.Order(), Memory: memory,
			Executable: executable, Writable: writable(s), Code: code, PACMask: s.PACMask,
		},
		Images: code.Images(), Section: code.Section, Hosted: code.GoRanges(), Names: code, Notes: code.Notes(),
	}
	threads := make([]assembler.Thread, 0, len(s.Threads))
	for _, t := range s.Threads {
		th := assembler.Thread{
			ID: t.ID, Goroutine: t.Goroutine, Registers: t.Registers, FirstPC: t.FirstPC,
			Segments: t.Segments, Claims: t.Claims,
		}
		if t.Saved != nil {
			th.Saved = &assembler.Saved{G: t.Saved.G, Registers: t.Saved.Registers}
		}
		threads = append(threads, th)
	}
	return in, threads, nil
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
		images = append(images, imagemap.Image{
			Base: img.Base, EndOfText: end, BuildID: img.BuildID, Path: img.Path,
			Loaded: &imagemap.Loaded{Bias: img.Base, HasBias: true, Executable: mapped(s, img.Path)},
		})
	}
	return imagemap.New(ws, "", images)
}

// mapped lists the executable mappings of an image, as a live process has them.
// The vDSO, which is no file, is read up to their end: its section headers come
// after its code.
func mapped(s *snapshot.Snapshot, path string) (ranges []imagemap.Range) {
	for _, m := range s.Maps {
		if m.Executable() && m.Path == path {
			ranges = append(ranges, imagemap.Range{Start: m.Start, End: m.End})
		}
	}
	return ranges
}
