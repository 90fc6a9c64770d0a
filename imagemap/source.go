package imagemap

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Source is where a capture gets its bytes from. [Capture] fills it for a live
// process.
//
// # Which mappings are images
//
// Every ELF or Mach-O file of which some part is mapped executable, and the vdso. A file that
// is only mapped to be read (a debugger's view of a library) is no image, nor is
// executable memory that is not ELF (JIT code, even with a file behind it).
//
// A mapping of bytes at offset o of the file, within a PT_LOAD segment that lies at
// offset p.Off, stands for the virtual address o - p.Off + p.Vaddr; the difference
// to where it is mapped is the load bias. Executable mappings of one file that
// agree in it are one image; a file loaded twice (dlmopen) is two. Base is the
// start of the mapping of the lowest PT_LOAD segment, end of text the highest end
// (p.Vaddr + p.Memsz) of an executable one: so does Swift, but for executables
// with a fixed address, to which it adds the base twice. Of a Mach-O file, which
// something in the process has mapped, Base is its header, and segments stand for
// PT_LOAD segments; of a universal file the image counts whose segments the mappings
// are of.
//
// A Mach-O image may be in memory without a file, where a loader has read it into
// anonymous memory. It is found by its header at the start of an executable mapping,
// or right behind another such image.
//
// # Which file
//
// The kernel names the mapped file by device and inode, and adds " (deleted)" to
// the path of one that has no name any more. If the file at the path has the same
// device and inode, it is the one (also one whose real name ends so). If not, the
// headers are read from OpenMapped, else from Memory; and the file at the path
// counts as the mapped one only if both have the same build ID. The last rule is
// for btrfs and overlayfs, where a file can have another device number in stat
// than in maps. With neither OpenMapped nor Memory, a file with the same inode and
// another device is accepted, for the same reason.
type Source struct {
	// Maps is the text of /proc/PID/maps.
	Maps io.Reader
	// Open opens the file at a path as the process sees it. Errors that wrap
	// fs.ErrNotExist are expected; nil means no file can be looked at.
	Open func(path string) (*File, error)
	// OpenMapped opens the file behind a mapping, whatever has become of its
	// name. May be nil.
	OpenMapped func(Mapping) (*File, error)
	// Memory is the memory of the process, the address as the offset. May be
	// nil: then the vdso is missing.
	Memory io.ReaderAt
	// Platform goes into the map.
	Platform string
}

// File is an open file and its identity in the system.
type File struct {
	io.ReaderAt
	io.Closer
	Dev   Device
	Inode uint64
}

// CaptureError is an image that is not known in full. It is in the map nevertheless,
// with the addresses from the mappings and the path.
type CaptureError struct {
	Path  string
	Start uint64 // of the file's lowest mapping
	Err   error
}

func (e *CaptureError) Error() string {
	return fmt.Sprintf("imagemap: %s at %#x: %v", e.Path, e.Start, e.Err)
}

// Unwrap is the reason.
func (e *CaptureError) Unwrap() error { return e.Err }

var (
	// ErrNoMappings: the process has no memory; it has exited, or is a kernel
	// thread.
	ErrNoMappings = errors.New("no mappings: the process has exited or is a kernel thread")
	errNoBytes    = errors.New("the mapped file is gone and its memory cannot be read")
	errNoFiles    = errors.New("files cannot be looked at")
	errNoSegment  = errors.New("an executable mapping belongs to no segment of the file")
)

const (
	vdsoPath      = "[vdso]"
	deletedSuffix = " (deleted)"
)

// Capture makes the image map. When something about images is missing the map
// comes with an error that wraps a [*CaptureError] for each; without a map the
// error is fatal.
func (s *Source) Capture() (*ImageMap, error) {
	maps, err := ParseMaps(s.Maps)
	if err != nil {
		return nil, err
	}
	if len(maps) == 0 {
		return nil, ErrNoMappings
	}
	c := capture{Source: s}
	for _, file := range groupByFile(maps) {
		c.addFile(file)
	}
	c.addAnonymous(maps)
	m, err := newMap(c.wordSize(maps), s.Platform, c.images)
	if err != nil {
		return nil, err
	}
	return m, errors.Join(c.errs...)
}

