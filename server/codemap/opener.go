package codemap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/symbols"
)

// Opener opens the file of an image. It returns an error where there is no file
// that describes what is loaded; the image is then known by its range only.
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
	errDeleted  = errors.New("was deleted after it was loaded: its symbols are not used")
	errReplaced = errors.New("was replaced after it was loaded: it is not used")
	errNoFile   = errors.New("no file")
)

// LiveOpener opens the files of a running process, as the process sees them
// (its own root folder), and its vDSO from memory.
func LiveOpener(pid int, memory io.ReaderAt) Opener {
	return func(img *imagemap.Image) (*symbols.File, error) {
		if img.Loaded != nil {
			switch img.Loaded.File {
			case imagemap.FileDeleted:
				return nil, fmt.Errorf("%s %w", img.Path, errDeleted)
			case imagemap.FileReplaced:
				return nil, fmt.Errorf("%s %w", img.Path, errReplaced)
			case imagemap.FileNone:
				return openMemory(img, memory)
			}
		}
		f, err := symbols.Open(filepath.Join(fmt.Sprintf("/proc/%d/root", pid), img.Path))
		if err != nil {
			if f, err = symbols.Open(img.Path); err != nil {
				return nil, err
			}
		}
		return checkBuild(f, img, img.Path)
	}
}

// maxMemoryImage bounds an image that is read from memory, in bytes. The vDSO
// has one or two pages.
const maxMemoryImage = 1 << 20

func openMemory(img *imagemap.Image, memory io.ReaderAt) (*symbols.File, error) {
	end := img.EndOfText
	if img.Loaded != nil {
		for _, r := range img.Loaded.Executable {
			end = max(end, r.End) // to the end of the page: the section headers come last
		}
	}
	size := end - img.Base
	if memory == nil || size == 0 || size > maxMemoryImage {
		return nil, fmt.Errorf("%s: %w", img.Path, errNoFile)
	}
	buf := make([]byte, size)
	if _, err := memory.ReadAt(buf, int64(img.Base)); err != nil {
		return nil, fmt.Errorf("%s: %w", img.Path, err)
	}
	f, err := symbols.New(bytes.NewReader(buf), int64(len(buf)))
	if err != nil {
		return nil, fmt.Errorf("%s in memory: %w", img.Path, err)
	}
	return f, nil
}

// FileOpener opens files by path; resolve says which file a path stands for, ""
// for one that is in memory only.
func FileOpener(resolve func(path string) string, memory io.ReaderAt) Opener {
	return func(img *imagemap.Image) (*symbols.File, error) {
		path := resolve(img.Path)
		if path == "" {
			return openMemory(img, memory)
		}
		f, err := symbols.Open(path)
		if err != nil {
			return nil, err
		}
		return checkBuild(f, img, path)
	}
}

// checkBuild refuses a file of another build, where both build IDs are known.
func checkBuild(f *symbols.File, img *imagemap.Image, path string) (*symbols.File, error) {
	if id := f.BuildID(); len(id) > 0 && len(img.BuildID) > 0 && !bytes.Equal(id, img.BuildID) {
		return nil, &BuildError{Path: path, Loaded: img.BuildID, Found: id}
	}
	return f, nil
}
