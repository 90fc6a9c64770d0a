package symbolstore

import (
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/macho"
	"github.com/clewdbg/clew/internal/elffile"
)

// Open returns the store of a folder with executables, libraries and debug files,
// anywhere below it, or of one such file.
func Open(path string) (*Store, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return newStore(path, &folder{path: path}), nil
	}
	ids := buildIDs(path)
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s: no ELF or Mach-O file with a build ID", path)
	}
	return newStore(path, &folder{path: filepath.Dir(path), index: indexOf(path, ids)}), nil
}

func indexOf(path string, ids [][]byte) map[string][]string {
	out := make(map[string][]string)
	for _, id := range ids {
		out[string(id)] = []string{path}
	}
	return out
}

// maxFiles bounds the files of a folder that are looked into.
const maxFiles = 1 << 17

// folder is a source of files, which are indexed when one is not at its usual place.
type folder struct {
	path  string
	index map[string][]string // paths by build ID
	more  bool                // there are files that were not looked into
}

// find implements source.
func (f *folder) find(id []byte, code bool) ([]string, error) {
	paths := f.usual(id)
	if f.index == nil && (len(paths) == 0 || code && !slices.ContainsFunc(paths, hasCode)) {
		f.index, f.more = walk(f.path)
	}
	for _, path := range f.index[string(id)] {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 && f.more {
		return nil, fmt.Errorf("nothing of build %x is among the first %d files of %s", id, maxFiles, f.path)
	}
	return paths, nil
}

// folders implements source.
func (f *folder) folders() []string {
	return []string{f.path, filepath.Join(f.path, "usr/lib/debug")}
}

// usual lists the places by build ID where distributions put debug files and their
// executables (GDB's manual, "Debugging Information in Separate Files").
func (f *folder) usual(id []byte) (out []string) {
	name := hex.EncodeToString(id)
	for _, root := range []string{f.path, filepath.Join(f.path, ".build-id"), filepath.Join(f.path, "usr/lib/debug/.build-id")} {
		for _, ending := range []string{".debug", ""} {
			path := filepath.Join(root, name[:2], name[2:]+ending)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				out = append(out, path)
			}
		}
	}
	return out
}

// walk indexes the regular files below a folder. What cannot be read is left out. Symbolic links are followed, wherever they
// lead to: to a debug file from .build-id, to the build's output from Bazel's and Nix' folders. What they lead to comes after
// what lies in the folder itself, and counts once: links may form rings.
func walk(root string) (index map[string][]string, more bool) {
	w := walker{index: make(map[string][]string), seen: make(map[string]bool)}
	w.later = []string{root}
	for at := 0; at < len(w.later); at++ {
		w.visit(w.later[at])
	}
	return w.index, w.files > maxFiles
}

// walker walks through folders.
type walker struct {
	index map[string][]string // paths by build ID
	seen  map[string]bool     // files and folders, by their paths without links
	later []string            // links
	files int                 // that were looked into
}

// visit looks at a file, or at all that lies below a folder.
func (w *walker) visit(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	_ = filepath.WalkDir(real, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case w.files > maxFiles:
			return fs.SkipAll
		case w.seen[at] && entry.IsDir():
			return fs.SkipDir
		case w.seen[at]:
			return nil
		}
		w.seen[at] = true
		named := path + strings.TrimPrefix(at, real) // as users know it
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			if w.files++; w.files <= maxFiles {
				w.later = append(w.later, named)
			}
		case entry.Type().IsRegular():
			w.file(named, entry)
		}
		return nil
	})
}

// smallest is less than any file with a build ID has, in bytes. Files of the kernel's (/proc), some of which never end, say that they are empty.
const smallest = 64

func (w *walker) file(path string, entry fs.DirEntry) {
	if w.files++; w.files > maxFiles {
		return
	}
	if info, err := entry.Info(); err != nil || info.Size() < smallest {
		return
	}
	for _, id := range buildIDs(path) {
		w.index[string(id)] = append(w.index[string(id)], path)
	}
}

// buildIDs reads the build IDs of a file: of a universal Mach-O file there are
// several.
func buildIDs(path string) (out [][]byte) {
	f, _, err := elffile.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var magic [4]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil {
		return nil
	}
	if string(magic[:]) == elf.ELFMAG {
		if id, _ := imagemap.ReadBuildID(f); len(id) > 1 {
			return [][]byte{id}
		}
		return nil
	}
	slices, err := macho.Slices(f)
	if err != nil {
		return nil
	}
	for _, s := range slices {
		if m, err := macho.Read(s.Open(f)); err == nil && len(m.UUID) > 0 {
			out = append(out, m.UUID)
		}
	}
	return out
}
