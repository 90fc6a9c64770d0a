package codemap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/debuginfod"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// Files are the files of a process's images, kept open from stop to stop: what
// was read of a file once is there at the next stop, unless the file is another
// one by then. The zero value has none. It is not safe for concurrent use.
type Files struct {
	// DebugFolders are where separate debug files are looked for; nil means
	// [symbols.DefaultDebugFolders].
	DebugFolders []string
	// Arch is the target's architecture: of a universal file its image counts, unless
	// the image's build ID names another.
	Arch unwind.Arch
	// Ask returns the debug file of a build that is not on this machine as a rule, with
	// the errors of [debuginfod.Background]. It does not wait: while it is pending it may
	// come for a later stop. Nil: nothing is asked.
	Ask func(buildID []byte) (path string, err error)
	// Find opens the file of a snapshot's image by its build ID, wherever that is; one at
	// the image's path counts where it fails. Nil: paths alone count.
	Find    func(img *imagemap.Image) (*symbols.File, error)
	known   map[fileKey]*known
	waiting map[*symbols.File]bool // files whose debug file is pending
}

// open opens the file at path, with its debug file, and refuses it where it is of
// another build than the image.
func (f *Files) open(img *imagemap.Image, path string, debugFolders []string) (*symbols.File, error) {
	search := symbols.DebugSearch{Choice: f.choice(img), Known: img.Path, Beside: filepath.Dir(path), Folders: debugFolders}
	file, err := symbols.OpenWithDebug(path, search)
	if err != nil {
		return nil, err
	}
	if f.Ask != nil && file.WantsDebugFile() {
		if file, err = f.openAsked(file, path, search); err != nil {
			return nil, err
		}
	}
	if id := file.BuildID(); len(id) > 0 && len(img.BuildID) > 0 && !bytes.Equal(id, img.BuildID) {
		return nil, &BuildError{Path: path, Loaded: img.BuildID, Found: id}
	}
	if a := file.Arch(); a != unwind.ArchUnknown && f.Arch != unwind.ArchUnknown && a != f.Arch {
		return nil, fmt.Errorf("%s is for %v, the target is %v: it is not used", path, a, f.Arch)
	}
	return file, nil
}

// openAsked opens a file again with the debug file that Ask knows, if it does.
func (f *Files) openAsked(file *symbols.File, path string, search symbols.DebugSearch) (*symbols.File, error) {
	debug, err := f.Ask(file.BuildID())
	switch {
	case err == nil:
		search.Also = debug
		return symbols.OpenWithDebug(path, search)
	case errors.Is(err, debuginfod.ErrPending):
		file.AddProblem(fmt.Errorf("%s: its debug file was asked for and is not there yet: names may come with the next stop", search.Known))
		if f.waiting == nil {
			f.waiting = make(map[*symbols.File]bool)
		}
		f.waiting[file] = true
	case !errors.Is(err, debuginfod.ErrNotFound):
		file.AddProblem(fmt.Errorf("%s: its debug file could not be had: %w", search.Known, err))
	}
	return file, nil
}

// arrived reports whether the debug file that a file waited for is there, or will not
// come.
func (f *Files) arrived(file *symbols.File) bool {
	if file == nil || !f.waiting[file] {
		return false
	}
	if _, err := f.Ask(file.BuildID()); errors.Is(err, debuginfod.ErrPending) {
		return false
	}
	delete(f.waiting, file)
	return true
}

// choice says which of a universal file's images it is.
func (f *Files) choice(img *imagemap.Image) symbols.Choice {
	return symbols.Choice{Arch: f.Arch, BuildID: img.BuildID}
}

func (f *Files) debugFolders() []string {
	if f.DebugFolders == nil {
		return symbols.DefaultDebugFolders
	}
	return f.DebugFolders
}

// fileKey names an image. One whose file is not there, or never was (the vDSO), is
// read anew where it is loaded elsewhere.
type fileKey struct {
	path, buildID string
	arch          unwind.Arch
	state         imagemap.FileState
	base          uint64 // 0 for files
	contents      string // of an image that a snapshot holds
}

// known is the result of opening an image.
type known struct {
	file *symbols.File
	err  error
	info fs.FileInfo // of the file that was found; nil for none
	used bool        // since the last Sweep
}

