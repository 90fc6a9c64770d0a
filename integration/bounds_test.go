package integration

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// What a file may cost, whatever it claims.
const (
	mostTime   = 10 * time.Second
	mostMemory = 2 << 30 // bytes, of clew or a plugin
)

// TestBoundedFiles: a library whose debug sections become gigabytes, whose debug file
// has no end, or whose headers lie. The stack is right by what the program
// has recorded, names what is left out, and costs no more than it may; clew inspect says
// the same.
func TestBoundedFiles(t *testing.T) {
	objcopy := testneed.Tool(t, "objcopy")
	v := program.Variant{Name: "linked-O2-bounded", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: program.Linked}
	p := build(t, v)
	whole, err := os.ReadFile(p.Library)
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(filepath.Dir(p.Library), "bounded.debug")
	link := func() []byte {
		write(t, beside, whole)
		defer os.Remove(beside)
		return withSections(t, objcopy, whole, "--remove-section=.note.gnu.build-id", "--add-gnu-debuglink="+beside)
	}
	for _, c := range []struct {
		name, note string
		library    func() []byte
		debug      func() error // makes the file beside
	}{
		{"zlib", "left out", func() []byte { return bombs(t, objcopy, whole, ".debug_", deflated()) }, nil},
		{"zstd", "left out", func() []byte { return bombs(t, objcopy, whole, ".debug_", repeated()) }, nil},
		{"zdebug", "left out", func() []byte { return bombs(t, objcopy, whole, ".zdebug_", gnuDeflated()) }, nil},
		{"sparse symbols", ".symtab left out", func() []byte { return sparseSymbols(whole) }, nil},
		{"notes", "bytes of notes", func() []byte { return lyingNotes(whole) }, nil},
		{"pipe", "not a regular file", link, func() error { return syscall.Mkfifo(beside, 0o600) }},
		{"device", "not a regular file", link, func() error { return os.Symlink("/dev/zero", beside) }},
		{"sparse debug file", "of which the disk holds", link, func() error {
			if err := os.WriteFile(beside, whole, 0o600); err != nil {
				return err
			}
			return os.Truncate(beside, 4<<40)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			library := c.library()
			if err := os.Remove(p.Library); err != nil { // not written over: it may have holes
				t.Fatal(err)
			}
			write(t, p.Library, library)
			if c.name == "sparse symbols" {
				if err := os.Truncate(p.Library, symbolsAt+symbolsSize); err != nil {
					t.Fatal(err)
				}
			}
			if c.debug != nil {
				defer os.Remove(beside)
				if err := c.debug(); err != nil {
					t.Fatal(err)
				}
			}
			scenario := program.Scenarios[1] // through a callback
			s, cost := measured(func() stopped { return launch(t, p, scenario.Name, scenario.Stop, "--format", "json") })
			s.check(t, v, scenario.Groups)
			if notes := strings.Join(s.stacks(t)[0].Notes, "\n"); strings.Count(notes, c.note) != 1 || !strings.Contains(notes, p.Library) {
				t.Errorf("the notes do not say once what is left out: %q", notes)
			}
			cost.check(t)
			o, cost := measured(func() outcome { return clew(t, "inspect", p.Library) })
			o.want(t, done).complains(t, c.note, p.Library)
			cost.check(t)
		})
	}
}

// cost is what a run of clew has taken.
type cost struct {
	time   time.Duration
	memory int64 // the most that any process has had so far, in bytes
}

func measured[T any](run func() T) (T, cost) {
	// A child begins with the most that this process has had (getrusage(2), proc_pid_clear_refs(5)).
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	begin := time.Now()
	out := run()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &use); err != nil {
		panic(err)
	}
	return out, cost{time.Since(begin), use.Maxrss << 10}
}

func (c cost) check(t testing.TB) {
	t.Helper()
	t.Logf("%v, %d MiB", c.time.Round(10*time.Millisecond), c.memory>>20)
	if c.time > testneed.Patience(mostTime) || c.memory > mostMemory {
		t.Errorf("it took %v and %d MiB", c.time, c.memory>>20)
	}
}

// bombSize is what a section becomes.
const bombSize = 1 << 30

// bombed are the sections' names.
var bombed = strings.Fields("info abbrev line str loc ranges aranges frame types addr line_str str_offsets rnglists loclists macro")

// deflated is a section of zeros, compressed by zlib.
func deflated() []byte {
	header, _ := binary.Append(nil, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: bombSize, Addralign: 1})
	return append(header, zeros()...)
}

// gnuDeflated is the same as older tools write it.
func gnuDeflated() []byte {
	return append(binary.BigEndian.AppendUint64([]byte("ZLIB"), bombSize), zeros()...)
}

