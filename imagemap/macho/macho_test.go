package macho

import (
	"bytes"
	"compress/gzip"
	stdmacho "debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// libraries returns test data of other packages, by name: libraries that ld64.lld
// made.
func libraries(t testing.TB) map[string][]byte {
	t.Helper()
	out := make(map[string][]byte)
	for _, pattern := range []string{"../../plugins/compactunwind/table/testdata/*.dylib", "../../integration/internal/program/testdata/macho/*.dylib.gz"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) < 3 {
			t.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, ".gz") {
				r, err := gzip.NewReader(bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				if data, err = io.ReadAll(r); err != nil {
					t.Fatal(err)
				}
			}
			out[filepath.Base(path)] = data
		}
	}
	return out
}

// universal is the library with images of two architectures.
const universal = "libnative-fp-universal.dylib.gz"

// TestAgainstStandardLibrary: segments, sections and symbols are what debug/macho
// reads, of every image.
func TestAgainstStandardLibrary(t *testing.T) {
	for name, data := range libraries(t) {
		parts, err := Slices(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if (len(parts) == 2) != (name == universal) {
			t.Errorf("%s has %d images", name, len(parts))
		}
		for _, part := range parts {
			r := part.Open(bytes.NewReader(data))
			f, err := Read(r)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want, err := stdmacho.NewFile(r)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, name, f, want)
		}
	}
}

func compare(t *testing.T, name string, f *File, want *stdmacho.File) {
	if uint32(f.CPU) != uint32(want.Cpu) || f.Type != uint32(want.Type) || f.Name == "" || len(f.UUID) != 16 {
		t.Errorf("%s: %+v", name, f)
	}
	var segments []string
	for _, l := range want.Loads {
		if s, ok := l.(*stdmacho.Segment); ok {
			segments = append(segments, s.Name)
			i := len(segments) - 1
			if got := (Segment{s.Name, s.Addr, s.Memsz, s.Offset, s.Filesz, s.Prot}); i >= len(f.Segments) || f.Segments[i] != got {
				t.Errorf("%s: segment %+v", name, got)
			}
		}
	}
	if len(f.Segments) != len(segments) || len(f.Sections) != len(want.Sections) {
		t.Fatalf("%s: %d segments, %d sections", name, len(f.Segments), len(f.Sections))
	}
	for i, s := range want.Sections {
		got := &f.Sections[i]
		if got.Name != s.Name || got.Segment != s.Seg || got.Addr != s.Addr || got.Size != s.Size || got.Offset != uint64(s.Offset) || got.Flags != s.Flags {
			t.Errorf("%s: section %+v, want %+v", name, got, s.SectionHeader)
		}
		if s.Seg == "__TEXT" {
			data, err := f.Data(got)
			wanted, _ := s.Data()
			if err != nil || !bytes.Equal(data, wanted) {
				t.Errorf("%s: %s: %v", name, s.Name, err)
			}
			if code := f.Contents(s.Addr+4, 8); s.Size > 12 && !bytes.Equal(code, wanted[4:12]) {
				t.Errorf("%s: %s+4: %x", name, s.Name, code)
			}
		}
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var addrs []uint64
	for _, s := range want.Symtab.Syms {
		if s.Type&0xe0 == 0 && s.Type&0xe == 0xe {
			if !slices.ContainsFunc(symbols, func(x Symbol) bool {
				// debug/macho takes an underscore away where there is a dot.
				return (x.Name == s.Name || strings.Contains(s.Name, ".") && x.Name == "_"+s.Name) && x.Addr == s.Value
			}) {
				t.Errorf("%s: no symbol %s", name, s.Name)
			}
			if s.Sect == 1 {
				addrs = append(addrs, s.Value)
			}
		}
	}
	// Every function of these libraries has a symbol.
	starts, err := f.Functions()
	if err != nil || len(starts) < 1 || !slices.IsSorted(starts) {
		t.Errorf("%s: functions %x, %v", name, starts, err)
	}
	for _, s := range starts {
		if !slices.Contains(addrs, s) {
			t.Errorf("%s: a function at %#x", name, s)
		}
	}
	stubs, err := f.Stubs()
	imported, _ := want.ImportedSymbols()
	if err != nil || (len(stubs) > 0) != (want.Section("__stubs") != nil) {
		t.Errorf("%s: stubs %v, %v", name, stubs, err)
	}
	for _, s := range stubs {
		if !slices.Contains(imported, s.Name) {
			t.Errorf("%s: a stub of %q, which is not imported", name, s.Name)
		}
	}
}

// memory is memory at an address.
type memory struct {
	start uint64
	data  []byte
}

func (m memory) ReadAt(p []byte, off int64) (int, error) {
	if uint64(off) < m.start || uint64(off)-m.start > uint64(len(m.data)) {
		return 0, errors.New("not there")
	}
	return bytes.NewReader(m.data).ReadAt(p, off-int64(m.start))
}

// load returns an image as a loader has it in memory, at header.
func load(f *File, header uint64) memory {
	m := memory{start: header, data: make([]byte, f.End()-f.Base())}
	for _, s := range f.Segments {
		if at := s.Addr - f.Base(); at < uint64(len(m.data)) {
			copy(m.data[at:], f.Contents(s.Addr, int(min(s.Data, 1<<20))))
		}
	}
	return m
}

// TestLoaded: an image in memory says what its file says, and lies in the ranges
// that it names.
func TestLoaded(t *testing.T) {
	const header = 0x7000_1000
	for name, data := range libraries(t) {
		parts, _ := Slices(bytes.NewReader(data))
		want, err := Read(parts[len(parts)-1].Open(bytes.NewReader(data)))
		if err != nil {
			t.Fatal(err)
		}
		m := load(want, header)
		whole, err := Loaded(m, header)
		if err != nil {
			t.Fatal(err)
		}
		// What lies in no range is not needed.
		part := memory{header, make([]byte, len(m.data))}
		for _, r := range whole.Ranges() {
			if r.Start < header || r.End > header+uint64(len(m.data)) || r.Start > r.End {
				t.Fatalf("%s: %x", name, r)
			}
			copy(part.data[r.Start-header:], m.data[r.Start-header:r.End-header])
		}
		got, err := Loaded(part, header)
		if err != nil {
			t.Fatal(err)
		}
		for what, ask := range map[string]func(f *File) (any, error){
			"symbols":   func(f *File) (any, error) { return f.Symbols() },
			"functions": func(f *File) (any, error) { return f.Functions() },
			"stubs":     func(f *File) (any, error) { return f.Stubs() },
		} {
			a, err1 := ask(want)
			b, err2 := ask(got)
			if err1 != nil || err2 != nil || fmt.Sprint(deref(a)) != fmt.Sprint(deref(b)) {
				t.Errorf("%s: %s %v, %v; %v, %v", name, what, a, err1, b, err2)
			}
		}
		for _, section := range []string{"__text", "__unwind_info", "__eh_frame"} {
			s, ok := got.Section(section)
			if !ok {
				continue
			}
			a, err1 := want.Data(s)
			b, err2 := got.Data(s)
			if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
				t.Errorf("%s: %s: %v, %v", name, section, err1, err2)
			}
		}
	}
}

