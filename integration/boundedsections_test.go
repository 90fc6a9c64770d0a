package integration

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestBoundedSections: a library whose unwind tables are compressed and become a gigabyte, or just as much as a file may hold, and
// its packed symbols. The stack is never wrong by what the program has recorded, says once what is left out, and costs no more than it
// may; so does the library alone.
func TestBoundedSections(t *testing.T) {
	objcopy := testneed.Tool(t, "objcopy")
	v := program.Variant{Name: "linked-O2-sections", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: program.Linked, Undescribed: true}
	p := build(t, v)
	whole, err := os.ReadFile(p.Library)
	if err != nil {
		t.Fatal(err)
	}
	const most = 63 << 20 // within what any file may hold
	for _, c := range []struct {
		name, section, note string
		content             func(t *testing.T) []byte
		packed              bool // its header says that it is compressed
	}{
		{"SFrame of a gigabyte", ".sframe", ".sframe left out", func(*testing.T) []byte { return deflated() }, true},
		{"call frames of a gigabyte", ".eh_frame", ".eh_frame left out", func(*testing.T) []byte { return repeated() }, true},
		{"debug frames of a gigabyte", ".debug_frame", ".debug_frame left out", func(*testing.T) []byte { return deflated() }, true},
		{"packed symbols of a gigabyte", ".gnu_debugdata", ".gnu_debugdata left out", xzOfZeros, false},
		{"many functions of SFrame", ".sframe", "", func(*testing.T) []byte { return squeezed(sframeOf(most)) }, true},
		{"many call frames", ".eh_frame", "", func(*testing.T) []byte { return squeezed(framesOf(most, 0)) }, true},
		{"many debug frames", ".debug_frame", "", func(*testing.T) []byte { return squeezed(framesOf(most, 1<<32-1)) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "content")
			write(t, file, c.content(t))
			library := withSections(t, objcopy, whole, "--remove-section="+c.section, "--add-section="+c.section+"="+file)
			eachSection(library, func(header []byte, name string, _ elf.SectionType) {
				if c.packed && name == c.section {
					binary.LittleEndian.PutUint64(header[8:], uint64(elf.SHF_COMPRESSED))
				}
			})
			if err := os.Remove(p.Library); err != nil {
				t.Fatal(err)
			}
			write(t, p.Library, library)
			scenario := program.Scenarios[1] // through a callback
			s, cost := measured(func() stopped { return launch(t, p, scenario.Name, scenario.Stop, "--format", "json") })
			s.check(t, v, scenario.Groups)
			t.Logf("%d KiB: %q", len(library)>>10, s.stacks(t)[0].Notes)
			if notes := strings.Join(s.stacks(t)[0].Notes, "\n"); c.note != "" && strings.Count(notes, c.note) != 1 {
				t.Errorf("the notes do not say once what is left out: %q", notes)
			}
			cost.check(t)
			o, cost := measured(func() outcome { return clew(t, "inspect", p.Library) })
			if o.code != done && o.code != failed || c.packed && !strings.Contains(o.stderr, c.note) {
				t.Errorf("%v", o)
			}
			cost.check(t)
		})
	}
}

// xzOfZeros is a gigabyte of zeros, packed as .gnu_debugdata is.
func xzOfZeros(t *testing.T) []byte {
	cmd := exec.Command(testneed.Tool(t, "xz"), "-0", "-c")
	cmd.Stdin = bytes.NewReader(make([]byte, bombSize))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// squeezed is a section as compilers compress it.
func squeezed(content []byte) []byte {
	header, _ := binary.Append(nil, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: uint64(len(content)), Addralign: 1})
	out := bytes.NewBuffer(header)
	w := zlib.NewWriter(out)
	_, _ = w.Write(content) // into memory
	_ = w.Close()
	return out.Bytes()
}

// sframeOf is an SFrame table of version 3 of so many bytes, of functions that share one row.
func sframeOf(size int) []byte {
	const header, entry, row = 28, 16, 8
	n := (size - header - row) / entry
	out := slices.Concat([]byte{0xe2, 0xde, 3, 0, 3, 0, 0xf8, 0}, le32(n), le32(n), le32(row), le32(0), le32(n*entry))
	functions := bytes.Repeat(make([]byte, entry), n)
	for i := range n {
		binary.LittleEndian.PutUint64(functions[entry*i:], uint64(16*i))
		binary.LittleEndian.PutUint32(functions[entry*i+8:], 16)
	}
	return slices.Concat(out, functions, []byte{1, 0, 0, 0, 0, 0, 3, 8})
}

// framesOf are call frames of so many bytes: a CIE, which has this where a FDE names its own, and FDEs of 24 bytes.
func framesOf(size, id int) []byte {
	cie := slices.Concat(le32(id), []byte{1, 0, 1, 0x78, 16, 12, 7, 8, 0x90, 1, 0, 0})
	out := slices.Concat(le32(len(cie)), cie)
	for i := 0; len(out) < size; i++ {
		to := 0
		if id == 0 {
			to = len(out) + 4
		}
		out = append(append(append(append(out, le32(20)...), le32(to)...), le64(16*i)...), le64(16)...)
	}
	return out
}
