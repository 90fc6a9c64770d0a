package codemap

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/macho"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// Opener opens the file of an image. It returns an error where no file describes
// the image as it is loaded; the image is then known by its range only.
type Opener func(img *imagemap.Image) (*symbols.File, error)

// BuildError says that the file at an image's path is another build than what
// is loaded.
type BuildError struct {
	Path          string
	Loaded, Found []byte // build IDs
}

// Error names both builds.
func (e *BuildError) Error() string {
	return fmt.Sprintf("%s is another build (%x) than the one that is loaded (%x): it is not used", e.Path, e.Found, e.Loaded)
}

var (
	errChanged = errors.New("was written to after it was loaded: it is not used")
	errNoFile  = errors.New("no file")
)

// maxMemoryImage bounds an image that is read from memory, in bytes. The vDSO
// has one or two pages.
const maxMemoryImage = 1 << 20

// memoryRange says where an image without a file (the vDSO) is read in memory.
func memoryRange(img *imagemap.Image) (unwind.Range, bool) {
	end := img.EndOfText
	if img.Loaded != nil {
		for _, r := range img.Loaded.Executable {
			end = max(end, r.End) // to the end of the page: the section headers come last
		}
	}
	return unwind.Range{Start: img.Base, End: end}, end > img.Base && end-img.Base <= maxMemoryImage
}

// isMachO says whether a Mach-O header is where the image begins.
func isMachO(img *imagemap.Image, memory io.ReaderAt) bool {
	var magic [4]byte
	if memory == nil {
		return false
	}
	_, err := memory.ReadAt(magic[:], int64(img.Base))
	return err == nil && macho.IsHeader(magic[:])
}

func openMemory(img *imagemap.Image, memory io.ReaderAt) (*symbols.File, error) {
	if isMachO(img, memory) {
		f, _, err := symbols.Loaded(memory, img.Base, 0)
		if err != nil {
			return nil, fmt.Errorf("%s in memory: %w", img.Path, err)
		}
		return f, nil
	}
	buf, err := readMemory(img, memory)
	if err != nil {
		return nil, err
	}
	return inMemory(img, buf)
}

// readMemory reads an image that has no file.
func readMemory(img *imagemap.Image, memory io.ReaderAt) ([]byte, error) {
	where, ok := memoryRange(img)
	if memory == nil || !ok {
		return nil, fmt.Errorf("%s: %w", img.Path, errNoFile)
	}
	buf := make([]byte, where.End-where.Start)
	if _, err := memory.ReadAt(buf, int64(where.Start)); err != nil {
		return nil, fmt.Errorf("%s: %w", img.Path, err)
	}
	return buf, nil
}

// inMemory opens an image whose memory was read.
func inMemory(img *imagemap.Image, buf []byte) (*symbols.File, error) {
	f, err := symbols.New(bytes.NewReader(buf), int64(len(buf)))
	if err != nil {
		return nil, fmt.Errorf("%s in memory: %w", img.Path, err)
	}
	return f, nil
}
