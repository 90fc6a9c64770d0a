package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/unwind"
)

// The mappings of the made-up process.
const (
	codeStart, codeEnd = 0x40_0000, 0x40_2000 // of the program, in the core file
	dataStart, dataEnd = 0x60_0000, 0x60_1000 // without a file
	libStart, libEnd   = 0x7f00_0000_0000, 0x7f00_0000_1000
	vdsoStart, vdsoEnd = 0x7fff_0000_0000, 0x7fff_0000_1000
	programPath        = "/bin/pro gram"
	libraryPath        = "/lib/li\nb.so"
)

func word(v ...uint64) (out []byte) {
	for _, w := range v {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

// note writes a note of the kernel's.
func note(kind uint32, desc []byte) []byte {
	out := binary.LittleEndian.AppendUint32(nil, 5)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(desc)))
	out = binary.LittleEndian.AppendUint32(out, kind)
	out = append(out, "CORE\x00\x00\x00\x00"...)
	out = append(out, desc...)
	return append(out, make([]byte, -len(desc)&3)...)
}

// files is the note NT_FILE of the made-up process.
func files() []byte {
	desc := word(3, pageSize, codeStart, codeEnd, 0, libStart, libEnd, 1, libEnd, libEnd+pageSize, 0)
	return append(desc, programPath+"\x00"+libraryPath+"\x00"+libraryPath+"\x00"...)
}

// core makes a core file.
type core struct {
	kind  elf.Type
	noted elf.ProgType
	notes []byte
	more  uint64 // bytes that the segment of notes claims besides
	loads []load
}

type load struct {
	start, end uint64
	flags      elf.ProgFlag
	data       []byte
}

func processCore() *core {
	code := bytes.Repeat([]byte{0x90}, codeEnd-codeStart)
	copy(code, "\x7fELF the program")
	return &core{
		kind:  elf.ET_CORE,
		noted: elf.PT_NOTE,
		notes: append(note(ntAuxv, word(atEntry, codeStart+0x10, atSysinfoEhdr, vdsoStart, 0, 0, atEntry, 1)), note(ntFile, files())...),
		loads: []load{
			{vdsoStart, vdsoEnd, elf.PF_R | elf.PF_X, []byte("vdso")},
			{codeStart, codeEnd, elf.PF_R | elf.PF_X, code},
			{dataStart, dataEnd, elf.PF_R | elf.PF_W, []byte("data")},
			{libStart, libEnd, elf.PF_R | elf.PF_X, nil},
		},
	}
}