// groupByFile returns the mappings of each file that may be an image, in the order
// of their first mappings.
func groupByFile(maps []Mapping) [][]Mapping {
	type identity struct {
		dev   Device
		inode uint64
		path  string
	}
	index := make(map[identity]int)
	var files [][]Mapping
	for _, m := range maps {
		if m.Inode == 0 && m.Path != vdsoPath {
			continue
		}
		id := identity{m.Dev, m.Inode, m.Path}
		i, ok := index[id]
		if !ok {
			i = len(files)
			index[id] = i
			files = append(files, nil)
		}
		files[i] = append(files[i], m)
	}
	return slices.DeleteFunc(files, func(ms []Mapping) bool {
		return !slices.ContainsFunc(ms, func(m Mapping) bool { return m.Executable() })
	})
}

type capture struct {
	*Source
	images []Image
	errs   []error
}

// wordSize is 32 bits only if all that is known of the process says so.
func (c *capture) wordSize(maps []Mapping) WordSize {
	narrow := false
	for i := range c.images {
		switch c.images[i].Loaded.Class {
		case elf.ELFCLASS64:
			return Word64
		case elf.ELFCLASS32:
			narrow = true
		}
	}
	if narrow && maps[len(maps)-1].End <= 1<<32 {
		return Word32
	}
	return Word64
}

func (c *capture) addFile(maps []Mapping) {
	path, state, images, err := c.identify(maps)
	if errors.Is(err, ErrNotELF) || (maps[0].Path == vdsoPath && c.Memory == nil) {
		return
	}
	report := func(err error) {
		c.errs = append(c.errs, &CaptureError{Path: path, Start: maps[0].Start, Err: err})
	}
	for _, image := range images {
		if image.notesErr != nil {
			report(fmt.Errorf("build ID: %w", image.notesErr))
		}
	}
	found, loose := assign(maps, images)
	for at, ranges := range found {
		img := at.image.at(at.bias, maps, ranges)
		img.Path, img.Loaded.File = path, state
		c.images = append(c.images, img)
	}
	if len(loose) == 0 {
		return
	}
	if err == nil {
		err = errNoSegment
	}
	report(err)
	// The mappings alone tell this much.
	base := loose[0].Start
	if len(found) == 0 {
		base = maps[0].Start
	}
	loaded := &Loaded{Executable: loose, File: state}
	img := Image{Base: base, EndOfText: loose[len(loose)-1].End, Path: path, Loaded: loaded}
	if len(images) == 1 {
		img.BuildID, loaded.Class, loaded.Machine = images[0].buildID, images[0].class, images[0].machine
	}
	c.images = append(c.images, img)
}

// place is an image as it is loaded with a bias.
type place struct {
	image *headers
	bias  uint64
}

// assign finds the executable mappings of each loaded image; no segment of an image
// explains the loose ones.
func assign(maps []Mapping, images []*headers) (found map[place][]Range, loose []Range) {
	found = make(map[place][]Range)
mappings:
	for _, m := range maps {
		if !m.Executable() {
			continue
		}
		for _, image := range images {
			if bias, ok := image.bias(m); ok {
				at := place{image, bias}
				found[at] = append(found[at], Range{Start: m.Start, End: m.End})
				continue mappings
			}
		}
		loose = append(loose, Range{Start: m.Start, End: m.End})
	}
	return found, loose
}

// identify finds the headers of a mapped file, and the state of the file
// at its path: the rules are in the comment of Source. No image comes with an
// error.
func (c *capture) identify(maps []Mapping) (path string, state FileState, images []*headers, err error) {
	m := maps[0]
	if m.Path == vdsoPath {
		images, err = c.fromMemory(maps)
		return m.Path, FileNone, images, err
	}
	path = m.Path
	atPath, openErr := c.open(path)
	if openErr != nil || !atPath.is(m) {
		if name, deleted := strings.CutSuffix(path, deletedSuffix); deleted {
			atPath.close()
			path = name
			atPath, openErr = c.open(path)
		}
	}
	defer func() { atPath.close() }()

	if openErr == nil && atPath.is(m) {
		images, err = readHeaders(atPath)
		return path, FilePresent, images, err
	}
	switch {
	case openErr == nil:
		state = FileReplaced
	case errors.Is(openErr, fs.ErrNotExist):
		state = FileDeleted
	}
	images, err = c.mapped(maps)
	if err == nil && openErr == nil {
		if others, e := readHeaders(atPath); e == nil && sameBuild(images, others) {
			state = FilePresent
		}
	}
	if errors.Is(err, errNoBytes) && openErr == nil && atPath.Inode == m.Inode {
		images, err = readHeaders(atPath)
		return path, FilePresent, images, err
	}
	if err != nil && openErr != nil && !errors.Is(openErr, fs.ErrNotExist) {
		err = errors.Join(err, openErr)
	}
	return path, state, images, err
}

