package debuginfod

import (
	"bytes"
	"debug/elf"
	"io"
	"math"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/elffile"
)

// verify checks that a file is of the build that was asked for. A source has no
// build ID.
func verify(r Request, file io.ReaderAt) error {
	if r.Kind == Source {
		return nil
	}
	found, err := buildID(file)
	if bytes.Equal(found, r.BuildID) {
		return nil
	}
	return &OtherBuildError{Want: r.BuildID, Found: found, Err: err}
}

// buildID reads the GNU build ID by program headers, and by the section's name
// where they lead nowhere: what strip --only-keep-debug leaves has the program
// headers of the file that it was made of.
func buildID(file io.ReaderAt) ([]byte, error) {
	id, err := imagemap.ReadBuildID(file)
	if len(id) > 0 {
		return id, nil
	}
	f, _, ferr := elffile.New(file, math.MaxInt64, math.MaxInt64) // the headers are bounded; one note is read
	if ferr != nil {
		if err == nil {
			err = ferr
		}
		return nil, err
	}
	const header, name = 12, "GNU\x00"
	s := f.Section(".note.gnu.build-id")
	if s == nil || s.Type != elf.SHT_NOTE || s.Size > header+uint64(len(name))+maxBuildID {
		return nil, err
	}
	note, err := s.Data()
	if err != nil || len(note) <= header+len(name) || string(note[header:][:len(name)]) != name {
		return nil, err
	}
	return note[header+len(name):], nil
}
