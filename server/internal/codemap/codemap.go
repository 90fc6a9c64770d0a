package codemap

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/server/symbols/gotab"
	"github.com/clewdbg/clew/unwind"
)

// Map is the code of one target at one stop. It is immutable and safe for
// concurrent use.
type Map struct {
	arch      unwind.Arch
	images    []*image
	regions   []region   // sorted, without overlaps
	generated *generated // code outside of images; nil where nothing is known of any
	base      *Map       // this map without generated code, nil if it has none
}

// image is an image, bound to where it is loaded.
type image struct {
	imagemap.Image
	place uint64        // where it is loaded: the load bias in ELF, the address of the header in Mach-O
	bias  uint64        // to be added to addresses in the file
	file  *symbols.File // nil where err says why
	err   error
	// generated marks code that no file was loaded for; frames is its .eh_frame if it has
	// no file of its own.
	generated bool
	frames    unwind.Section
}

// start is the image's lowest address, which offsets count from, as in image maps: a
// program that is not position-independent has it elsewhere than its load bias.
func (i *image) start() uint64 {
	if i.file != nil {
		return i.bias + i.file.Start()
	}
	return i.Base
}

// region is an executable range of an image.
type region struct {
	unwind.Range
	image *image
}

// New opens the images' files and binds them.
func New(arch unwind.Arch, images *imagemap.ImageMap, open Opener) *Map {
	return None(arch).Next(images, open)
}

// None is the map of no images.
func None(arch unwind.Arch) *Map { return &Map{arch: arch} }

// Arch is the target's architecture.
func (m *Map) Arch() unwind.Arch { return m.arch }

// Next is the map at a later stop. Images that are still what they were are
// shared with this map; if all are, it is this map itself.
func (m *Map) Next(images *imagemap.ImageMap, open Opener) *Map {
	if m.base != nil {
		m = m.base // what was generated may be other code now
	}
	next := &Map{arch: m.arch, images: make([]*image, 0, images.Len())}
	for i, img := range images.All() {
		bound := &image{Image: img, place: img.Base}
		if img.Loaded != nil && img.Loaded.HasBias {
			bound.place = img.Loaded.Bias
		}
		bound.file, bound.err = open(&img)
		bound.bias = bound.place
		if bound.file != nil {
			bound.bias -= bound.file.Base()
		}
		next.images = append(next.images, m.known(bound, i))
	}
	if slices.Equal(next.images, m.images) {
		return m
	}
	next.bind()
	return next
}

// bind sorts the images' code.
func (m *Map) bind() {
	m.regions = nil
	for _, img := range m.images {
		for _, r := range img.executable() {
			m.regions = append(m.regions, region{r, img})
		}
	}
	sort.Slice(m.regions, func(i, j int) bool { return m.regions[i].Start < m.regions[j].Start })
}

// known returns the image that the map has already if it is the same, which lies
// at the index near as a rule.
func (m *Map) known(img *image, near int) *image {
	if near < len(m.images) && m.images[near].same(img) {
		return m.images[near]
	}
	for _, old := range m.images {
		if old.same(img) {
			return old
		}
	}
	return img
}

// same reports whether two images are the same file at the same place.
func (i *image) same(other *image) bool {
	return i.file == other.file && i.bias == other.bias && fmt.Sprint(i.err) == fmt.Sprint(other.err) && reflect.DeepEqual(i.Image, other.Image)
}

// executable lists where an image's code is: as it was mapped, else as the file
// says, else the whole image.
func (i *image) executable() []unwind.Range {
	var out []unwind.Range
	if i.Loaded != nil {
		for _, r := range i.Loaded.Executable {
			out = append(out, unwind.Range{Start: r.Start, End: r.End})
		}
	}
	if len(out) == 0 && i.file != nil {
		for _, r := range i.file.Executable() {
			out = append(out, unwind.Range{Start: r.Start + i.bias, End: r.End + i.bias})
		}
	}
	if len(out) == 0 {
		out = append(out, unwind.Range{Start: i.Base, End: i.EndOfText})
	}
	return out
}

