package imagemap_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/imagemap"
)

func TestParseMaps(t *testing.T) {
	got, err := imagemap.ParseMaps(strings.NewReader(`55d0c0a00000-55d0c0a02000 r--p 00000000 fe:01 1234567                    /opt/my app/x (deleted)
7fff00000000-7fff00021000 rw-p 00000000 00:00 0                          [stack]
7f0000000000-7f0000001000 rwxs 00001000 103:100002 18446744073709551615 /tmp/new\012line\x
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0
`))
	want := []imagemap.Mapping{
		{Start: 0x55d0c0a00000, End: 0x55d0c0a02000, Perm: "r--p", Dev: imagemap.Device{Major: 0xfe, Minor: 1}, Inode: 1234567, Path: "/opt/my app/x (deleted)"},
		{Start: 0x7fff00000000, End: 0x7fff00021000, Perm: "rw-p", Path: "[stack]"},
		{Start: 0x7f0000000000, End: 0x7f0000001000, Perm: "rwxs", Offset: 0x1000, Dev: imagemap.Device{Major: 0x103, Minor: 0x100002}, Inode: 1<<64 - 1, Path: "/tmp/new\nline\\x"},
		{Start: 0xffffffffff600000, End: 0xffffffffff601000, Perm: "--xp"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, line := range []string{
		"", "garbage", "1000-2000", "1000-2000 r-xp 0 8:1", "1000 r-xp 0 8:1 0", "2000-1000 r-xp 0 8:1 0", "1000-1000 r-xp 0 8:1 0",
		"1000-2000 r-x 0 8:1 0", "1000-2000 r-xp 0 81 0", "1000-2000 r-xp x 8:1 0", "1000-2000 r-xp 0 8:1 -1",
		"1000-10000000000000000 r-xp 0 8:1 0", "1000-2000 r-xp 0 8:100000000 0",
	} {
		var e *imagemap.MapsError
		if _, err := imagemap.ParseMaps(strings.NewReader("1000-2000 r-xp 0 8:1 0 /x\n" + line + "\n")); !errors.As(err, &e) || e.Line != 2 {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// process is a made-up process.
type process struct {
	maps   string
	files  map[string]*imagemap.File // by path
	mapped map[uint64]*imagemap.File // by start of mapping
	memory []byte                    // from address 0; nil: none
}

func (p process) capture() (*imagemap.ImageMap, error) {
	s := imagemap.Source{
		Maps: strings.NewReader(p.maps),
		Open: func(path string) (*imagemap.File, error) {
			if f, ok := p.files[path]; ok {
				return f, nil
			}
			return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
		},
	}
	if p.mapped != nil {
		s.OpenMapped = func(m imagemap.Mapping) (*imagemap.File, error) {
			if f, ok := p.mapped[m.Start]; ok {
				return f, nil
			}
			return nil, fs.ErrPermission
		}
	}
	if p.memory != nil {
		s.Memory = bytes.NewReader(p.memory)
	}
	return s.Capture()
}

func file(data []byte, minor uint32, inode uint64) *imagemap.File {
	return &imagemap.File{ReaderAt: bytes.NewReader(data), Dev: imagemap.Device{Major: 8, Minor: minor}, Inode: inode}
}

// load puts a file into memory as the sample's two segments are mapped, and
// returns the lines for it.
func (p *process) load(base uint64, data []byte, path string) {
	p.maps += fmt.Sprintf("%x-%x r--p 00000000 08:01 7 %s\n%x-%x r-xp 00001000 08:01 7 %s\n", base, base+0x1000, path, base+0x2000, base+0x3000, path)
	if p.memory != nil {
		copy(p.memory[base:], data[:0x1000])
		copy(p.memory[base+0x2000:], data[0x1000:])
	}
}

func TestCaptureFileRules(t *testing.T) {
	sample := sampleELF().bytes()
	otherELF := sampleELF()
	otherELF.content[0x400] = note(otherELF.order, 4, "GNU\x00", 3, []byte("another"))
	other := otherELF.bytes()
	const path, deleted = "/opt/lib/x.so", "/opt/lib/x.so (deleted)"
	memory := func() []byte { return make([]byte, 0x30000) }

	for _, tt := range []struct {
		name    string
		maps    string // the path in the maps
		process process
		path    string
		state   imagemap.FileState
		id      []byte
		bias    bool
		err     bool // a CaptureError with it
	}{
		{"present", path, process{files: map[string]*imagemap.File{path: file(sample, 1, 7)}}, path, imagemap.FilePresent, sampleID, true, false},
		{"a name that ends in (deleted)", deleted, process{files: map[string]*imagemap.File{deleted: file(sample, 1, 7)}}, deleted, imagemap.FilePresent, sampleID, true, false},
		{"deleted, from memory", deleted, process{memory: memory()}, path, imagemap.FileDeleted, sampleID, true, false},
		{"deleted, from the mapped file", deleted, process{mapped: map[uint64]*imagemap.File{0x10000: file(sample, 1, 7)}}, path, imagemap.FileDeleted, sampleID, true, false},
		{"deleted, out of reach", deleted, process{}, path, imagemap.FileDeleted, nil, false, true},
		{"replaced, from memory", deleted, process{memory: memory(), files: map[string]*imagemap.File{path: file(other, 1, 8)}}, path, imagemap.FileReplaced, sampleID, true, false},
		{"replaced by no ELF", path, process{memory: memory(), files: map[string]*imagemap.File{path: file([]byte("x"), 1, 8)}}, path, imagemap.FileReplaced, sampleID, true, false},
		{"replaced, out of reach", path, process{files: map[string]*imagemap.File{path: file(other, 1, 8)}}, path, imagemap.FileReplaced, nil, false, true},
		{"another device, same build ID (overlayfs)", path, process{memory: memory(), files: map[string]*imagemap.File{path: file(sample, 9, 70)}}, path, imagemap.FilePresent, sampleID, true, false},
		{"another device, same inode, no memory (btrfs)", path, process{files: map[string]*imagemap.File{path: file(sample, 9, 7)}}, path, imagemap.FilePresent, sampleID, true, false},
		{"damaged", path, process{files: map[string]*imagemap.File{path: file(sample[:80], 1, 7)}}, path, imagemap.FilePresent, nil, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.process.load(0x10000, sample, tt.maps)
			m, err := tt.process.capture()
			var ce *imagemap.CaptureError
			if tt.err != errors.As(err, &ce) || tt.err != (err != nil) {
				t.Errorf("error %v", err)
			}
			if m == nil || m.Len() != 1 {
				t.Fatalf("%v, %v", m, err)
			}
			img := m.Images()[0]
			if img.Path != tt.path || img.Loaded.File != tt.state || !bytes.Equal(img.BuildID, tt.id) || img.Loaded.HasBias != tt.bias {
				t.Errorf("%+v, %+v", img, *img.Loaded)
			}
			end := uint64(0x13000) // from the mappings
			if tt.bias {
				end = 0x12445
				if img.Loaded.Bias != 0 {
					t.Errorf("bias %#x", img.Loaded.Bias)
				}
			}
			if img.Base != 0x10000 || img.EndOfText != end || !slices.Equal(img.Loaded.Executable, []imagemap.Range{{Start: 0x12000, End: 0x13000}}) {
				t.Errorf("%+v, %+v", img, *img.Loaded)
			}
		})
	}
}

func TestCaptureImages(t *testing.T) {
	sample := sampleELF().bytes()
	p := process{
		files:  map[string]*imagemap.File{"/x.so": file(sample, 1, 7), "/jit": file(make([]byte, 99), 1, 8), "/data.so": file(sample, 1, 9)},
		memory: make([]byte, 0x60000),
	}
	p.load(0x20000, sample, "/x.so")
	p.load(0x40000, sample, "/x.so") // loaded twice
	copy(p.memory[0x50000:], sample)
	p.maps += "50000-52000 r-xp 00000000 00:00 0 [vdso]\n" +
		"53000-54000 r-xp 00000000 08:01 8 /jit\n" + // no ELF
		"54000-56000 r--p 00000000 08:01 9 /data.so\n" + // nothing executable
		"56000-57000 r-xp 00000000 00:00 0\n" + // anonymous
		"58000-59000 rwxp 00000000 00:00 0 [heap]\n"
	m, err := p.capture()
	if err != nil {
		t.Fatal(err)
	}
	type summary struct {
		base, end, bias uint64
		path            string
	}
	var got []summary
	for _, img := range m.All() {
		got = append(got, summary{img.Base, img.EndOfText, img.Loaded.Bias, img.Path})
	}
	want := []summary{
		{0x20000, 0x22445, 0x10000, "/x.so"},
		{0x40000, 0x42445, 0x30000, "/x.so"},
		// The whole file in one mapping, as the vdso is: the bytes at 0x1100 of
		// the file are virtual address 0x12100.
		{0x50000, 0x51445, 0x3f000, "[vdso]"},
	}
	if !slices.Equal(got, want) || m.WordSize() != imagemap.Word64 {
		t.Errorf("%d bits, %#x\nwant %#x", m.WordSize(), got, want)
	}

	p.maps = ""
	if m, err := p.capture(); m != nil || !errors.Is(err, imagemap.ErrNoMappings) {
		t.Errorf("no mappings: %v, %v", m, err)
	}
}

func TestCaptureOddHeaders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*elfFile)
		end    uint64
		bias   bool
		ws     imagemap.WordSize
		err    bool
	}{
		{"32 bits", func(f *elfFile) { f.class, f.machine = elf.ELFCLASS32, elf.EM_386 }, 0x12445, true, imagemap.Word32, false},
		{"big-endian", func(f *elfFile) { f.order, f.progs[2].Filesz = binary.BigEndian, 0 }, 0x12445, true, imagemap.Word64, false},
		{"code grows beyond its file", func(f *elfFile) { f.progs[1].Memsz = 0x5000 }, 0x13000, true, imagemap.Word64, false},
		{"end that wraps", func(f *elfFile) { f.progs[1].Memsz = 1<<64 - 1 }, 0x13000, true, imagemap.Word64, false},
		{"no segments", func(f *elfFile) { f.progs = nil }, 0x13000, false, imagemap.Word64, true},
		{"notes outside", func(f *elfFile) { f.progs[2].Off = 0x5000 }, 0x12445, true, imagemap.Word64, true},
		{"no executable segment", func(f *elfFile) { f.progs[1].Flags = elf.PF_R }, 0x13000, true, imagemap.Word64, false},
		// A data segment shares the file's page with the code: the code counts.
		{"shared page", func(f *elfFile) {
			f.progs = append(f.progs, elf.ProgHeader{Type: elf.PT_LOAD, Flags: elf.PF_R, Off: 0x1445, Vaddr: 0x13445, Filesz: 0xb00, Memsz: 0xb00})
		}, 0x12445, true, imagemap.Word64, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := sampleELF()
			tt.change(f)
			p := process{files: map[string]*imagemap.File{"/x.so": file(f.bytes(), 1, 7)}}
			p.load(0x10000, nil, "/x.so")
			m, err := p.capture()
			if (err != nil) != tt.err || m == nil || m.Len() != 1 {
				t.Fatalf("%v, %v", m, err)
			}
			img := m.Images()[0]
			if m.WordSize() != tt.ws || img.Base != 0x10000 || img.EndOfText != tt.end || img.Loaded.HasBias != tt.bias || img.Loaded.Bias != 0 {
				t.Errorf("%d bits, %+v, %+v", m.WordSize(), img, *img.Loaded)
			}
		})
	}
}