func (c *core) write(t *testing.T) string {
	t.Helper()
	header := elf.Header64{
		Type: uint16(c.kind), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: uint16(1 + len(c.loads)),
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	at := uint64(64 + 56*(1+len(c.loads)))
	progs := []elf.Prog64{{Type: uint32(c.noted), Off: at, Filesz: uint64(len(c.notes)) + c.more}}
	body := bytes.Clone(c.notes)
	for _, l := range c.loads {
		progs = append(progs, elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(l.flags), Off: at + uint64(len(body)), Vaddr: l.start, Filesz: uint64(len(l.data)), Memsz: l.end - l.start,
		})
		body = append(body, l.data...)
	}
	var b bytes.Buffer
	for _, part := range []any{header, progs, body} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (c *core) open(t *testing.T) *File {
	t.Helper()
	f, err := Open(c.write(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestMaps: mappings have their files, one that gcore leaves out too, and lines
// that are read as those of /proc/PID/maps are.
func TestMaps(t *testing.T) {
	f := processCore().open(t)
	const want = `400000-402000 r-xp 00000000 00:00 1 /bin/pro gram
600000-601000 rw-p 00000000 00:00 0
7f0000000000-7f0000001000 r-xp 00001000 00:00 2 /lib/li\012b.so
7f0000001000-7f0000002000 r--p 00000000 00:00 2 /lib/li\012b.so
7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]
`
	if got := f.Maps(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if f.Executable() != programPath || f.Inode(libraryPath) != 2 || f.Inode("/none") != 0 {
		t.Errorf("executable %q, inodes %d and %d", f.Executable(), f.Inode(libraryPath), f.Inode("/none"))
	}
}

// TestMemory: memory that was written out is read, across mappings, and nothing else.
func TestMemory(t *testing.T) {
	c := processCore()
	c.loads[2].start, c.loads[2].end = codeEnd, codeEnd+pageSize // data right behind the code
	f := c.open(t)
	p := make([]byte, 8)
	if err := f.ReadMemory(codeEnd-4, p); err != nil || string(p) != "\x90\x90\x90\x90data" {
		t.Errorf("%q, %v", p, err)
	}
	for _, addr := range []uint64{codeStart - 1, codeEnd + 1, libStart, vdsoStart + 1, 0, 1<<64 - 4} {
		var failed *unwind.MemoryError
		if err := f.ReadMemory(addr, p); !errors.As(err, &failed) || failed.Addr != addr {
			t.Errorf("%#x: %v", addr, err)
		}
	}
	if err := f.ReadMemory(0, nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

// TestMostMappings: users can raise the limit on mappings; damage elsewhere does not hide that there are too many.
func TestMostMappings(t *testing.T) {
	defer elffile.SetLimits(elffile.Limits{})
	const number = 6 // three were written out, the note has three
	path := processCore().write(t)
	damaged := processCore()
	damaged.loads = append(damaged.loads, load{libEnd, libEnd + 1, elf.PF_R, []byte("longer than its memory")})
	for _, c := range []struct {
		path  string
		limit uint64
		fits  bool
	}{
		{path, number, true}, {path, number - 1, false}, {damaged.write(t), number, false}, // Delve does not see the damage
	} {
		elffile.SetLimits(elffile.Limits{Mappings: c.limit})
		err := Check(c.path)
		if (err == nil) != c.fits || !c.fits && !strings.Contains(err.Error(), "fileLimits.mappings in clew.json") {
			t.Errorf("limit %d: %v", c.limit, err)
		}
	}
}

// TestComplete: the permissions of a mapping that the core file only names are
// those of its file.
func TestComplete(t *testing.T) {
	f := processCore().open(t)
	library := core{kind: elf.ET_DYN, loads: []load{{0, pageSize, elf.PF_R | elf.PF_X, []byte("x")}}}
	path := library.write(t)
	asked := ""
	f.Complete(func(path string) string { asked = path; return "/nowhere" })
	if asked != libraryPath || !strings.Contains(f.Maps(), "7f0000001000-7f0000002000 r--p") {
		t.Errorf("asked for %q:\n%s", asked, f.Maps())
	}
	f.Complete(func(string) string { return path })
	if !strings.Contains(f.Maps(), "7f0000001000-7f0000002000 r-xp") {
		t.Errorf("not completed:\n%s", f.Maps())
	}
}

// TestCheckExecutable: an executable of another build is refused.
func TestCheckExecutable(t *testing.T) {
	c := processCore()
	path := c.write(t)
	program := filepath.Join(t.TempDir(), "program")
	write := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(program, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(c.loads[1].data)
	if err := CheckExecutable(path, program); err != nil {
		t.Error(err)
	}
	write([]byte("\x7fELF another build"))
	var other *OtherBuildError
	if err := CheckExecutable(path, program); !errors.As(err, &other) || other.RunAs != programPath || !strings.Contains(err.Error(), "another build") {
		t.Error(err)
	}
	c.loads[1].data = nil // its first page was not written out: nothing can be said
	if err := CheckExecutable(c.write(t), program); err != nil {
		t.Error(err)
	}
	if err := CheckExecutable(filepath.Join(t.TempDir(), "none"), program); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestOtherMachine: an executable for another machine is named as that; Delve would say "unexpected EOF".
func TestOtherMachine(t *testing.T) {
	f := processCore().open(t)
	program := filepath.Join(t.TempDir(), "program")
	head := make([]byte, 64)
	copy(head, elf.ELFMAG)
	head[elf.EI_CLASS], head[elf.EI_DATA], head[18] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EM_AARCH64)
	if err := os.WriteFile(program, head, 0o600); err != nil {
		t.Fatal(err)
	}
	var other *OtherMachineError
	if err := f.CheckExecutable(program); !errors.As(err, &other) || other.Has != elf.EM_X86_64 || other.Wants != elf.EM_AARCH64 {
		t.Errorf("%v", err)
	}
}

// TestWrongFiles: a file that is no core file, or contradicts itself, is an error that names it.
func TestWrongFiles(t *testing.T) {
	for name, change := range map[string]func(*core){
		"not a core file":   func(c *core) { c.kind = elf.ET_EXEC },
		"impossible sizes":  func(c *core) { c.loads[1].end = c.loads[1].start + 1 },
		"files do not fit":  func(c *core) { c.notes = note(ntFile, word(1<<60, pageSize)) },
		"1 names for 2":     func(c *core) { c.notes = note(ntFile, append(word(2, 1, 1, 2, 0, 2, 3, 0), "a\x00b"...)) },
		"mapped from 0x2":   func(c *core) { c.notes = note(ntFile, append(word(1, 1, 2, 1, 0), "a\x00"...)) },
		"do not fit in 0 b": func(c *core) { c.notes = note(ntFile, nil) },
		"it claims 429":     func(c *core) { c.notes = append(c.notes, 5, 0, 0, 0, 255, 255, 255, 255, 1, 0, 0, 0) },
		"it has no notes":   func(c *core) { c.noted = elf.PT_NULL },
	} {
		c := processCore()
		change(c)
		path := c.write(t)
		f, err := Open(path)
		var typed *Error
		if !errors.As(err, &typed) || typed.Path != path || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	// Notes that are cut off, and of other makers, take nothing away.
	c := processCore()
	c.notes = append(append(note(7, word(1)), c.notes...), 5, 0, 0, 0, 255, 255, 255, 0, 1, 0, 0, 0)
	if f := c.open(t); f.Executable() != programPath {
		t.Errorf("executable %q", f.Executable())
	}
	c = processCore()
	c.notes = c.notes[:20]
	if f := c.open(t); f.Executable() != "" {
		t.Errorf("executable %q without notes", f.Executable())
	}
}

func FuzzOpen(f *testing.F) {
	c := processCore()
	f.Add(c.notes)
	f.Fuzz(func(t *testing.T, notes []byte) {
		c := processCore()
		c.notes = notes
		if file, err := Open(c.write(t)); err == nil {
			_ = file.Maps()
			_ = file.ReadMemory(codeStart, make([]byte, 16))
			_ = file.Close()
		}
	})
}
