package codemap

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/symbols"
)

var errDistant = errors.New("it is on another machine, and no file of that build is here")

// Distant opens the files of a process on another machine. A file here counts if it
// has the image's path and build ID; a build ID is needed for that. Else the image is
// read from the process.
func (f *Files) Distant(memory io.ReaderAt) Opener {
	return func(img *imagemap.Image) (*symbols.File, error) {
		if len(img.BuildID) > 0 && filepath.IsAbs(img.Path) {
			if info, err := os.Stat(img.Path); err == nil && info.Mode().IsRegular() {
				key := fileKey{path: img.Path, buildID: string(img.BuildID), arch: f.Arch, state: imagemap.FilePresent}
				file, err := f.get(key, info, func() (*symbols.File, error) { return f.openSame(img) })
				if err == nil {
					return file, nil
				}
			}
		}
		key := fileKey{path: img.Path, buildID: string(img.BuildID), arch: f.Arch, base: img.Base}
		return f.get(key, nil, func() (*symbols.File, error) {
			file, _, err := loaded(img, memory)
			if err != nil {
				return nil, fmt.Errorf("%s: %w (%w)", img.Path, errDistant, err)
			}
			file.AddProblem(fmt.Errorf("%s: %w: what the process has in memory is used, names are missing", img.Path, errDistant))
			return file, nil
		})
	}
}

// openSame opens the file at an image's path, which must have the image's build ID.
func (f *Files) openSame(img *imagemap.Image) (*symbols.File, error) {
	file, err := f.open(img, img.Path, f.debugFolders())
	if err == nil && len(file.BuildID()) == 0 {
		err = &BuildError{Path: img.Path, Loaded: img.BuildID}
	}
	return file, err
}
