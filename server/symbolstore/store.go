package symbolstore

import (
	"fmt"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/export/document"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// source finds the files of a build. More than one may describe it: a stripped
// executable and its debug file.
type source interface {
	find(id []byte) ([]*symbols.File, error)
}

// Store answers for images by their build IDs. It implements [document.Symbols]. It is
// not safe for concurrent use.
type Store struct {
	name  string // of the source, for messages
	from  source
	known map[string][]*symbols.File
	notes []string
}

func newStore(name string, from source) *Store {
	return &Store{name: name, from: from, known: make(map[string][]*symbols.File)}
}

// Notes says which images have no symbols, and why, since the last call.
func (s *Store) Notes() []string {
	out := s.notes
	s.notes = nil
	return out
}

// Calls implements [document.Symbols].
func (s *Store) Calls(img *imagemap.Image, pc uint64, at unwind.LookupAddr) []document.Call {
	var best []document.Call
	for _, f := range s.files(img) {
		bias := img.Base - f.Start()
		calls := callsOf(f, pc-bias, uint64(at)-bias)
		if worth(calls) > worth(best) {
			best = calls
		}
	}
	return best
}

func callsOf(f *symbols.File, pc, at uint64) (out []document.Call) {
	for _, c := range f.Calls(at) {
		out = append(out, document.Call{Function: c.Name(pc), File: c.File, Line: c.Line})
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
func (s *Store) files(img *imagemap.Image) []*symbols.File {
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
		files, err = s.from.find(img.BuildID)
	}
	s.known[key] = files
	if len(files) == 0 && err == nil {
		err = fmt.Errorf("nothing of build %x is in %s", img.BuildID, s.name)
	}
	if len(files) == 0 {
		s.notes = append(s.notes, fmt.Sprintf("no symbols of %s: %v", imageName(img), err))
	}
	return files
}

func imageName(img *imagemap.Image) string {
	if img.Path == "" {
		return fmt.Sprintf("the image at %#x", img.Base)
	}
	return fmt.Sprintf("%q", img.Path)
}
