package symbols

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/internal/unpacked"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/unwind"
)

// maxDebug bounds a decompressed debug section, in bytes.
const maxDebug = 2 << 30

// place is where a file lies, and where what belongs to it is looked for.
type place struct {
	path    string
	folders []string    // of debug files
	info    fs.FileInfo // of the file that was opened; nil where there is none
}

// userCache is where decompressed sections are kept.
var userCache = sync.OnceValue(unpacked.User)

// unpackOnce has a file's sections decompressed into the user's cache.
func unpackOnce(src *dwarfline.Source, file fs.FileInfo) *dwarfline.Source {
	open := src.Section
	src.Section = func(name string) (dwarfline.Section, bool) {
		s, ok := open(name)
		if ok && s.At == nil {
			s.At = userCache().Section(file, name, s.Size, s.Open)
		}
		return s, ok
	}
	return src
}

// hasDWARF says whether a file has debugging information of its own.
func hasDWARF(f *elf.File) bool {
	return slices.ContainsFunc(f.Sections, func(s *elf.Section) bool {
		return (s.Name == ".debug_info" || s.Name == ".zdebug_info") && s.Type != elf.SHT_NOBITS
	})
}

// openDWARF implements [object]. Nothing is read yet. Sections of
// object files have no addresses, unless a JIT compiler has written them into the headers:
// where they overlap, nothing says which one an address is in.
func (f *elfFile) openDWARF() described {
	from, at := f.File, f.place
	if f.debug != nil {
		from, at = f.debug, f.debugPlace
	}
	if !hasDWARF(from) || from.Type == elf.ET_REL && !isPlaced(from) {
		return nil
	}
	src := unpackOnce(dwarfline.FromELF(from), at.info)
	src.Split = at.splitUnit
	src.Package = func() (*dwarfline.Source, error) { return f.splitPackage(at) }
	src.Alternate = func() (*dwarfline.Source, error) { return alternateOf(from, at) }
	return dwarfline.New(src)
}

// isPlaced says whether no two sections of code have the same address.
func isPlaced(f *elf.File) bool {
	var code []unwind.Range
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Size > 0 {
			code = append(code, unwind.Range{Start: s.Addr, End: s.Addr + s.Size})
		}
	}
	slices.SortFunc(code, func(a, b unwind.Range) int { return cmp.Compare(a.Start, b.Start) })
	for i := 1; i < len(code); i++ {
		if code[i].Start < code[i-1].End {
			return false
		}
	}
	return true
}

// splitUnit opens a split unit's file: where the unit says, or beside the program, to
// which it may have been moved.
func (p place) splitUnit(dir, name string) (*dwarfline.Source, error) {
	said := name
	if !filepath.IsAbs(name) {
		said = filepath.Join(dir, name)
	}
	places := []string{said}
	if p.path != "" {
		beside := filepath.Dir(p.path)
		if !filepath.IsAbs(said) { // as -ffile-prefix-map makes it
			places = []string{filepath.Join(beside, said), said}
		}
		places = append(places, filepath.Join(beside, filepath.Base(name)))
	}
	f, err := openFirst(places)
	if err != nil {
		return nil, err
	}
	return dwarfline.FromELF(f.File), nil
}

// splitPackage opens the file with all split units, which lies beside the program or
// its debug file. nil: there is none.
func (f *elfFile) splitPackage(at place) (*dwarfline.Source, error) {
	for _, path := range []string{f.place.path, at.path} {
		if path == "" {
			continue
		}
		pack, err := openFirst([]string{path + ".dwp"})
		if err == nil {
			return dwarfline.FromELF(pack.File), nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return nil, nil
}

// alternateOf opens the file that dwz has moved common entries to: by the link's path,
// or by its build ID. It must have that ID.
func alternateOf(from *elf.File, at place) (*dwarfline.Source, error) {
	link, ok := dwarfline.AlternateLink(from)
	if !ok {
		return nil, nil
	}
	places := []string{link.Name}
	if !filepath.IsAbs(link.Name) {
		places[0] = filepath.Join(filepath.Dir(at.path), link.Name)
	}
	id := hex.EncodeToString(link.BuildID)
	for _, folder := range at.folders {
		if len(id) > 2 {
			places = append(places, filepath.Join(folder, ".build-id", id[:2], id[2:]+".debug"))
		}
	}
	f, err := openFirst(places)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(f.id, link.BuildID) {
		return nil, &OtherBuildError{What: "build ID", Want: id, Found: cmp.Or(hex.EncodeToString(f.id), "none")}
	}
	return dwarfline.FromELF(f.File), nil
}

// debugELF is an ELF file with debugging information alone.
type debugELF struct {
	*elf.File
	id []byte
}

// openFirst opens the first of several files that is there.
func openFirst(places []string) (out debugELF, err error) {
	for _, place := range places {
		file, info, failed := elffile.OpenRegular(place)
		if failed != nil {
			err = cmp.Or(err, error(&Error{Path: place, Err: failed}))
			continue
		}
		f, left, failed := elffile.New(file, info.Size(), elffile.Stored(info))
		if failed == nil && left != nil {
			failed = left
		}
		if failed != nil {
			file.Close()
			return out, &Error{Path: place, Err: failed}
		}
		id := buildIDOf(f, file) // without one it is nobody's
		return debugELF{f, id}, nil
	}
	return out, err
}

// buildIDOf returns the build ID of a file that may have sections alone, as dwz's common
// files, which no program headers lead to.
func buildIDOf(f *elf.File, file io.ReaderAt) []byte {
	if id, _ := imagemap.ReadBuildID(file); len(id) > 0 {
		return id
	}
	c, ok := sectionOf(f, ".note.gnu.build-id")
	if !ok || len(c.Data) < 16 || f.ByteOrder.Uint32(c.Data) != 4 || f.ByteOrder.Uint32(c.Data[8:]) != 3 || string(c.Data[12:16]) != "GNU\x00" {
		return nil
	}
	return c.Data[16:][:min(int(f.ByteOrder.Uint32(c.Data[4:])), len(c.Data)-16)]
}

// nameOf returns a call's name as users read it. Where DWARF has no mangled name, and
// for clones of a function (.cold, .part, .constprop, .isra), the symbol that the
// code lies in says more: it counts if it is of the same function. symbol may be "".
func nameOf(c *dwarfline.Call, symbol string) string {
	name := cmp.Or(c.Linkage, c.Name)
	switch {
	case !c.Inlined && (name == "" || isCloneOf(symbol, name) || c.Linkage == "" && mangles(symbol, name)):
		return names.Demangle(symbol)
	case dwarfline.IsD(c.Linkage) && c.Name != "":
		return c.Scope + c.Name
	case c.Linkage == "" && c.Scope != "":
		return c.Scope + name
	}
	return names.Demangle(name)
}

// isCloneOf says whether a symbol names a part or a variant of a function.
func isCloneOf(symbol, name string) bool {
	rest, ok := strings.CutPrefix(symbol, name)
	return ok && strings.HasPrefix(rest, ".")
}

// mangles says whether a symbol is the mangled name of a function with that name.
func mangles(symbol, name string) bool {
	symbol, _, _ = strings.Cut(symbol, ".")
	short := names.Short(names.Demangle(symbol))
	if i := strings.LastIndexAny(short, ":."); i >= 0 {
		short = short[i+1:]
	}
	return short != "" && short != symbol && short == names.Short(name)
}
