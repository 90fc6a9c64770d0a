package imagemap

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/imagemap/macho"
)

// machOFile returns the universal library of integration's program, and its image
// for arm64.
func machOFile(t testing.TB) (data []byte, slice macho.Slice, image *macho.File) {
	t.Helper()
	packed, err := os.Open("../integration/internal/program/testdata/macho/libnative-fp-universal.dylib.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	all, err := macho.Slices(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	slice = all[1] // the one that is not at the start of the file
	if image, err = macho.Read(slice.Open(bytes.NewReader(data))); err != nil {
		t.Fatal(err)
	}
	return data, slice, image
}

// fakeMemory is the memory of a process, by address.
type fakeMemory map[uint64][]byte

func (m fakeMemory) ReadAt(p []byte, off int64) (int, error) {
	for start, data := range m {
		if at := uint64(off) - start; uint64(off) >= start && at < uint64(len(data)) {
			return bytes.NewReader(data).ReadAt(p, int64(at))
		}
	}
	return 0, errors.New("not mapped")
}

const header = 0x7f00_0000_0000

// mapsText writes the mappings of the image's segments; path "" is memory without a
// file.
func mapsText(slice macho.Slice, image *macho.File, at uint64, path string) string {
	var b strings.Builder
	for _, s := range image.Segments {
		perm := map[bool]string{true: "r-xp", false: "rw-p"}[s.Executable()]
		dev, inode, offset := "08:01", 77, slice.Offset+s.Offset
		if path == "" {
			dev, inode, offset = "00:00", 0, 0
		}
		fmt.Fprintf(&b, "%x-%x %s %08x %s %d %s\n", at+s.Addr, at+s.Addr+s.Size, perm, offset, dev, inode, path)
	}
	return b.String()
}

// inMemory returns the image as a loader has it.
func inMemory(image *macho.File, at uint64) fakeMemory {
	m := fakeMemory{}
	for _, s := range image.Segments {
		data := make([]byte, s.Size)
		copy(data, image.Contents(s.Addr, int(s.Data)))
		m[at+s.Addr] = data
	}
	return m
}

func checkMachO(t *testing.T, m *ImageMap, err error, image *macho.File, path string, state FileState) {
	t.Helper()
	if err != nil || m.Len() != 1 {
		t.Fatalf("%v, %v", m, err)
	}
	got := m.Images()[0]
	text := image.Segments[0]
	if got.Base != header || !got.Loaded.HasBias || got.Loaded.Bias != header || got.Path != path || got.Loaded.File != state ||
		!bytes.Equal(got.BuildID, image.UUID) || got.EndOfText != header+text.Size ||
		!slices.Equal(got.Loaded.Executable, []Range{{Start: header, End: header + text.Size}}) {
		t.Errorf("%+v, %+v", got, got.Loaded)
	}
}

// TestMachOMapped: a Mach-O file of which a loader has mapped the segments of one
// architecture, also after it was deleted.
func TestMachOMapped(t *testing.T) {
	data, slice, image := machOFile(t)
	file := &File{ReaderAt: bytes.NewReader(data), Dev: Device{8, 1}, Inode: 77}
	s := Source{Maps: strings.NewReader(mapsText(slice, image, header, "/lib/x.dylib")), Open: func(path string) (*File, error) {
		if path != "/lib/x.dylib" {
			return nil, fs.ErrNotExist
		}
		return file, nil
	}}
	m, err := s.Capture()
	checkMachO(t, m, err, image, "/lib/x.dylib", FilePresent)

	s = Source{Maps: strings.NewReader(mapsText(slice, image, header, "/lib/x.dylib (deleted)")),
		Open:       func(string) (*File, error) { return nil, fs.ErrNotExist },
		OpenMapped: func(Mapping) (*File, error) { return &File{ReaderAt: bytes.NewReader(data)}, nil }}
	m, err = s.Capture()
	checkMachO(t, m, err, image, "/lib/x.dylib", FileDeleted)
}

// TestMachOInMemory: images in memory that no file backs, one right behind the other
// in mappings that the kernel has joined; and code that is no image.
func TestMachOInMemory(t *testing.T) {
	_, slice, image := machOFile(t)
	m, err := (&Source{Maps: strings.NewReader(mapsText(slice, image, header, "")), Memory: inMemory(image, header)}).Capture()
	checkMachO(t, m, err, image, "[other.dylib]", FileNone)

	size := (image.End() + pageSize - 1) &^ (pageSize - 1)
	text := fmt.Sprintf("%x-%x rwxp 00000000 00:00 0 \n%x-%x rwxp 00000000 00:00 0 \n", header, header+2*size, header*2, header*2+4096)
	whole := make([]byte, 0, 2*size)
	for range 2 {
		one := make([]byte, size)
		for at, data := range inMemory(image, 0) {
			copy(one[at:], data)
		}
		whole = append(whole, one...)
	}
	m, err = (&Source{Maps: strings.NewReader(text), Memory: fakeMemory{header: whole, header * 2: make([]byte, 4096)}}).Capture()
	if err != nil || m.Len() != 2 || m.Images()[0].Base != header || m.Images()[1].Base != header+size {
		t.Errorf("%+v, %v", m, err)
	}
}
