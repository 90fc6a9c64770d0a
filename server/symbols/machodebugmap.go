package symbols

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/clewdbg/clew/imagemap/macho"
	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
)

// described is debugging information, of one file or of several.
type described interface {
	// Calls returns the functions that an instruction belongs to, the innermost first.
	Calls(addr uint64) ([]dwarfline.Call, error)
	// Problems returns what is wrong with what has been read.
	Problems() []error
}

// debugMap finds debugging information in the object files that an image was linked
// from, where Apple's linker leaves it.
type debugMap struct {
	linked []macho.Linked // by address

	mu       sync.Mutex
	objects  map[string]*linkedObject
	problems []error
}

// linkedObject is an object file.
type linkedObject struct {
	table *dwarfline.Table  // nil: it cannot be used
	at    map[string]uint64 // the addresses of its functions
}

// maxObjects bounds how many object files are opened.
const maxObjects = 4096

// newDebugMap returns the image's debug map, nil if it has none.
func newDebugMap(f *macho.File) *debugMap {
	linked, err := f.DebugMap()
	if err != nil || len(linked) == 0 {
		return nil
	}
	slices.SortStableFunc(linked, func(a, b macho.Linked) int { return cmp.Compare(a.Addr, b.Addr) })
	return &debugMap{linked: linked, objects: make(map[string]*linkedObject)}
}

// Calls implements [described].
func (m *debugMap) Calls(addr uint64) ([]dwarfline.Call, error) {
	i := sort.Search(len(m.linked), func(i int) bool { return m.linked[i].Addr > addr }) - 1
	if i < 0 || addr-m.linked[i].Addr >= m.linked[i].Size {
		return nil, dwarfline.ErrUnknown
	}
	fn := &m.linked[i]
	o := m.object(fn)
	at, ok := o.at[fn.Name]
	if o.table == nil || !ok {
		return nil, dwarfline.ErrUnknown
	}
	return o.table.Calls(at + addr - fn.Addr)
}

// Problems implements [described].
func (m *debugMap) Problems() (out []error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out = append(out, m.problems...)
	for _, o := range m.objects {
		if o.table != nil {
			out = append(out, o.table.Problems()...)
		}
	}
	return out
}

// object opens the object file of a function, once.
func (m *debugMap) object(fn *macho.Linked) *linkedObject {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[fn.Object]
	if ok || len(m.objects) == maxObjects {
		return cmp.Or(o, &linkedObject{})
	}
	o, err := openObject(fn)
	if err != nil {
		o = &linkedObject{}
		m.problems = append(m.problems, fmt.Errorf("the object file %s is not used: %w", fn.Object, err))
	}
	m.objects[fn.Object] = o
	return o
}

// openObject opens an object file. One that was changed since is not that which was
// linked.
func openObject(fn *macho.Linked) (*linkedObject, error) {
	path, member := fn.Object, ""
	if i := strings.LastIndexByte(path, '('); i > 0 && strings.HasSuffix(path, ")") {
		path, member = path[:i], path[i+1:len(path)-1]
	}
	file, info, err := elffile.OpenRegular(path)
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	r, modified := io.NewSectionReader(file, 0, info.Size()), info.ModTime().Unix()
	if member != "" {
		if r, modified, err = findMember(r, member); err != nil {
			return nil, err
		}
	}
	if fn.Modified != 0 && fn.Modified != uint64(modified) {
		return nil, &OtherBuildError{What: "modification time", Want: strconv.FormatUint(fn.Modified, 10), Found: strconv.FormatInt(modified, 10)}
	}
	f, err := macho.Read(r)
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	o := &linkedObject{table: (&machoFile{File: f}).ownDWARF(), at: make(map[string]uint64)}
	for _, s := range symbols {
		o.at[s.Name] = s.Addr
	}
	return o, nil
}

// Sizes in an archive (ar.h), in bytes.
const (
	archiveMagic  = "!<arch>\n"
	memberHeader  = 60
	maxMemberName = 1024
)

var errNoMember = errors.New("the archive does not have it")

// findMember finds a file in an archive. Names longer than 16 bytes stand behind the
// header, as #1/LENGTH says.
func findMember(r *io.SectionReader, name string) (*io.SectionReader, int64, error) {
	var magic [len(archiveMagic)]byte
	if _, err := r.ReadAt(magic[:], 0); err != nil || string(magic[:]) != archiveMagic {
		return nil, 0, errNoMember
	}
	for at := int64(len(archiveMagic)); at < r.Size(); {
		var head [memberHeader]byte
		if _, err := r.ReadAt(head[:], at); err != nil {
			break
		}
		field := func(from, to int) string { return string(bytes.TrimRight(head[from:to], " /")) }
		size, err := strconv.ParseInt(field(48, 58), 10, 64)
		if err != nil || size < 0 || size > r.Size()-at-memberHeader {
			break
		}
		begin, length := at+memberHeader, size
		is := field(0, 16)
		if n, ok := strings.CutPrefix(is, "#1/"); ok {
			long, err := strconv.ParseInt(n, 10, 64)
			if err != nil || long < 0 || long > min(size, maxMemberName) {
				break
			}
			text := make([]byte, long)
			if _, err := r.ReadAt(text, begin); err != nil {
				break
			}
			is, begin, length = string(bytes.TrimRight(text, "\x00")), begin+long, size-long
		}
		if is == name {
			modified, _ := strconv.ParseInt(field(16, 28), 10, 64) // without it 0, as deterministic archives have
			return io.NewSectionReader(r, begin, length), modified, nil
		}
		at += memberHeader + size + size&1
	}
	return nil, 0, errNoMember
}
