package macho

import (
	"debug/macho"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// library is a Mach-O library that the loader has mapped.
type library struct {
	image   unwind.Image
	arch    unwind.Arch
	symbols map[string]uint64
	text    unwind.Section
}

// openLibrary reads a library as the host describes images to strategies.
func openLibrary(t testing.TB, path string, id unwind.ImageID, base uint64) library {
	t.Helper()
	f, err := macho.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lib := library{arch: map[macho.Cpu]unwind.Arch{macho.CpuAmd64: unwind.AMD64, macho.CpuArm64: unwind.ARM64}[f.Cpu],
		image: unwind.Image{ID: id, Path: path, Base: base}, symbols: map[string]uint64{}}
	add := func(name string, addr uint64, data []byte, err error) unwind.Section {
		if err != nil {
			t.Fatal(err)
		}
		s := unwind.Section{Name: name, Addr: addr, Data: data}
		lib.image.Sections = append(lib.image.Sections, s)
		return s
	}
	for _, s := range f.Sections {
		switch s.Name {
		case "__unwind_info", "__eh_frame", "__text", "__stubs", "__stub_helper":
			data, err := s.Data()
			added := add(s.Name, base+s.Addr, data, err)
			if s.Name == "__text" {
				lib.text = added
				lib.image.Executable = []unwind.Range{{Start: base + s.Addr, End: base + s.Addr + s.Size}}
			}
		}
	}
	const functionStarts = 0x26
	linkedit := f.Segment("__LINKEDIT")
	for _, load := range f.Loads {
		if raw := load.Raw(); f.ByteOrder.Uint32(raw) == functionStarts {
			data, err := linkedit.Data()
			off, size := uint64(f.ByteOrder.Uint32(raw[8:]))-linkedit.Offset, uint64(f.ByteOrder.Uint32(raw[12:]))
			add("command:0x26", 0, data[off:off+size], err)
		}
	}
	for _, s := range f.Symtab.Syms {
		if s.Sect != 0 {
			lib.symbols[s.Name] = base + s.Value
		}
	}
	return lib
}

// function names the code at an address.
func (l *library) function(addr uint64) (name string, start uint64) {
	for n, at := range l.symbols {
		if at <= addr && (at > start || at == start && n < name) {
			name, start = n, at
		}
	}
	return name, start
}
