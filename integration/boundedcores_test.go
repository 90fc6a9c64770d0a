package integration

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBoundedCores: a core file with more threads, notes or mappings than Delve reads in time is an error that says so, in
// `clew stack` and in a terminal, before Delve reads it.
func TestBoundedCores(t *testing.T) {
	const million = 1_000_000
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		notes    []byte
		mappings int
		want     string
	}{
		"a million threads":    {bytes.Repeat(coreNote(1, make([]byte, 336)), million), 0, "it has more than 32768 threads"},
		"30 million notes":     {make([]byte, 12*30*million), 0, "notes of type 0x0"},
		"notes of many types":  {manyTypes(), 0, "it has more than 524288 notes"},
		"a million files":      {coreNote(ntFile, manyFiles(million)), 0, "mappings of memory and files, more than 16384, which take too long to read (fileLimits.mappings"},
		"60,000 mappings":      {coreNote(1, make([]byte, 336)), 60_000, "mappings of memory and files, more than 16384, which take too long to read (fileLimits.mappings"},
		"files and mappings":   {coreNote(ntFile, manyFiles(10_000)), 10_000, "mappings of memory and files, more than 16384, which take too long to read (fileLimits.mappings"},
		"a note of 4 GiB":      {slices.Concat(le32(5), le32(1<<32-1), le32(1), []byte("CORE\x00\x00\x00\x00")), 0, "it claims 4294967315 bytes"},
		"2^32 files in a note": {coreNote(ntFile, slices.Concat(le64(1<<32), le64(4096))), 0, "4294967296 files do not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "core")
			write(t, path, madeCore(c.notes, c.mappings))
			commands := [][]string{{"stack", "--core", path, program}}
			if name != "2^32 files in a note" { // which Delve refuses in its own words
				commands = append(commands, []string{"core", "--allow-non-terminal-interactive=true", program, path})
			}
			for _, args := range commands {
				o, cost := measured(func() outcome { return clew(t, args...) })
				if o.want(t, failed); strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stderr, c.want) {
					t.Errorf("%s: %s", args[0], clip(o.stderr))
				}
				cost.check(t)
			}
		})
	}
}

const ntFile = 0x46494c45

// coreNote is a note of the kernel's.
func coreNote(kind int, contents []byte) []byte {
	return slices.Concat(le32(5), le32(len(contents)), le32(kind), []byte("CORE\x00\x00\x00\x00"), contents, make([]byte, -len(contents)&3))
}

// manyTypes are notes of 600,000 types, without contents.
func manyTypes() (out []byte) {
	for kind := range 600_000 {
		out = append(out, coreNote(100+kind, nil)...)
	}
	return out
}

// manyFiles is the contents of the note NT_FILE of a number of files.
func manyFiles(number int) []byte {
	out := slices.Concat(le64(number), le64(4096))
	for i := range number {
		at := 1<<44 + i<<13
		out = append(append(append(out, le64(at)...), le64(at+4096)...), le64(0)...)
	}
	return append(out, bytes.Repeat([]byte("a\x00"), number)...)
}

// madeCore is a core file with notes, and a number of mappings whose memory is the file's first page.
func madeCore(notes []byte, mappings int) []byte {
	const header, entry = 64, 56
	b := bytes.NewBuffer(slices.Concat([]byte(elf.ELFMAG), []byte{2, 1, 1}, make([]byte, 9), le16(int(elf.ET_CORE)), le16(int(elf.EM_X86_64)), le32(1),
		le64(0), le64(header), le64(0), le32(0), le16(header), le16(entry), le16(1+mappings), make([]byte, 6)))
	progs := []elf.Prog64{{Type: uint32(elf.PT_NOTE), Off: uint64(header + entry*(1+mappings)), Filesz: uint64(len(notes))}}
	for i := range mappings {
		progs = append(progs, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: 6, Vaddr: 1<<45 + uint64(i)<<13, Filesz: 4096, Memsz: 4096})
	}
	_ = binary.Write(b, binary.LittleEndian, progs) // a buffer takes all
	b.Write(notes)
	return b.Bytes()
}
