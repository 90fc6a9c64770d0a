package integration

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// sframeFile is a library with SFrame of version 3, and where its parts lie in the
// section.
type sframeFile struct {
	data    []byte // the whole file
	section []byte // of data
	first   int    // the attributes of a function with two rows and more
	repeats int    // those of repeated code
}

// readSFrame reads a library.
func readSFrame(t *testing.T, path string) (s sframeFile) {
	t.Helper()
	var err error
	if s.data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	section := f.Section(".sframe")
	s.section = s.data[section.Offset:][:section.Size]
	const header, entry = 28, 16
	le := binary.LittleEndian
	if s.section[2] != 3 {
		t.Fatalf("version %d", s.section[2])
	}
	for i := range int(le.Uint32(s.section[8:])) {
		at := header + int(le.Uint32(s.section[24:])) + int(le.Uint32(s.section[header+entry*i+12:]))
		const mask, startWidth = 0x10, 0x0f
		switch rows, info := le.Uint16(s.section[at:]), s.section[at+2]; {
		case info&mask != 0:
			s.repeats = at
		case rows >= 2 && info&startWidth == 0:
			s.first = at
		}
	}
	if s.first == 0 || s.repeats == 0 {
		t.Fatalf("no functions of two rows (%d), or no repeated code (%d)", s.first, s.repeats)
	}
	return s
}

// TestBadSFrame: a library whose SFrame table is damaged. clew inspect names the
// field and its offset, and so does the stack that goes through the library; no
// frame above a scan is wrong, and the rest of the stack is there.
func TestBadSFrame(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	v, _ := program.Named("opened-O2-sframe-v3-stripped")
	whole := build(t, v)
	good := readSFrame(t, whole.Library)
	put32 := func(at int, value uint32) func([]byte) {
		return func(section []byte) { binary.LittleEndian.PutUint32(section[at:], value) }
	}
	put := func(at int, value byte) func([]byte) { return func(section []byte) { section[at] = value } }
	for _, c := range []struct {
		name   string
		damage func(section []byte)
		offset int
		field  string
	}{
		{"wrong magic", put(0, 0x7f), 0, "sfp_magic"},
		{"unknown version", put(2, 9), 2, "sfp_version"},
		{"unknown flags", put(3, 0x15), 3, "sfp_flags"},
		{"unknown ABI", put(4, 9), 4, "sfh_abi_arch"},
		{"sub-sections that overlap", put32(20, 1<<16), 20, "sfh_fdeoff"},
		{"a sub-section out of range", put32(24, 1<<24), 24, "sfh_freoff"},
		{"more bytes of rows than there are", put32(16, 1<<24), 16, "sfh_fre_len"},
		{"more functions than fit", put32(8, 1<<24), 8, "sfh_num_fdes"},
		{"more rows than fit", put32(12, 1<<24), 12, "sfh_num_fres"},
		{"unknown type of function", put(good.first+3, 2), good.first + 3, "sfda_func_info2"},
		{"a row that runs past its function", put(good.first+5, 0xff), good.first + 5, "sframe_frame_row_entry"},
		{"repeated code of size 0", put(good.repeats+4, 0), good.repeats + 4, "sfda_func_rep_size"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := whole
			p.Library = filepath.Join(t.TempDir(), filepath.Base(whole.Library))
			damaged := readSFrame(t, whole.Library)
			c.damage(damaged.section)
			write(t, p.Library, damaged.data)

			problem := fmt.Sprintf(".sframe+%#x: %s: ", c.offset, c.field)
			if o := clew(t, "inspect", p.Library); o.code != failed || !strings.Contains(o.stderr, problem) || !strings.Contains(o.stdout, "sframe") {
				t.Errorf("clew inspect does not say %q, or not what there is: %v", problem, o)
			}
			blind := v
			blind.Undescribed = true
			s := launch(t, p, "callback", "int3", "--format", "json")
			s.check(t, blind, scenarioNamed(t, "callback").Groups)
			notes := strings.Join(s.stacks(t)[0].Notes, "\n")
			if !strings.Contains(notes, problem) || !strings.Contains(notes, p.Library) {
				t.Errorf("the stack's notes are %q, want %q", notes, problem)
			}
		})
	}
}
