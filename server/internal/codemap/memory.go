package codemap

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/symbols"
)

// Same opens the file at an image's path, which must have the image's build ID.
func (f *Files) Same(img *imagemap.Image) (*symbols.File, error) {
	info, err := os.Stat(img.Path)
	if err != nil || len(img.BuildID) == 0 || !filepath.IsAbs(img.Path) || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", img.Path, errNoFile)
	}
	key := fileKey{path: img.Path, buildID: string(img.BuildID), arch: f.Arch, state: imagemap.FilePresent}
	return f.get(key, info, func() (*symbols.File, error) {
		file, err := f.open(img, img.Path, f.debugFolders())
		if err == nil && len(file.BuildID()) == 0 {
			err = &BuildError{Path: img.Path, Loaded: img.BuildID}
		}
		return file, err
	})
}

// Loaded reads an image from memory; why says why its file is not used.
func (f *Files) Loaded(img *imagemap.Image, memory io.ReaderAt, why error) (*symbols.File, error) {
	key := fileKey{path: img.Path, buildID: string(img.BuildID), arch: f.Arch, base: img.Base}
	return f.get(key, nil, func() (*symbols.File, error) {
		file, _, err := loaded(img, memory)
		if err != nil {
			return nil, fmt.Errorf("%s: %w (%w)", img.Path, why, err)
		}
		file.AddProblem(fmt.Errorf("%s: %w: what the process has in memory is used, names are missing", img.Path, why))
		return file, nil
	})
}
