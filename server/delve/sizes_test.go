package delve

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"strings"
	"testing"
)

// TestSizes: a library is refused whose sizes Delve would allocate: of .dynamic, of the build ID, of names of symbols.
func TestSizes(t *testing.T) {
	good := buildLibrary(t, "f.c", function, "-fPIC", "-Wl,--build-id=0x0123456789")
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	headers := whole[binary.LittleEndian.Uint64(whole[0x28:]):]
	f, err := elf.Open(good)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := func(name string) (header []byte) {
		for i, s := range f.Sections {
			if s.Name == name {
				return headers[64*i:]
			}
		}
		t.Fatalf("no %s", name)
		return nil
	}
	if err := checkSizes(f); err != nil {
		t.Error(err)
	}
	for want, damage := range map[string]func(){
		".dynamic claims 8589934592 KiB": func() {
			header := at(".dynamic")
			binary.LittleEndian.PutUint64(header[32:], 1<<43)
		},
		"claims too long a build ID": func() {
			header := at(".note.gnu.build-id")
			binary.LittleEndian.PutUint32(whole[binary.LittleEndian.Uint64(header[24:])+4:], 1<<31)
		},
		"the names in .symtab are too long together": func() {
			names := append([]byte{0}, bytes.Repeat([]byte{'n'}, 1<<20)...)
			symbols := bytes.Repeat(append([]byte{1, 0, 0, 0, 2}, make([]byte, 19)...), 10000)
			for name, content := range map[string][]byte{".symtab": symbols, ".strtab": append(names, 0)} {
				header := at(name)
				binary.LittleEndian.PutUint64(header[24:], uint64(len(whole)))
				binary.LittleEndian.PutUint64(header[32:], uint64(len(content)))
				whole = append(whole, content...)
				headers = whole[binary.LittleEndian.Uint64(whole[0x28:]):]
			}
		},
	} {
		before := bytes.Clone(whole)
		damage()
		path := t.TempDir() + "/library.so"
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := mayLoad(path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		whole, headers = before, before[binary.LittleEndian.Uint64(before[0x28:]):]
	}
}