func (m *Map) at(addr uint64) (*image, bool) {
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].End > addr })
	if i < len(m.regions) && m.regions[i].Contains(addr) {
		return m.regions[i].image, true
	}
	return nil, false
}

// Function implements [assembler.CodeMap].
func (m *Map) Function(at unwind.LookupAddr) (assembler.Function, bool) {
	img, ok := m.at(uint64(at))
	if !ok || img.file == nil {
		if c, ok := m.generated.function(uint64(at)); ok {
			return assembler.Function{Name: c.Name, Start: c.Start, End: c.End, Exact: true}, true
		}
		return assembler.Function{}, false
	}
	vaddr := uint64(at) - img.bias
	if fn, ok := img.goFunction(vaddr); ok {
		return fn, true
	}
	b, ok := img.file.FunctionBounds(vaddr)
	if !ok {
		return assembler.Function{}, false
	}
	out := assembler.Function{
		Start: b.Start + img.bias, End: b.End + img.bias, Exact: b.Exact, Name: b.Name,
		Outermost: !img.generated && (b.Start == img.file.EntryPoint() || threadStarts[b.Name] && isLibc(img.Path)),
	}
	if b.Whole != 0 {
		out.Whole = b.Whole + img.bias
	}
	return out, true
}

// goFunction returns the function of Go's that an address in the file lies in.
func (i *image) goFunction(vaddr uint64) (out assembler.Function, ok bool) {
	table := i.goTable()
	if table == nil {
		return out, false
	}
	fn, ok := table.Func(vaddr)
	if !ok || !fn.HasTables() {
		return out, false
	}
	out = assembler.Function{
		Name: fn.Name(), Start: fn.Entry + i.bias, End: fn.End + i.bias,
		Exact: true, Go: true, Outermost: fn.Flag.TopFrame(), Asm: fn.Flag.Asm(),
	}
	if delta, ok := fn.SPDelta(vaddr); ok {
		out.SPDelta, out.HasSPDelta = int64(delta), true
	}
	return out, true
}

// goTable returns the table of Go's functions, nil for an image without one. A table in
// generated code does not count.
func (i *image) goTable() *gotab.Table {
	if i.file == nil || i.generated {
		return nil
	}
	return i.file.GoTable()
}

// threadStarts are the functions that the C library starts threads in (glibc:
// clone, clone3, start_thread; musl: __clone, start).
var threadStarts = map[string]bool{"clone": true, "clone3": true, "__clone": true, "__clone3": true, "start_thread": true, "thread_start": true}

