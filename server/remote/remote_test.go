package remote

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/unwind"
)

// elfImage writes an image's header and program headers, in pages of its own.
func elfImage(t *testing.T, pages int, change func(h *elf.Header64, loads []elf.Prog64)) []byte {
	t.Helper()
	h := elf.Header64{Version: uint32(elf.EV_CURRENT), Phoff: 64, Phentsize: 56, Phnum: 2}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	loads := []elf.Prog64{
		{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R), Vaddr: 0x1000, Filesz: 0x1000, Memsz: 0x1000},
		{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: 0x1000, Vaddr: 0x2000, Filesz: 0x800, Memsz: 0x1800},
	}
	if change != nil {
		change(&h, loads)
	}
	var out bytes.Buffer
	for _, v := range []any{&h, loads} {
		if err := binary.Write(&out, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return append(out.Bytes(), make([]byte, pages*pageSize-out.Len())...)
}

// TestImageBefore: the image with code at an address is found by its header, over pages
// that cannot be read at once and past headers of other images.
func TestImageBefore(t *testing.T) {
	data := append(elfImage(t, 3, nil), elfImage(t, 1, func(h *elf.Header64, _ []elf.Prog64) { h.Phnum = 0 })...)
	memory := unwind.Windows{{Addr: 0x7000, Data: data}}
	for text, want := range map[uint64]uint64{0x8010: 0x7000, 0x97ff: 0x7000, 0xa010: 0, 0x5000: 0} {
		img, err := imageBefore(memory, "p", text)
		if (err == nil) != (want != 0) || err == nil && (img.base != want || img.bias != 0x6000 || img.path != "p") {
			t.Errorf("%#x: %+v, %v", text, img, err)
		}
	}
	if _, err := imageWithBias(memory, "p", 0x7000); err == nil || !strings.Contains(err.Error(), "with the bias 0x6000") {
		t.Errorf("another bias: %v", err)
	}
}

// TestImageAt: what a header claims is checked.
func TestImageAt(t *testing.T) {
	for want, change := range map[string]func(h *elf.Header64, loads []elf.Prog64){
		"":                        nil,
		"invalid ELF header":      func(h *elf.Header64, _ []elf.Prog64) { h.Ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB) },
		"invalid program headers": func(h *elf.Header64, _ []elf.Prog64) { h.Phnum = 129 },
		"cannot read":             func(h *elf.Header64, _ []elf.Prog64) { h.Phoff = 1 << 40 },
		"invalid segments":        func(_ *elf.Header64, loads []elf.Prog64) { loads[1].Vaddr = 0 },
		"p at 0x7000: invalid segments": func(_ *elf.Header64, loads []elf.Prog64) {
			loads[0].Off = 8
		},
		"at 0x7000: invalid segments": func(_ *elf.Header64, loads []elf.Prog64) { loads[1].Memsz = ^uint64(0) },
		"0x7000: invalid segments":    func(_ *elf.Header64, loads []elf.Prog64) { loads[1].Filesz = loads[1].Memsz + 1 },
	} {
		_, err := imageAt(unwind.Windows{{Addr: 0x7000, Data: elfImage(t, 1, change)}}, "p", 0x7000)
		if (err == nil) != (want == "") || err != nil && want != "cannot read" && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, path := range []string{"", "a\nb"} {
		if _, err := imageAt(unwind.Windows{}, path, 0x7000); err == nil || !strings.Contains(err.Error(), "invalid path") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestImageLines: a segment's pages are the file's, and the rest of it has no file.
func TestImageLines(t *testing.T) {
	img, err := imageAt(unwind.Windows{{Addr: 0x7000, Data: elfImage(t, 1, nil)}}, "/bin/p", 0x7000)
	if err != nil {
		t.Fatal(err)
	}
	text, end := img.lines(nil, 3, 0)
	want := "00007000-00008000 r--p 00000000 00:00 3 /bin/p\n00008000-00009000 r-xp 00001000 00:00 3 /bin/p\n00009000-0000a000 r-xp 00000000 00:00 0\n"
	if string(text) != want || end != 0xa000 {
		t.Errorf("%s, %#x", text, end)
	}
}

// TestRemoteClaims: offsets on the goroutine's stack count from its end, and the rows
// of inlined calls have the place of the frame after them.
func TestRemoteClaims(t *testing.T) {
	at := func(pc uint64, offset, fp int64) (f api.Stackframe) {
		f.PC, f.FrameOffset, f.FramePointerOffset = pc, offset, fp
		f.Function = &api.Function{Name_: "f"}
		return f
	}
	frames := []api.Stackframe{at(1, 0x9000, 0x8ff0), at(2, -0x80, -0x90), at(2, -0x80, -0x90), {Err: "truncated"}, at(3, -0x40, -0x50)}
	got := claims(unwind.AMD64, frames, unwind.KindInstruction, 0x2000)
	if len(got) != 4 || got[0].CFA != 0x9000 || got[1].CFA != 0x1f80 || !got[1].Inlined || got[2].Inlined || got[3].DelveFrame != 4 {
		t.Fatalf("%+v", got)
	}
	if fp, ok := got[1].Registers.FP(unwind.AMD64); !ok || fp != 0x1f70 {
		t.Errorf("%#x", fp)
	}
	if got[0].PC.Kind() != unwind.KindInstruction || got[1].PC.Kind() != unwind.KindReturn || got[0].Function != "f" {
		t.Errorf("%+v", got[:2])
	}
	if got := claims(unwind.AMD64, frames, unwind.KindReturn, 0); len(got) != 1 {
		t.Errorf("without a goroutine's stack: %+v", got)
	}
}
