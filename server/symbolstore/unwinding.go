package symbolstore

import (
	"cmp"
	"debug/elf"
	"errors"
	"slices"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/debuginfod"
	"github.com/clewdbg/clew/server/symbols"
)

// File opens the file with an image's code, and its debug file with it: for unwinding,
// which needs tables and code beside names.
func (s *Store) File(img *imagemap.Image) (*symbols.File, error) {
	paths, failed := s.from.find(img.BuildID, true)
	for _, path := range paths {
		if !hasCode(path) {
			continue
		}
		f, err := s.openFile(path, img.BuildID, "")
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if debug := firstWithDWARF(paths); debug != "" && f.WantsDebugFile() {
			return s.openFile(path, img.BuildID, debug)
		}
		return f, nil
	}
	if failed == nil {
		failed = s.nothing(img.BuildID)
	}
	return nil, failed
}

// DebugFile returns the path of a build's debug file. The error wraps
// [debuginfod.ErrNotFound] if there is none.
func (s *Store) DebugFile(id []byte) (string, error) {
	paths, err := s.from.find(id, false)
	if path := firstWithDWARF(paths); path != "" {
		return path, nil
	}
	return "", cmp.Or(err, debuginfod.ErrNotFound)
}

func firstWithDWARF(paths []string) string {
	for _, path := range paths {
		if hasSection(path, func(s *elf.Section) bool {
			return s.Name == ".debug_info" || s.Name == ".zdebug_info"
		}) {
			return path
		}
	}
	return ""
}

// hasCode says whether a file is no mere debug file: of code, that has the section's
// header only.
func hasCode(path string) bool {
	if strings.Contains(path, ".dSYM/") {
		return false
	}
	return !hasSection(path, func(s *elf.Section) bool {
		return s.Flags&elf.SHF_EXECINSTR != 0 && s.Type == elf.SHT_NOBITS
	})
}

// hasGoTable says whether the image that a debug file is of has a table of Go's
// functions: the debug file has the section's header only.
func hasGoTable(path string) bool {
	return hasSection(path, func(s *elf.Section) bool {
		return s.Name == ".gopclntab" || s.Name == ".data.rel.ro.gopclntab"
	})
}

func hasSection(path string, is func(*elf.Section) bool) bool {
	f, err := elffile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return slices.ContainsFunc(f.Sections, is)
}
