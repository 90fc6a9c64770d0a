package symbolstore

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/export/document"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// source finds the files of a build. More than one may describe it: a stripped
// executable and its debug file.
type source interface {
	// find lists them. code asks for the one with the code even where names do not need
	// it.
	find(id []byte, code bool) (paths []string, err error)
	// folders are those with debug files.
	folders() []string
}

// Store answers for images by their build IDs. It implements [document.Symbols]. It is
// not safe for concurrent use.
type Store struct {
	name  string // of the source, for messages
	from  source
	known map[string][]opened
	notes []string
	said  map[*symbols.File]int // how many of a file's problems
}

// opened is a file of a build.
type opened struct {
	*symbols.File
	path string
}

func newStore(name string, from source) *Store {
	return &Store{name: name, from: from, known: make(map[string][]opened), said: make(map[*symbols.File]int)}
}

// Notes says which images have no symbols, and why, and what is wrong with the files of
// others, since the last call.
func (s *Store) Notes() []string {
	out := s.notes
	s.notes = nil
	for _, id := range slices.Sorted(maps.Keys(s.known)) {
		for _, f := range s.known[id] {
			problems := f.Problems()
			for _, err := range problems[min(s.said[f.File], len(problems)):] {
				out = append(out, fmt.Sprintf("%s: %v", f.path, err))
			}
			s.said[f.File] = len(problems)
		}
	}
	return out
}

// Calls implements [document.Symbols].
func (s *Store) Calls(img *imagemap.Image, pc uint64, at unwind.LookupAddr) []document.Call {
	var best []document.Call
	for _, f := range s.files(img) {
		bias := biasOf(img, f.File)
		calls := callsOf(f.File, pc-bias, uint64(at)-bias)
		if worth(calls) > worth(best) {
			best = calls
		}
	}
	return best
}

// biasOf is what was added to a file's addresses.
func biasOf(img *imagemap.Image, f *symbols.File) uint64 {
	if img.Loaded != nil && img.Loaded.HasBias {
		return img.Loaded.Bias - f.Base()
	}
	return img.Base - f.Start()
}

func callsOf(f *symbols.File, pc, at uint64) (out []document.Call) {
	for _, c := range f.Calls(at) {
		out = append(out, document.Call{Function: c.Name(pc), File: c.File, Line: c.Line, Column: c.Column})
	}
	return out
}

// TailCalls implements [document.Symbols].
func (s *Store) TailCalls(img *imagemap.Image, ret uint64, callee unwind.LookupAddr) (out []document.Call) {
	for _, f := range s.files(img) {
		bias := img.Base - f.Start()
		for _, c := range f.TailCalls(ret-bias, uint64(callee)-bias) {
			out = append(out, document.Call{Function: c.Function, File: c.File, Line: c.Line, Column: c.Column, TailCall: true})
		}
		if out != nil {
			break
		}
	}
	return out
}

// worth ranks answers: lines come from debug information, which has better names too.
func worth(calls []document.Call) int {
	switch {
	case len(calls) == 0:
		return 0
	case calls[0].Line == 0 && calls[0].File == "":
		return 1
	}
	return 2
}

// files returns the files of an image's build, found once.
func (s *Store) files(img *imagemap.Image) []opened {
	key := string(img.BuildID)
	if key == "" {
		key = "path " + img.Path
	}
	files, ok := s.known[key]
	if ok {
		return files
	}
	var err error
	if len(img.BuildID) == 0 {
		err = fmt.Errorf("the image map has no build ID of it")
	} else {
		files, err = s.open(img.BuildID)
	}
	s.known[key] = files
	if len(files) == 0 && err == nil {
		err = s.nothing(img.BuildID)
	}
	if len(files) == 0 {
		s.notes = append(s.notes, fmt.Sprintf("no symbols of %s: %v", imageName(img), err))
	}
	return files
}

func (s *Store) nothing(id []byte) error {
	return fmt.Errorf("nothing of build %x is in %s", id, s.name)
}

// open opens all files of a build.
func (s *Store) open(id []byte) (out []opened, failed error) {
	paths, failed := s.from.find(id, false)
	for _, path := range paths {
		f, err := s.openFile(path, id, "")
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		out = append(out, opened{f, path})
	}
	return out, failed
}

// openFile opens a file of a build, with its debug file: debug, or the one at its usual
// place.
func (s *Store) openFile(path string, id []byte, debug string) (*symbols.File, error) {
	f, err := symbols.OpenWithDebug(path, symbols.DebugSearch{
		Choice: symbols.Choice{BuildID: id}, Known: path, Beside: filepath.Dir(path), Folders: s.from.folders(), Also: debug,
	})
	if err != nil {
		return nil, err
	}
	if found := f.BuildID(); !slices.Equal(found, id) {
		return nil, fmt.Errorf("%s is of another build (%x), wanted %x", path, found, id)
	}
	return f, nil
}

func imageName(img *imagemap.Image) string {
	if img.Path == "" {
		return fmt.Sprintf("the image at %#x", img.Base)
	}
	return fmt.Sprintf("%q", img.Path)
}
