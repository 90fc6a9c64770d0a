package snapshot

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/imagemap"
)

// ImageMap returns the snapshot's images as they were loaded.
func (s *Snapshot) ImageMap() (*imagemap.ImageMap, error) {
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
		loaded := &imagemap.Loaded{Bias: img.Base, HasBias: true, Executable: s.mapped(img.Path)}
		images = append(images, imagemap.Image{
			Base: s.start(&img), EndOfText: end, BuildID: img.BuildID, Path: img.Path, Loaded: loaded,
		})
	}
	return imagemap.New(ws, "", images)
}

// start returns the start of an image's first mapping, where its ELF header is; its
// base (the load bias) where mappings are unknown.
func (s *Snapshot) start(img *Image) uint64 {
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
func (s *Snapshot) mapped(path string) (ranges []imagemap.Range) {
	for _, m := range s.Maps {
		if m.Executable() && isPath(m.Path, path) {
			ranges = append(ranges, imagemap.Range{Start: m.Start, End: m.End})
		}
	}
	return ranges
}
