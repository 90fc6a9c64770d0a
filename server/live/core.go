package live

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// NewCore makes a Process of a session with a core file. executable is the file
// that the user named as the program; libraries are looked for where the process
// had them.
func NewCore(s *delve.Session, core *corefile.File, executable string) *Process {
	d := &dumped{File: core, executable: executable}
	core.Complete(d.path)
	return &Process{session: s, source: s, place: d}
}

// dumped is the place of a process whose address space is in a core file.
type dumped struct {
	*corefile.File
	executable string
}

func (d *dumped) maps() ([]byte, error) { return []byte(d.Maps()), nil }
func (d *dumped) memory() unwind.Memory { return d.File }
func (d *dumped) name() string          { return "the core file" }

// path is where a file of the process's is now.
func (d *dumped) path(path string) string {
	if path == d.Executable() {
		return d.executable
	}
	return path
}

func (d *dumped) images(maps []byte) (*imagemap.ImageMap, error) {
	s := imagemap.Source{Maps: bytes.NewReader(maps), Memory: unwind.ReaderAt{Memory: d.File}, Open: d.open}
	return asFarAsKnown(s.Capture())
}

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

func (d *dumped) opener(f *codemap.Files) codemap.Opener {
	open := f.Offline(func(path string) string {
		if strings.HasPrefix(path, "[") { // [vdso]: in memory only
			return ""
		}
		return d.path(path)
	}, "", unwind.ReaderAt{Memory: d.File})
	return func(img *imagemap.Image) (*symbols.File, error) {
		if img.Loaded != nil {
			switch img.Loaded.File {
			case imagemap.FileDeleted:
				return nil, fmt.Errorf("%s is not on this machine: its symbols and tables are missing", img.Path)
			case imagemap.FileReplaced:
				return nil, fmt.Errorf("%s is another build than the core file's: it is not used", d.path(img.Path))
			}
		}
		return open(img)
	}
}