// thin is a library for x86-64 as bytes that may be changed.
func thin(t testing.TB) []byte { return libraries(t)["x86_64-O2-nofp.dylib"] }

// TestBad: damaged images are errors that say where.
func TestBad(t *testing.T) {
	put := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
	}
	command := func(kind uint32, at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte {
			for p := 32; ; p += int(binary.LittleEndian.Uint32(b[p+4:])) {
				if binary.LittleEndian.Uint32(b[p:]) == kind {
					return put(p+at, v)(b)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   string
	}{
		"a cut header":        {func(b []byte) []byte { return b[:20] }, "ends there"},
		"cut commands":        {func(b []byte) []byte { return b[:100] }, "the load commands"},
		"another machine":     {put(4, 18), "cputype 0x12"},
		"32 bits of x86-64":   {put(0, magic32), "x86_64"},
		"huge commands":       {put(20, 1<<31), "bytes of load commands"},
		"too many commands":   {put(16, 1000), "lies beyond"},
		"a command of 0":      {put(36, 0), "has 0 bytes"},
		"a huge command":      {put(36, 1<<30), "of"},
		"too many sections":   {put(32+64, 1<<20), "no room"},
		"a segment that ends": {command(lcSegment64, 32, 1<<31-1), ""},
		"a short command":     {command(lcUUID, 4, 8), ""},
	} {
		data := c.change(bytes.Clone(thin(t)))
		_, err := Read(bytes.NewReader(data))
		var e *Error
		if c.want != "" && (!errors.As(err, &e) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("#!/bin/sh\necho what is this\n"), "ELF": append([]byte("\x7fELF"), make([]byte, 60)...),
		"a Java class": {0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		if _, err := Read(bytes.NewReader(data)); !errors.Is(err, ErrNotMachO) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(bytes.NewReader(libraries(t)[universal])); !errors.Is(err, ErrUniversal) {
		t.Errorf("a universal file: %v", err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"symbols":  command(lcSymtab, 12, 1<<28),
		"names":    command(lcSymtab, 16, 1<<31),
		"indirect": command(lcDysymtab, 56, 1<<31),
		"starts":   command(lcFunctionStarts, 8, 1<<31),
	} {
		f, err := Read(bytes.NewReader(change(bytes.Clone(thin(t)))))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, err1 := f.Symbols()
		_, err2 := f.Functions()
		_, err3 := f.Stubs()
		var e *Error
		if err := errors.Join(err1, err2, err3); name != "indirect" && !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, data := range libraries(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := Slices(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, part := range parts {
			m, err := Read(part.Open(bytes.NewReader(data)))
			if err != nil {
				continue
			}
			use(m)
			if m.End()-m.Base() < 1<<20 && len(m.Segments) < 8 {
				if l, err := Loaded(load(m, 0x1000), 0x1000); err == nil {
					use(l)
					l.Ranges()
				}
			}
		}
	})
}

func use(m *File) {
	_, _ = m.Symbols()
	_, _ = m.Stubs()
	_, _ = m.Functions()
	for i := range m.Sections {
		_, _ = m.Data(&m.Sections[i])
		m.Contents(m.Sections[i].Addr, 64)
	}
}

// deref writes symbols without the addresses of their sections in our own memory.
func deref(v any) any {
	symbols, ok := v.([]Symbol)
	if !ok {
		return v
	}
	var out []string
	for _, s := range symbols {
		out = append(out, fmt.Sprint(s.Name, s.Addr, *s.Section, s.External))
	}
	return out
}
