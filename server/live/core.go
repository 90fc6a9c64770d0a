package live

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// CoreFiles says where the files of a core file's process are now.
type CoreFiles struct {
	Executable string // that the user named as the program
	Sysroot    string // the root folder that libraries lie below; "" for this machine's
	Find       Finder // finds what is not there; nil for none
}

// Finder finds an image's file by its build ID.
type Finder func(*imagemap.Image) (*symbols.File, error)

// NewCore makes a Process of a session with a core file.
func NewCore(s *delve.Session, core *corefile.File, files CoreFiles) *Process {
	if path, err := filepath.Abs(files.Executable); err == nil {
		core.NameExecutable(path)
	}
	d := &dumped{File: core, files: files}
	core.Complete(d.path)
	return &Process{session: s, source: s, place: d}
}

// dumped is the place of a process whose address space is in a core file.
type dumped struct {
	*corefile.File
	files CoreFiles
}

func (d *dumped) Maps() ([]byte, error) { return []byte(d.File.Maps()), nil }
func (d *dumped) Memory() unwind.Memory { return d.File }
func (d *dumped) LocalPid() int         { return 0 }
func (d *dumped) Name() string          { return "the core file" }

// path is where a file of the process's is now.
func (d *dumped) path(path string) string {
	if path == d.Executable() {
		return d.files.Executable
	}
	return below(d.files.Sysroot, path)
}

// below is where a file lies below a copy of another machine's root. Where /lib is a link to /usr/lib the mappings have
// either, and a copy may have the folders without the links, or one of them alone.
func below(root, path string) string {
	here := filepath.Join(root, path)
	if _, err := os.Lstat(here); err == nil || root == "" {
		return here
	}
	other, merged := strings.CutPrefix(path, "/usr/")
	if other = "/" + other; !merged {
		other = filepath.Join("/usr", path)
	}
	if there := filepath.Join(root, other); slices.ContainsFunc([]string{"/lib", "/bin", "/sbin"}, func(dir string) bool { return strings.HasPrefix(strings.TrimPrefix(other, "/usr"), dir) }) {
		if _, err := os.Lstat(there); err == nil {
			return there
		}
	}
	return here
}

func (d *dumped) Images(maps []byte) (*imagemap.ImageMap, error) {
	return Capture(imagemap.Source{Maps: bytes.NewReader(maps), Memory: unwind.ReaderAt{Memory: d.File}, Open: d.open})
}

// Capture reads images of which parts may be missing.
func Capture(s imagemap.Source) (*imagemap.ImageMap, error) { return asFarAsKnown(s.Capture()) }

// open opens a file for its headers. One that begins as the process's did counts
// as the very file.
func (d *dumped) open(path string) (*imagemap.File, error) {
	here := d.path(path)
	info, err := os.Stat(here)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: here, Err: fmt.Errorf("is no file but %v", info.Mode().Type())}
	}
	f, err := os.Open(here)
	if err != nil {
		return nil, err
	}
	out := &imagemap.File{ReaderAt: f, Closer: f, Dev: imagemap.Device{Major: ^uint32(0)}}
	if same, known, err := d.Built(path, here); err == nil && (same || !known) {
		out.Dev, out.Inode = imagemap.Device{}, d.Inode(path)
	}
	return out, nil
}

func (d *dumped) Opener(f *codemap.Files) codemap.Opener {
	open := f.Offline(func(path string) string {
		if strings.HasPrefix(path, "[") { // [vdso]: in memory only
			return ""
		}
		return d.path(path)
	}, d.files.Sysroot, unwind.ReaderAt{Memory: d.File})
	return func(img *imagemap.Image) (*symbols.File, error) {
		lost := d.lost(img)
		if lost == nil {
			return open(img)
		}
		if d.files.Find != nil && len(img.BuildID) > 0 {
			found, err := d.files.Find(img)
			if err == nil {
				return found, nil
			}
			lost = fmt.Errorf("%w (%w)", lost, err)
		}
		return nil, lost
	}
}

// lost says why there is no file of an image, nil where there is.
func (d *dumped) lost(img *imagemap.Image) error {
	if img.Loaded == nil {
		return nil
	}
	switch img.Loaded.File {
	case imagemap.FileDeleted:
		return fmt.Errorf("there is no %s: its symbols and tables are missing", d.path(img.Path))
	case imagemap.FileReplaced:
		return fmt.Errorf("%s is another build than the core file's: it is not used", d.path(img.Path))
	}
	return nil
}