// sameBuild says whether images have build IDs, and the same ones.
func sameBuild(a, b []*headers) bool {
	return len(a) > 0 && slices.EqualFunc(a, b, func(a, b *headers) bool {
		return len(a.buildID) > 0 && bytes.Equal(a.buildID, b.buildID)
	})
}

// mapped reads the headers of the mapped file, not of the file at the path.
func (c *capture) mapped(maps []Mapping) ([]*headers, error) {
	if c.OpenMapped != nil {
		if f, err := c.OpenMapped(maps[0]); err == nil {
			defer f.close()
			return readHeaders(f)
		}
	}
	if c.Memory == nil {
		return nil, errNoBytes
	}
	return c.fromMemory(maps)
}

func (c *capture) fromMemory(maps []Mapping) ([]*headers, error) {
	if c.Memory == nil {
		return nil, errNoBytes
	}
	return readHeaders(mappedFile{c.Memory, maps})
}

func (c *capture) open(path string) (*File, error) {
	if c.Open == nil {
		return nil, errNoFiles
	}
	return c.Open(path)
}

// is reports whether it is the file of the mapping.
func (f *File) is(m Mapping) bool { return f.Dev == m.Dev && f.Inode == m.Inode }

func (f *File) close() {
	if f != nil && f.Closer != nil {
		_ = f.Close() // was only read
	}
}

// bias finds the load bias that a mapping of the file implies. Where segments
// share a page of the file, the one with most bytes in the mapping counts, an
// executable one before others.
func (i *headers) bias(m Mapping) (bias uint64, ok bool) {
	best, bestExecutable := uint64(0), false
	for _, p := range i.loads {
		low, high := max(p.Off, m.Offset), min(p.Off+p.Filesz, m.Offset+(m.End-m.Start))
		executable := p.Flags&elf.PF_X != 0
		if low >= high || (bestExecutable && !executable) {
			continue
		}
		if n := high - low; n > best || executable && !bestExecutable {
			best, bestExecutable = n, executable
			bias, ok = m.Start-(m.Offset-p.Off+p.Vaddr), true
		}
	}
	return bias, ok
}

// at is the image as loaded with this bias and these executable mappings.
func (i *headers) at(bias uint64, maps []Mapping, executable []Range) Image {
	first := slices.MinFunc(i.loads, func(a, b elf.ProgHeader) int { return cmp.Compare(a.Vaddr, b.Vaddr) })
	img := Image{
		Base:      executable[0].Start,
		EndOfText: executable[len(executable)-1].End,
		BuildID:   i.buildID,
		Loaded:    &Loaded{Bias: bias, HasBias: true, Executable: executable, Machine: i.machine, Class: i.class},
	}
	// With a damaged header, neither end may lie outside of the mappings.
	for _, m := range maps {
		if low := bias + first.Vaddr; m.Start <= low && low < m.End {
			img.Base = min(img.Base, m.Start)
		}
	}
	end := uint64(0)
	for _, p := range i.loads {
		start := bias + p.Vaddr
		if p.Flags&elf.PF_X != 0 && start <= img.EndOfText && p.Memsz <= img.EndOfText-start {
			end = max(end, start+p.Memsz)
		}
	}
	if end > executable[len(executable)-1].Start {
		img.EndOfText = end
	}
	if i.machO {
		// Its header is what everything counts from; a mapping may begin before it, with
		// other architectures' images.
		img.Loaded.Bias = bias + i.base
		if img.Base <= img.Loaded.Bias && img.Loaded.Bias < img.EndOfText {
			img.Base = img.Loaded.Bias
		}
	}
	return img
}
