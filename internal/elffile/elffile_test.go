package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// section is one of a file that image makes.
type section struct {
	name    string
	kind    elf.SectionType
	flags   elf.SectionFlag
	link    uint32
	content []byte
}

// compressed claims to become size bytes.
func compressed(size uint64) []byte {
	out, _ := binary.Append(nil, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: size, Addralign: 1})
	return append(out, "not read"...)
}

// image makes an ELF file: the sections, and the table of their names.
func image(sections ...section) []byte {
	names := []byte{0}
	sections = append([]section{{}}, append(sections, section{name: ".shstrtab", kind: elf.SHT_STRTAB})...)
	headers := make([]elf.Section64, len(sections))
	out := make([]byte, binary.Size(elf.Header64{}))
	for i, s := range sections {
		headers[i] = elf.Section64{Name: uint32(len(names)), Type: uint32(s.kind), Flags: uint64(s.flags), Link: s.link}
		names = append(append(names, s.name...), 0)
	}
	sections[len(sections)-1].content = names
	for i, s := range sections {
		headers[i].Off, headers[i].Size = uint64(len(out)), uint64(len(s.content))
		out = append(out, s.content...)
	}
	h := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Shoff: uint64(len(out)),
		Ehsize: 64, Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: uint16(len(sections) - 1),
	}
	copy(h.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	_, _ = binary.Encode(out, binary.LittleEndian, &h)
	out, _ = binary.Append(out, binary.LittleEndian, headers)
	return out
}