// isLibc says whether an image is the C library; the names of its functions may
// be anybody's elsewhere.
func isLibc(path string) bool {
	name := filepath.Base(path)
	return slices.ContainsFunc([]string{"libc.so", "libc-", "libpthread", "ld-linux", "ld-musl"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// Bytes implements [assembler.CodeMap] from the images' files, which no
// breakpoint is written into.
func (m *Map) Bytes(addr uint64, n int) []byte {
	img, ok := m.at(addr)
	if !ok || img.file == nil {
		return nil
	}
	return img.file.Code(addr-img.bias, n)
}

// CodeOf returns the original code of the functions with that name, in any image.
func (m *Map) CodeOf(name string) (out [][]byte) {
	for _, addr := range m.Find(name) {
		at := unwind.InstructionAddr(addr).Lookup(m.arch)
		const most = 64 << 10 // a function
		if fn, ok := m.Function(at); ok && fn.Start == addr && fn.End-addr <= most {
			out = append(out, m.Bytes(addr, int(fn.End-addr)))
		}
	}
	return out
}

// Located returns the code of the first function with that name, and where it is.
func (m *Map) Located(name string) ([]byte, uint64) {
	if code, at := m.CodeOf(name), m.Find(name); len(code) > 0 && len(code) == len(at) {
		return code[0], at[0]
	}
	return nil, 0
}

// Variable returns the address of a variable of the runtime's by the tables of symbols,
// 0 if it is in none.
func (m *Map) Variable(name string) uint64 {
	for _, img := range m.images {
		if img.file != nil && !img.generated {
			if vaddr, ok := img.file.Data(name); ok {
				return vaddr + img.bias
			}
		}
	}
	return 0
}

// VTable returns the name, as the linker has it, of the table of virtual functions that an address lies in.
func (m *Map) VTable(addr uint64) (name string, ok bool) {
	for i := range m.images {
		if img := m.images[i]; img.file != nil && !img.generated && addr >= img.start() {
			if name, ok = img.file.VTable(addr - img.bias); ok {
				return name, ok
			}
		}
	}
	return "", false
}

// LineAddrs returns where the code of a source line begins, by the tables of Go's functions.
func (m *Map) LineAddrs(file string, line int) (out []uint64) {
	for _, img := range m.images {
		if table := img.goTable(); table != nil {
			for _, vaddr := range table.LineAddrs(file, line) {
				out = append(out, vaddr+img.bias)
			}
		}
	}
	return out
}

// Complete implements [assembler.CodeMap].
func (m *Map) Complete(at unwind.LookupAddr) bool {
	img, ok := m.at(uint64(at))
	return ok && img.file != nil && img.file.Complete()
}

// Model implements [assembler.CodeMap].
func (m *Map) Model(at unwind.LookupAddr) (*codemodel.Image, uint64) {
	img, ok := m.at(uint64(at))
	if !ok || img.file == nil {
		return nil, 0
	}
	return img.file.Model(), img.bias
}

// Find returns the addresses of functions with that name, in any image that was loaded.
func (m *Map) Find(name string) []uint64 {
	var out []uint64
	for _, img := range m.images {
		if img.file != nil && !img.generated {
			for _, vaddr := range img.file.Find(name) {
				out = append(out, vaddr+img.bias)
			}
		}
	}
	return out
}

// Images describes the images to strategies.
func (m *Map) Images() []unwind.Image {
	out := make([]unwind.Image, 0, len(m.images))
	for _, img := range m.images {
		out = append(out, unwind.Image{
			Base: img.place, Path: img.Path, BuildID: img.BuildID, Executable: img.executable(),
		})
	}
	return out
}

// Keys tells images apart from stop to stop, in the order of [Map.Images]: an
// image that is still the same has the same key.
func (m *Map) Keys() []any {
	out := make([]any, len(m.images))
	for i, img := range m.images {
		out[i] = img
	}
	return out
}

// Section returns a section of an image, by the image's index in [Map.Images], at
// its address in the target.
func (m *Map) Section(i int, name string) (unwind.Section, bool) {
	img := m.images[i]
	if img.file == nil {
		return img.frames, img.frames.Name == name
	}
	c, ok := img.file.Section(name)
	if !ok {
		return unwind.Section{}, false
	}
	out := unwind.Section{Name: name, Data: c.Data}
	if c.Loaded {
		out.Addr = c.Vaddr + img.bias
	}
	return out, true
}

// Executable is where the images' code is.
func (m *Map) Executable() unwind.RangeSet {
	var ranges []unwind.Range
	for _, r := range m.regions {
		ranges = append(ranges, r.Range)
	}
	return unwind.NewRangeSet(ranges...)
}

// GoRanges are the ranges of the code that Go's tables describe.
func (m *Map) GoRanges() unwind.RangeSet {
	var ranges []unwind.Range
	for _, img := range m.images {
		if table := img.goTable(); table != nil {
			start, end := table.Bounds()
			ranges = append(ranges, unwind.Range{Start: start + img.bias, End: end + img.bias})
		}
	}
	return unwind.NewRangeSet(ranges...)
}

// Notes says which images could not be used, and why. That pseudo-images have
// no file is no news.
func (m *Map) Notes() []string {
	var out []string
	for _, img := range m.images {
		if err := img.err; err != nil && !errors.Is(err, errNoFile) {
			out = append(out, err.Error())
		}
	}
	return out
}

// About lists for each image, in the order of [Map.Images], the faults of the files that
// describe it and are used all the same, as far as they have been read.
func (m *Map) About() [][]string {
	out := make([][]string, len(m.images))
	for i, img := range m.images {
		if img.file == nil {
			continue
		}
		for _, err := range img.file.Problems() {
			text := err.Error()
			if !strings.Contains(text, img.Path) {
				text = img.Path + ": " + text
			}
			out[i] = append(out[i], text)
		}
	}
	return out
}
