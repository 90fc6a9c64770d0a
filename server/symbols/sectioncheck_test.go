package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// openBytes opens an image as a file.
func openBytes(t *testing.T, data []byte) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenWithDebug(path, DebugSearch{Known: "/known/image"})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestMisplacedSection: a loaded section whose header cannot be right is named,
// and is not used.
func TestMisplacedSection(t *testing.T) {
	// Places in a section header.
	const flags, addr, offset, size = 8, 16, 24, 32
	tests := []struct {
		name  string
		at    int
		value uint64
		field string // "" where nothing is wrong
	}{
		{"as it was", addr, testText, ""},
		{"another address than the loader's", addr, testText + 16, "sh_addr"},
		{"no address", addr, 0, "sh_addr"},
		{"contents that lie elsewhere", offset, 124, "sh_addr"},
		{"contents behind the file's end", offset, 1 << 20, "sh_size"},
		{"contents that run past the file's end", size, 1 << 40, "sh_size"},
		{"not loaded, so that the address does not count", flags, 0, ""},
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, tt := range tests {
			data := testELF(order, nil)
			const second = 64 // header of .text, behind an empty one
			order.PutUint64(data[order.Uint64(data[40:])+second+uint64(tt.at):], tt.value)
			f := openBytes(t, data)
			var bad *SectionError
			for _, p := range f.Problems() {
				if !errors.As(p, &bad) {
					t.Errorf("%s: %v", tt.name, p)
				}
			}
			switch {
			case tt.field == "" && bad != nil:
				t.Errorf("%s: %v", tt.name, bad)
			case tt.field != "" && (bad == nil || bad.Field != tt.field || bad.Path != "/known/image" || bad.Section != ".text" || bad.Index != 1):
				t.Errorf("%s: %v, want a problem with %s", tt.name, bad, tt.field)
			}
			if _, ok := f.Section(".text"); ok != (tt.field == "") {
				t.Errorf("%s: the section is given: %t", tt.name, ok)
			}
			loaded := tt.field == "" && tt.at != flags
			if c, ok := f.Section("section-type:1"); ok != loaded || ok && c.Vaddr != testText { // SHT_PROGBITS
				t.Errorf("%s: by its type the section is given: %t", tt.name, ok)
			}
			for _, kind := range []string{"section-type:0x6ffffff4", "section-type:x", "section-type:"} {
				if _, ok := f.Section(kind); ok {
					t.Errorf("%s: there is a section %s", tt.name, kind)
				}
			}
		}
	}
}

// TestCompressedLoaded: a section that the loader maps cannot be compressed.
func TestCompressedLoaded(t *testing.T) {
	data := testELF(binary.LittleEndian, nil)
	header := data[binary.LittleEndian.Uint64(data[40:])+64:]
	binary.LittleEndian.PutUint64(header[8:], uint64(elf.SHF_ALLOC|elf.SHF_COMPRESSED))
	text := data[binary.LittleEndian.Uint64(header[24:]):]
	compression, _ := binary.Append(nil, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: 1 << 29})
	copy(text, compression)
	f := openBytes(t, data)
	var bad *SectionError
	if p := f.Problems(); len(p) != 1 || !errors.As(p[0], &bad) || bad.Field != "sh_flags" {
		t.Errorf("problems %v", p)
	}
	if _, ok := f.Section(".text"); ok {
		t.Error("the section is given")
	}
}
