package integration

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBoundedTables: Mach-O files whose headers claim too much or hold each other, and compact unwind tables whose pages have
// more entries than the section has room for: `clew inspect` names the fault, within the bounds.
func TestBoundedTables(t *testing.T) {
	const million = 1_000_000
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"load commands", "4294967295 bytes of load commands", machO(1<<32-1, 1<<32-1, make([]byte, 64))},
		{"a million load commands", "", machO(million, 8*million, bytes.Repeat(slices.Concat(le32(0x99), le32(8)), million))},
		{"sections", "4294967295 sections", machO(1, 72, segment(1<<32-1, 0, nil))},
		{"symbols", "", machO(1, 24, slices.Concat(le32(2), le32(24), le32(32), le32(1<<32-1), le32(32), le32(1<<32-1)))},
		{"universal file in itself", "universal file", universal(2, 0)},
		{"a million slices", "only ELF and Mach-O files", universal(million, 0)},
		{"compact unwind's counts", "common encodings", withUnwind(1<<20, slices.Concat(le32(1), le32(28), le32(1<<32-1), le32(28), le32(1<<32-1), le32(28), le32(1<<32-1), make([]byte, 5000)))},
		{"compact unwind's pages", "more entries than the section has room for", withUnwind(60000<<16, manyPages(60000))},
	} {
		path := filepath.Join(t.TempDir(), "image")
		write(t, path, c.file)
		for _, flags := range [][]string{{"inspect"}, {"inspect", "--table"}} {
			o, cost := measured(func() outcome { return clew(t, append(flags, path)...) })
			if c.want == "" {
				o.want(t, done)
			} else {
				o.want(t, failed).complains(t, c.want)
			}
			if n := strings.Count(o.stderr, "\n"); n > 1 || len(o.stderr) > 1000 {
				t.Errorf("%s: %d lines of errors: %.1000s", c.name, n, o.stderr)
			}
			t.Logf("%s, %d KiB, %v:", c.name, len(c.file)>>10, flags)
			cost.check(t)
		}
	}
}

// machO is a file with load commands that claim a number and a size.
func machO(number, size int, commands []byte) []byte {
	const magic, amd64, library = 0xfeedfacf, 0x01000007, 6
	return slices.Concat(le32(magic), le32(amd64), le32(3), le32(library), le32(number), le32(size), le32(0), le32(0), commands)
}

// segment is the command of __TEXT, from which a number of sections is claimed.
func segment(number, size int, sections []byte) []byte {
	name := append([]byte("__TEXT"), make([]byte, 10)...)
	return slices.Concat(le32(0x19), le32(72+len(sections)), name, le64(0), le64(1<<33), le64(0), le64(size), le32(7), le32(5), le32(number), le32(0), sections)
}

// universal is a file of slices that begin at an offset.
func universal(number, at int) []byte {
	word := func(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	slice := slices.Concat(word(0x01000007), word(3), word(at), word(4096), word(0))
	return slices.Concat(word(0xcafebabe), word(number), bytes.Repeat(slice, number), make([]byte, 4096))
}

// withUnwind is an image with so many bytes of code and a section __unwind_info.
func withUnwind(code int, unwind []byte) []byte {
	const text, headers = 0x1000, 32 + 72 + 2*80
	sections := slices.Concat(section("__text", "__TEXT", text, code, 0, 0x80000400), section("__unwind_info", "__TEXT", text+code, len(unwind), headers, 0))
	command := segment(2, headers+len(unwind), sections)
	return append(machO(1, len(command), command), unwind...)
}

// section is a section's header in a segment command.
func section(name, segment string, at, size, offset, flags int) []byte {
	out := append([]byte(name), make([]byte, 16-len(name))...)
	out = append(append(out, segment...), make([]byte, 16-len(segment))...)
	return slices.Concat(out, le64(at), le64(size), le32(offset), le32(0), le32(0), le32(0), le32(flags), make([]byte, 12))
}

// manyPages is a section whose first level names one page so many times, each for other code.
func manyPages(number int) []byte {
	const entries, code, header, common = 65535, 0x1000, 28, 4
	indices := header + common
	page := indices + 12*(number+1)
	out := slices.Concat(le32(1), le32(header), le32(1), le32(header+common), le32(0), le32(indices), le32(number+1), le32(0x01000000))
	for i := range number {
		out = append(append(append(out, le32(code+i<<16)...), le32(page)...), le32(page)...)
	}
	out = slices.Concat(out, le32(code+number<<16), le32(0), le32(page))
	out = slices.Concat(out, le32(3), le16(12), le16(entries), le16(12), le16(0)) // a compressed page
	for i := range entries {
		out = append(out, le32(i)...)
	}
	return out
}