func open(t *testing.T, data []byte) (*elf.File, *LeftOutError) {
	t.Helper()
	f, left, err := New(bytes.NewReader(data), int64(len(data)), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f, left
}

func debugSection(name string, size uint64) section {
	return section{name: name, kind: elf.SHT_PROGBITS, flags: elf.SHF_COMPRESSED, content: compressed(size)}
}

// TestBudget: what goes over a file's budget is left out, the largest first, and what fits is as
// it was; a section that claims more than can be counted too.
func TestBudget(t *testing.T) {
	code := section{name: ".text", kind: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, content: []byte("code")}
	for _, c := range []struct {
		sections []section
		want     string
	}{
		{[]section{code, debugSection(".debug_info", 1<<20)}, ""},
		{[]section{code, debugSection(".debug_info", 1<<30), debugSection(".debug_line", 1<<10)}, ".debug_info"},
		{[]section{code, debugSection(".a", 40<<20), debugSection(".b", 50<<20), debugSection(".c", 1<<63)}, ".c .b"},
		{[]section{code, {name: ".zdebug_info", kind: elf.SHT_PROGBITS, content: []byte("ZLIB\x00\x01\x00\x00\x00\x00\x00\x00")}}, ".zdebug_info"},
	} {
		f, left := open(t, image(c.sections...))
		got := ""
		if left != nil {
			got = strings.Join(left.Sections, " ")
			if text := left.Error(); !strings.HasPrefix(text, left.Sections[0]) {
				t.Error(text)
			}
		}
		if got != c.want {
			t.Errorf("%q is left out, want %q", got, c.want)
		}
		for _, s := range f.Sections {
			_, err := s.Data()
			if s.Name == ".text" && err != nil || left != nil && strings.Contains(got, s.Name) && s.Name != "" && err == nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
}

// TestSession: many small files together have what the session has, and no more.
func TestSession(t *testing.T) {
	defer spent.Store(spent.Swap(0))
	data := image(debugSection(".debug_info", 60<<20))
	fit := 0
	for range 100 {
		if _, left := open(t, data); left == nil {
			fit++
		}
	}
	if want := int(limits().Session / (60 << 20)); fit != want {
		t.Errorf("%d files fit, want %d", fit, want)
	}
}

// TestMayHold: a small piece may become large a few times only.
func TestMayHold(t *testing.T) {
	defer spent.Store(spent.Swap(0))
	for _, c := range []struct {
		stored, full uint64
		may          bool
	}{{100, 3000, true}, {100, 60 << 20, true}, {100, 65 << 20, false}, {100 << 20, 3 << 30, true}, {100 << 20, 4 << 30, false}} {
		if got := MayHold(c.stored, c.full); got != c.may {
			t.Errorf("%d bytes may become %d: %t", c.stored, c.full, got)
		}
	}
	n := 0
	for MayHold(100, 60<<20) && n < 100 {
		n++
	}
	if want := int(limits().Session/(60<<20)) - 1; n != want {
		t.Errorf("%d times, want %d", n, want)
	}
}

// TestSetLimits: who trusts a file can have all of it.
func TestSetLimits(t *testing.T) {
	defer SetLimits(Limits{})
	data := image(debugSection(".debug_info", 1<<30))
	for least, want := range map[uint64]bool{0: false, 2 << 30: true} {
		defer spent.Store(spent.Swap(0))
		SetLimits(Limits{Least: least, Session: 4 << 30})
		if _, left := open(t, data); (left == nil) != want {
			t.Errorf("least %d: %v", least, left)
		}
	}
}

// TestNames: debug/elf would copy a name of a megabyte for each of thousands of sections.
func TestNames(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	data := image(section{name: long, kind: elf.SHT_PROGBITS}, section{name: "x", kind: elf.SHT_PROGBITS})
	headers := data[binary.LittleEndian.Uint64(data[0x28:]):]
	many := bytes.Clone(data)
	for range 10_000 {
		many = append(many, headers[64:128]...)
	}
	at := binary.LittleEndian.Uint64(data[0x28:])
	copy(many[at:], headers) // the first ones stay
	binary.LittleEndian.PutUint16(many[0x3c:], 10_000)
	begin := time.Now()
	var headerErr *HeaderError
	if _, _, err := New(bytes.NewReader(many), int64(len(many)), int64(len(many))); !errors.As(err, &headerErr) {
		t.Errorf("%v", err)
	}
	if took := time.Since(begin); took > testneed.Patience(5*time.Second) {
		t.Errorf("it took %v", took)
	}
	if _, left := open(t, data); left != nil {
		t.Error(left)
	}
}

// TestSymbols: as debug/elf has them, of the program that runs.
func TestSymbols(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(exe)
	var format *elf.FormatError
	if errors.As(err, &format) {
		return // another system's format
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := f.Symbols()
	if err != nil {
		return // built without
	}
	n := 0
	for i, got := range Symbols(f.File, elf.SHT_SYMTAB) {
		w := want[i-1]
		if got.Name != w.Name || got.Value != w.Value || got.Size != w.Size || got.Section != w.Section || got.Info != w.Info {
			t.Fatalf("%d: %+v, want %+v", i, got, w)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d symbols, want %d", n, len(want))
	}
}

// TestLongSymbolNames: thousands of symbols may share one long name.
func TestLongSymbolNames(t *testing.T) {
	const many = 50_000
	symbol, _ := binary.Append(nil, binary.LittleEndian, elf.Sym64{Name: 1, Info: 2, Shndx: 1})
	f, _ := open(t, image(
		section{name: ".symtab", kind: elf.SHT_SYMTAB, link: 2, content: bytes.Repeat(symbol, many)},
		section{name: ".strtab", kind: elf.SHT_STRTAB, content: append([]byte{0}, bytes.Repeat([]byte{'n'}, 1<<20)...)}))
	n, begin := 0, time.Now()
	for _, s := range Symbols(f, elf.SHT_SYMTAB) {
		if n++; len(s.Name) != maxName {
			t.Fatalf("a name of %d bytes", len(s.Name))
		}
	}
	if took := time.Since(begin); n != many-1 || took > testneed.Patience(5*time.Second) {
		t.Errorf("%d symbols in %v", n, took)
	}
}

// TestOpenRegular: nothing else is opened, and nothing is waited for.
func TestOpenRegular(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, os.DevNull, t.TempDir()} {
		if _, err := Open(path); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", path, err)
		}
	}
	sparse := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(sparse, image(), 0o600); err != nil {
		t.Fatal(err)
	}
	for size, whole := range map[int64]bool{1 << 10: true, 1 << 40: false} {
		if err := os.Truncate(sparse, size); err != nil {
			t.Fatal(err)
		}
		f, info, err := OpenRegular(sparse)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if err := CheckWhole(info); (err == nil) != whole {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func FuzzNew(f *testing.F) {
	f.Add(image(debugSection(".debug_info", 1<<30), section{name: ".symtab", kind: elf.SHT_SYMTAB, link: 1, content: make([]byte, 48)}))
	f.Fuzz(func(_ *testing.T, data []byte) {
		file, _, err := New(bytes.NewReader(data), int64(len(data)), int64(len(data)))
		if err != nil {
			return
		}
		for range Symbols(file, elf.SHT_SYMTAB) {
		}
	})
}
