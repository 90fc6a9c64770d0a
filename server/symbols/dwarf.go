package symbols

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
)

// maxDebug bounds a decompressed debug section, in bytes.
const maxDebug = 2 << 30

// place is where a file lies, and where what belongs to it is looked for.
type place struct {
	path    string
	folders []string // of debug files
}

// hasDWARF says whether a file has debugging information of its own.
func hasDWARF(f *elf.File) bool {
	for _, s := range f.Sections {
		if (s.Name == ".debug_info" || s.Name == ".zdebug_info") && s.Type != elf.SHT_NOBITS {
			return true
		}
	}
	return false
}

// openDWARF implements [object]. Nothing is read yet. What has not been linked has no
// addresses.
func (f *elfFile) openDWARF() described {
	from, at := f.File, f.place
	if f.debug != nil {
		from, at = f.debug, f.debugPlace
	}
	if !hasDWARF(from) || from.Type == elf.ET_REL {
		return nil
	}
	src := dwarfline.FromELF(from)
	src.Split = at.splitUnit
	src.Package = func() (*dwarfline.Source, error) { return f.splitPackage(at) }
	src.Alternate = func() (*dwarfline.Source, error) { return alternateOf(from, at) }
	return dwarfline.New(src)
}

// splitUnit opens a split unit's file: where the unit says, or beside the program, to
// which it may have been moved.
func (p place) splitUnit(dir, name string) (*dwarfline.Source, error) {
	places := []string{name}
	if !filepath.IsAbs(name) {
		places[0] = filepath.Join(dir, name)
	}
	if p.path != "" {
		places = append(places, filepath.Join(filepath.Dir(p.path), filepath.Base(name)))
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
		file, _, failed := openRegular(place)
		if failed != nil {
			err = cmp.Or(err, failed)
			continue
		}
		f, failed := elf.NewFile(file)
		if failed != nil {
			file.Close()
			return out, &Error{Path: place, Err: failed}
		}
		id, _ := imagemap.ReadBuildID(file) // without one it is nobody's
		return debugELF{f, id}, nil
	}
	return out, err
}

// nameOf returns a call's name as users read it. Where DWARF has no mangled name, and
// for clones of a function (.cold, .part, .constprop, .isra), the symbol that the
// code lies in says more: it counts if it is of the same function. symbol may be "".
func nameOf(c *dwarfline.Call, symbol string) string {
	name := cmp.Or(c.Linkage, c.Name)
	switch {
	case !c.Inlined && (name == "" || isCloneOf(symbol, name) || c.Linkage == "" && mangles(symbol, name)):
		name = symbol
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
	short := names.Short(names.Demangle(symbol))
	if i := strings.LastIndex(short, "::"); i >= 0 {
		short = short[i+2:]
	}
	return short != "" && short != symbol && short == names.Short(name)
}