// Live opens the files as the process sees them (its own root folder). What has no
// file (any more) is read from the process.
func (f *Files) Live(pid int, memory io.ReaderAt) Opener {
	return func(img *imagemap.Image) (*symbols.File, error) {
		key := fileKey{path: img.Path, buildID: string(img.BuildID), arch: f.Arch}
		if img.Loaded != nil {
			key.state = img.Loaded.File
		}
		switch key.state {
		case imagemap.FileNone:
			key.base = img.Base
			return f.get(key, nil, func() (*symbols.File, error) { return openMemory(img, memory) })
		case imagemap.FileDeleted, imagemap.FileReplaced:
			key.base = img.Base
			return f.get(key, nil, func() (*symbols.File, error) { return f.openLost(img, pid, memory) })
		}
		path, info := locate(pid, img.Path)
		return f.get(key, info, func() (*symbols.File, error) { return f.open(img, path, f.debugFolders()) })
	}
}

// Offline opens the files of a snapshot: resolve says which file a path stands
// for, "" for one that is in memory only. Of files that are not there the snapshot may
// hold the memory. Debug files are looked for below root
// ("" is "/").
func (f *Files) Offline(resolve func(path string) string, root string, memory io.ReaderAt) Opener {
	var folders []string
	for _, folder := range f.debugFolders() {
		folders = append(folders, filepath.Join(root, folder))
	}
	return func(img *imagemap.Image) (*symbols.File, error) {
		path := resolve(img.Path)
		if path == "" {
			return f.held(img, memory)
		}
		found, notFound := f.find(img)
		if found != nil {
			return found, nil
		}
		info, err := os.Stat(path)
		if err != nil {
			file, err := openMissing(img, path, memory)
			if err != nil && notFound != nil {
				err = fmt.Errorf("%w; %w", err, notFound)
			}
			return file, err
		}
		return f.get(fileKey{path: path, buildID: string(img.BuildID), arch: f.Arch}, info, func() (*symbols.File, error) { return f.open(img, path, folders) })
	}
}

// held opens an image that a snapshot holds: most of a program's snapshots hold the same.
func (f *Files) held(img *imagemap.Image, memory io.ReaderAt) (*symbols.File, error) {
	buf, err := readMemory(img, memory)
	if err != nil || isMachO(img, memory) {
		return openMemory(img, memory)
	}
	key := fileKey{path: img.Path, buildID: string(img.BuildID), arch: f.Arch, base: img.Base, contents: string(buf)}
	return f.get(key, nil, func() (*symbols.File, error) { return inMemory(img, buf) })
}

// find opens an image's file by its build ID; nil where nothing is asked for it.
func (f *Files) find(img *imagemap.Image) (*symbols.File, error) {
	if f.Find == nil || len(img.BuildID) == 0 {
		return nil, nil
	}
	key := fileKey{buildID: string(img.BuildID), arch: f.Arch}
	return f.get(key, nil, func() (*symbols.File, error) { return f.Find(img) })
}

// locate finds the file at a path as a process sees it; where its root folder
// cannot be looked into, as we see it.
func locate(pid int, path string) (string, fs.FileInfo) {
	seen := filepath.Join(fmt.Sprintf("/proc/%d/root", pid), path)
	if info, err := os.Stat(seen); err == nil {
		return seen, info
	}
	info, err := os.Stat(path)
	if err != nil {
		return path, nil
	}
	return path, info
}

// get returns the file of an image, or opens it.
func (f *Files) get(key fileKey, info fs.FileInfo, open func() (*symbols.File, error)) (*symbols.File, error) {
	k := f.known[key]
	switch {
	case k != nil && sameContents(k.info, info) && !f.arrived(k.file):
	case k != nil && k.info != nil && info != nil && os.SameFile(k.info, info) && !sameContents(k.info, info):
		// The process has this very file mapped, and may have read the old contents.
		k = &known{info: info, err: fmt.Errorf("%s %w", key.path, errChanged)}
	default:
		k = &known{info: info}
		k.file, k.err = open()
	}
	if f.known == nil {
		f.known = make(map[fileKey]*known)
	}
	f.known[key], k.used = k, true
	return k.file, k.err
}

// sameContents says whether a file is unchanged, as far as the file system tells.
func sameContents(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Sweep forgets the files that were not asked for since the last time.
func (f *Files) Sweep() {
	for key, k := range f.known {
		if !k.used {
			delete(f.known, key)
			delete(f.waiting, k.file)
		}
		k.used = false
	}
}