var zeros = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	w, _ := zlib.NewWriterLevel(&out, zlib.BestCompression)
	block := make([]byte, 1<<20)
	for range bombSize / len(block) {
		_, _ = w.Write(block) // into memory
	}
	_ = w.Close()
	return out.Bytes()
})

// repeated is a section of zeros in a frame of zstd (RFC 8878): blocks of one repeated
// byte, 4 bytes for 128 KiB.
func repeated() []byte {
	const block = 128 << 10
	out, _ := binary.Append(nil, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZSTD), Size: bombSize, Addralign: 1})
	out = append(out, 0x28, 0xb5, 0x2f, 0xfd, 0, 7<<3) // magic number; no content size; a window of 128 KiB
	for left := bombSize / block; left > 0; left-- {
		head := uint32(block<<3 | 1<<1) // a block of type RLE
		if left == 1 {
			head |= 1 // the last
		}
		out = append(out, byte(head), byte(head>>8), byte(head>>16), 0)
	}
	return out
}

// bombs adds the sections to a library.
func bombs(t testing.TB, objcopy string, library []byte, prefix string, content []byte) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "content")
	write(t, file, content)
	var args []string
	for _, name := range bombed {
		args = append(args, "--add-section="+prefix+name+"="+file)
	}
	out := withSections(t, objcopy, library, args...)
	if prefix == ".debug_" {
		eachSection(out, func(header []byte, name string, _ elf.SectionType) {
			if strings.HasPrefix(name, prefix) {
				binary.LittleEndian.PutUint64(header[8:], uint64(elf.SHF_COMPRESSED))
			}
		})
	}
	return out
}

// withSections is objcopy.
func withSections(t testing.TB, objcopy string, library []byte, args ...string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "library")
	write(t, file, library)
	if out, err := exec.Command(objcopy, append(args, file)...).CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v\n%s", err, out)
	}
	out, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eachSection lists the headers of the sections.
func eachSection(file []byte, visit func(header []byte, name string, kind elf.SectionType)) {
	const size = 64 // of an Elf64_Shdr
	order := binary.LittleEndian
	headers, n := file[order.Uint64(file[0x28:]):], int(order.Uint16(file[0x3c:]))
	names := file[order.Uint64(headers[size*int(order.Uint16(file[0x3e:]))+24:]):]
	for i := range n {
		header := headers[size*i:][:size]
		name, _, _ := bytes.Cut(names[order.Uint32(header):], []byte{0})
		visit(header, string(name), elf.SectionType(order.Uint32(header[4:])))
	}
}

// The table of symbols that a sparse file has.
const (
	symbolsAt   = 1 << 24
	symbolsSize = 200 << 30
)

// sparseSymbols moves the table of symbols to where the file will have a hole.
func sparseSymbols(library []byte) []byte {
	out := bytes.Clone(library)
	eachSection(out, func(header []byte, _ string, kind elf.SectionType) {
		if kind == elf.SHT_SYMTAB {
			binary.LittleEndian.PutUint64(header[24:], symbolsAt)
			binary.LittleEndian.PutUint64(header[32:], symbolsSize)
		}
	})
	return out
}

// lyingNotes has the program headers claim a terabyte of notes.
func lyingNotes(library []byte) []byte {
	const size = 56 // of an Elf64_Phdr
	out, order := bytes.Clone(library), binary.LittleEndian
	for i := range int(order.Uint16(out[0x38:])) {
		header := out[order.Uint64(out[0x20:])+uint64(size*i):]
		if elf.ProgType(order.Uint32(header)) == elf.PT_NOTE {
			order.PutUint64(header[32:], 1<<40)
			order.PutUint64(header[40:], 1<<40)
		}
	}
	return out
}

// TestUnusualFiles: what is no regular file, where clew reads one.
func TestUnusualFiles(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{fifo, "/dev/zero"} {
		for _, args := range [][]string{
			{"plugins", "--clew-config", name}, {"stack", "--core", name, clewPath()}, {"stack", "--", name}, {"inspect", name},
			{"core", clewPath(), name, "--allow-non-terminal-interactive"},
		} {
			t.Run(fmt.Sprint(args), func(t *testing.T) {
				o, cost := measured(func() outcome { return clew(t, args...) })
				if o.code == done || o.stderr == "" {
					t.Errorf("%v", o)
				}
				cost.check(t)
			})
		}
	}
	for command, want := range map[string]string{"unwind": "no end of the line", "diff": "not JSON", "decode": "larger than 256 MiB"} {
		args := []string{command, "/dev/zero"}
		if command == "diff" {
			args = append(args, "/dev/zero")
		}
		o, cost := measured(func() outcome { return clew(t, args...) })
		o.want(t, failed).complains(t, "/dev/zero", want)
		cost.check(t)
	}
}
