package sframe_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/sframe"
	"github.com/clewdbg/clew/unwind"
)

// good is a table with two functions at funcAddr and funcAddr+0x40.
func good(version uint8) *sframetest.Builder {
	return sframetest.For(version, unwind.AMD64, sectionAddr).
		Add(sframetest.Func{Start: funcAddr, Size: 0x20, Count: 2, Rows: "00 03 08 | 01 05 10 f0"}).
		Add(sframetest.Func{Start: funcAddr + 0x40, Size: 0x20, Count: 1, Rows: "00 03 08"})
}

func read(data []byte, opts sframe.Options) *sframe.Table {
	return sframe.New(sframe.Section{Name: ".sframe", Addr: sectionAddr, Data: data}, opts)
}

// TestBadInput damages a table: the error names the field and its offset, what
// is not damaged stays usable.
func TestBadInput(t *testing.T) {
	put32 := func(at int, v uint32) func([]byte) []byte {
		return func(p []byte) []byte { binary.LittleEndian.PutUint32(p[at:], v); return p }
	}
	put := func(at int, v ...byte) func([]byte) []byte {
		return func(p []byte) []byte { copy(p[at:], v); return p }
	}
	const second = 28 + 20 // of version 2
	tests := []struct {
		name    string
		version uint8
		damage  func([]byte) []byte
		field   string
		offset  uint64
		reason  string
		left    int // functions
	}{
		{"magic", 2, put(0, 0x7f), "sfp_magic", 0, "no SFrame table", 0},
		{"cut off in the header", 2, func(p []byte) []byte { return p[:20] }, "sframe_header", 0, "20 of 28 bytes", 0},
		{"version", 2, put(2, 4), "sfp_version", 2, "version 4 is not known", 0},
		{"version 0", 2, put(2, 0), "sfp_version", 2, "version 0 is not known", 0},
		{"flags", 2, put(3, 0x11), "sfp_flags", 3, "0x10 are not known in version 2", 0},
		{"flags of version 2 in version 1", 1, put(3, 4), "sfp_flags", 3, "0x4 are not known in version 1", 0},
		{"flags of version 2 in version 3", 3, put(3, 2), "sfp_flags", 3, "0x2 are not known in version 3", 0},
		{"ABI", 2, put(4, 9), "sfh_abi_arch", 4, "ABI 9 is not known", 0},
		{"s390x in version 1", 1, put(4, 4), "sfh_abi_arch", 4, "ABI 4 is not known in version 1", 0},
		{"ABI of another byte order", 2, put(4, 1), "sfh_abi_arch", 4, "another byte order", 0},
		{"ABI of another program", 2, put(4, 2), "sfh_abi_arch", 4, "for arm64, the program for amd64", 0},
		{"place of return addresses", 2, put(6, 0xf0), "sfh_cfa_fixed_ra_offset", 6, "return addresses on amd64 are not at CFA-16", 0},
		{"no place of return addresses", 3, put(6, 0), "sfh_cfa_fixed_ra_offset", 6, "not at CFA+0", 0},
		{"auxiliary header", 2, func(p []byte) []byte { p = p[:28]; p[7] = 200; return p }, "sfh_auxhdr_len", 7, "200 bytes run past", 0},
		{"functions' offset", 2, put32(20, 1000), "sfh_fdeoff", 20, "0x3e8 lie behind rows", 0},
		{"rows' offset", 2, put32(24, 0xffff_fff0), "sfh_freoff", 24, "behind the section's end", 0},
		{"rows' length", 2, put32(16, 0xffff_ffff), "sfh_fre_len", 16, "run past the section's end", 0},
		{"cut off in the rows", 2, func(p []byte) []byte { return p[:len(p)-1] }, "sfh_fre_len", 16, "past the section's end by 1", 0},
		{"number of functions", 2, put32(8, 0x1000_0001), "sfh_num_fdes", 8, "268435457 functions do not fit in 40 bytes", 0},
		{"one function too many", 2, put32(8, 3), "sfh_num_fdes", 8, "3 functions do not fit", 0},
		{"number of rows", 2, put32(12, 0xffff_ffff), "sfh_num_fres", 12, "4294967295 rows do not fit", 0},
		{"fewer rows than functions have", 2, put32(12, 2), "sfh_num_fres", 12, "there are 2 rows, functions have 3", 0},
		{"more rows than functions have", 2, put32(12, 4), "sfh_num_fres", 12, "functions have only 3", 2},
		{"rows of a function", 2, put32(28+8, 99), "sfde_func_start_fre_off", 28 + 8, "0x63 lies behind the rows' end", 1},
		{"rows of a function, version 3", 3, put32(28+12, 99), "sfdi_func_start_fre_off", 28 + 12, "0x63 lies behind the rows' end", 1},
		{"start and size at the end of the address space", 3, put(28, 0, 0, 0, 0, 0, 0, 0, 0x80), "sfdi_func_start_offset", 28, "is no address", 1},
		{"type of rows", 2, put(28+16, 3), "sfde_func_info", 28 + 16, "rows of type 3 are not known", 1},
		{"unused bits", 2, put(28+16, 0x80), "sfde_func_info", 28 + 16, "bits 0x80 are not known in version 2", 1},
		{"type of function", 3, put(28+32+3, 2), "sfda_func_info2", 28 + 32 + 3, "functions of type 2 are not known", 1},
		{"unused bits, version 3", 3, put(28+32+3, 0x20), "sfda_func_info2", 28 + 32 + 3, "bits 0x20 are not known", 1},
		{"repeat size 0", 2, put(28+16, 0x10), "sfde_func_rep_size", 28 + 17, "repeated code has no size", 1},
		{"repeat size 0, version 3", 3, put(28+32+2, 0x10), "sfda_func_rep_size", 28 + 32 + 4, "repeated code has no size", 1},
		{"functions overlap", 2, put32(second, (funcAddr+0x1f-sectionAddr)&0xffff_ffff), "sfde_func_start_address", second, "overlaps [0x1020, 0x1040): 2 functions here are not used", 0},
		{"size of words", 2, put(28+40+1, 0x63), "sframe_frame_row_entry", 28 + 40, "row 0 of the function at 0x1020: the size of its words", 1},
		{"words past the end", 2, put(28+40+7+1, 0x1f), "sframe_frame_row_entry", 28 + 40 + 7, "its words run past the rows' end", 1},
		{"rows do not ascend", 2, put(28+40+3, 0), "sframe_frame_row_entry", 28 + 40 + 3, "row 1 of the function at 0x1020: it starts at 0x0, not behind", 1},
		{"the first row behind its function", 2, put(28+40+7, 0x20), "sframe_frame_row_entry", 28 + 40 + 7, "first row of the function at 0x1060 starts at 0x20, behind the code's end, 0x20", 1},
		{"a row behind its function", 2, put(28+40+3, 0x21), "sframe_frame_row_entry", 28 + 40 + 3, "it starts at 0x21, behind the code's end, 0x20", 1},
		{"a signed address on amd64", 2, put(28+40+1, 0x83), "sframe_frame_row_entry", 28 + 40, "it says that the return address is signed", 1},
		{"no rule in version 1", 1, put(28+34+1, 0), "sframe_frame_row_entry", 28 + 34, "no rule for the CFA", 1},
		{"zeros and then something", 2, func(p []byte) []byte { return append(p, 0, 0, 0, 7) }, "sfp_magic", 28 + 40 + 10 + 3, "no SFrame table", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tab := read(tt.damage(good(tt.version).Bytes()), sframe.Options{Arch: unwind.AMD64})
			first, n := tab.Problems()
			if n != 1 || first[0].Field != tt.field || first[0].Offset != tt.offset || !strings.Contains(first[0].Reason, tt.reason) {
				t.Errorf("%d problems %v, want %s at %#x: %s", n, first, tt.field, tt.offset, tt.reason)
			}
			if tab.Len() != tt.left {
				t.Errorf("%d functions are left, want %d", tab.Len(), tt.left)
			}
			lookupAgrees(t, tab)
		})
	}
}

// TestBadRules has rules that no assembler writes: the function is left out.
func TestBadRules(t *testing.T) {
	tests := []struct {
		arch   unwind.Arch
		rows   string
		flex   bool
		reason string
	}{
		{unwind.AMD64, "00 07 08 f0 f0", false, "more words than registers"},
		{unwind.ARM64, "00 09 20 e8 e0 00", false, "more words than registers"},
		{unwind.AMD64, "00 02 39", true, "no whole rule for the CFA"},
		{unwind.AMD64, "00 04 02 08", true, "rests on the CFA"},
		{unwind.AMD64, "00 04 3d 08", true, "control word is not known"},
		{unwind.AMD64, "00 06 39 08 09", true, "the return address has no offset"},
		{unwind.AMD64, "00 08 39 08 00 33", true, "the frame pointer has no offset"},
		{unwind.AMD64, "00 0e 39 08 00 33 00 00 00", true, "more words than rules"},
		{unwind.AMD64, "00 08 39 08 0a 00", true, "control word is not known"},
		{unwind.AMD64, "00 44 01000040 00000000", true, "control word is not known"},
		{unwind.S390X, "00 04 7b 00", true, "no meaning on s390x"},
		{unwind.S390X, "00 43 7fffffff", false, "more than 2 GiB"},
		{unwind.S390X, "00 44 00000079 80000000", true, "more than 2 GiB"},
		{unwind.S390X, "00 07 00 21 ff", false, "register's number"},
		{unwind.S390X, "00 25 0000 0101", false, "register's number"},
	}
	for _, tt := range tests {
		f := sframetest.Func{Start: funcAddr, Size: 16, Count: 1, Rows: tt.rows}
		if tt.flex {
			f.Info2 = sframetest.Flexible
		}
		tab := read(sframetest.For(3, tt.arch, sectionAddr).Add(f).Bytes(), sframe.Options{})
		if first, n := tab.Problems(); n != 1 || !strings.Contains(first[0].Reason, tt.reason) || tab.Len() != 0 {
			t.Errorf("%v %s: %v, want %q", tt.arch, tt.rows, first, tt.reason)
		}
	}
}

// TestBadStart: where an architecture can have no instruction no function starts.
func TestBadStart(t *testing.T) {
	for _, tt := range []struct {
		arch  unwind.Arch
		align uint64
	}{{unwind.AMD64, 1}, {unwind.S390X, 2}, {unwind.ARM64, 4}} {
		for off := range uint64(4) {
			f := sframetest.Func{Start: funcAddr + off, Size: 16, Count: 1, Rows: "00 05 10 f0"}
			if tt.arch == unwind.AMD64 {
				f.Rows = "00 03 10"
			}
			tab := read(sframetest.For(3, tt.arch, sectionAddr).Add(f).Bytes(), sframe.Options{})
			first, n := tab.Problems()
			if good := off%tt.align == 0; good != (tab.Len() == 1) || good != (n == 0) || n == 1 && !strings.Contains(first[0].Reason, "no instruction") {
				t.Errorf("%v, %#x: %d functions, %v", tt.arch, f.Start, tab.Len(), first)
			}
		}
	}
}

// TestContainer: what sections hold besides one table.
func TestContainer(t *testing.T) {
	problems := func(tab *sframe.Table) string {
		var all []string
		first, _ := tab.Problems()
		for _, p := range first {
			all = append(all, p.Error())
		}
		return strings.Join(all, "; ")
	}
	wants := func(name string, tab *sframe.Table, functions int, problem string) {
		t.Helper()
		if got := problems(tab); tab.Len() != functions || (problem == "") != (got == "") || !strings.Contains(got, problem) {
			t.Errorf("%s: %d functions, problems %q; want %d, %q", name, tab.Len(), got, functions, problem)
		}
		lookupAgrees(t, tab)
	}
	wants("no bytes", read(nil, sframe.Options{}), 0, "")
	wants("zeros", read(make([]byte, 64), sframe.Options{}), 0, "")
	wants("zeros behind", read(append(good(3).Bytes(), make([]byte, 34)...), sframe.Options{}), 2, "")
	wants("anything behind what has no end", read(append(good(3).Bytes(), "\x00\x00code"...), sframe.Options{OpenEnded: true}), 2, "")

	// Two tables in a row, as linkers leave them that do not merge.
	concatenated := func(version, flags uint8) []byte {
		b := good(version)
		b.Flags = flags
		all := b.Bytes()
		for len(all)%8 != 0 {
			all = append(all, 0)
		}
		next := sframetest.For(version, unwind.AMD64, sectionAddr+uint64(len(all))).
			Add(sframetest.Func{Start: 0x2000, Size: 8, Count: 1, Rows: "00 03 08"})
		next.Flags = flags
		return append(all, next.Bytes()...)
	}
	wants("two tables", read(concatenated(3, 4), sframe.Options{}), 3, "")
	wants("two tables of version 2 errata 1", read(concatenated(2, 4), sframe.Options{}), 3, "")
	wants("two tables, starts relative to what is not known", read(concatenated(2, 0), sframe.Options{}), 0,
		".sframe+0x3: sfp_flags: one of several tables in a row does not say what its functions' starts are relative to")

	// Functions in any order, whatever the flag says, where they can be no others.
	for _, flags := range []uint8{0, 1} {
		b := sframetest.For(2, unwind.AMD64, sectionAddr)
		b.Flags = flags
		var opts sframe.Options
		for _, start := range []uint64{0x3000, 0x1000, 0x2000} {
			b.Add(sframetest.Func{Start: start, Size: 0x20, Count: 1, Rows: "00 03 08"})
			opts.Code = append(opts.Code, unwind.Range{Start: start, End: start + 0x20})
		}
		opts.Code = unwind.NewRangeSet(opts.Code...)
		tab := read(b.Bytes(), opts)
		wants("not sorted", tab, 3, "")
		for _, at := range []uint64{0x1000, 0x201f, 0x3008} {
			if _, answer := tab.Lookup(at); answer != sframe.Found {
				t.Errorf("%#x: %v", at, answer)
			}
		}
	}

	// Functions that are one: folded by the linker.
	folded := good(3).Add(sframetest.Func{Start: funcAddr + 0x40, Size: 0x20, Count: 1, Rows: "00 03 08"})
	wants("folded", read(folded.Bytes(), sframe.Options{}), 2, "")
	folded.Add(sframetest.Func{Start: funcAddr, Size: 0x20, Count: 1, Rows: "00 03 10"})
	wants("the same code, other rows", read(folded.Bytes(), sframe.Options{}), 1, "overlaps")

	// Functions of another program's code, and one whose code was dropped.
	code := sframe.Options{Code: unwind.NewRangeSet(unwind.Range{Start: 0x1000, End: 0x1050})}
	wants("outside the code", read(good(3).Bytes(), code), 1, "[0x1060, 0x1080) lies outside the program's code")
	dropped := good(3).Add(sframetest.Func{Start: 0, Size: 0, Count: 1, Rows: "00 03 08"})
	wants("dropped", read(dropped.Bytes(), sframe.Options{}), 2, "")
	wants("past the address space", sframe.New(sframe.Section{Name: ".sframe", Addr: ^uint64(9), Data: good(3).Bytes()}, sframe.Options{}), 0, "past the address space")
}

// TestObjectFileForm: binutils up to 2.44 has starts in object files relative to
// their fields without saying so; a linker that does not know SFrame leaves them.
func TestObjectFileForm(t *testing.T) {
	b := sframetest.For(2, unwind.AMD64, sectionAddr)
	b.Flags = sframe.FlagPCRelative
	for i := range uint64(4) {
		b.Add(sframetest.Func{Start: funcAddr + 0x30*i, Size: 0x2c, Count: 1, Rows: "00 03 08"})
	}
	data := b.Bytes()
	if tab := read(data, sframe.Options{}); tab.Len() != 4 {
		t.Fatalf("%d functions", tab.Len())
	}
	data[3] = 0
	for _, opts := range []sframe.Options{{}, {Code: unwind.NewRangeSet(unwind.Range{Start: funcAddr, End: funcAddr + 0xc0})}} {
		tab := read(data, opts)
		if first, n := tab.Problems(); n != 1 || !strings.Contains(first[0].Reason, "as in object files") || tab.Len() != 0 {
			t.Errorf("%d functions, %v", tab.Len(), first)
		}
	}
	// One function alone makes sense either way, and functions whose code the linker
	// dropped make none either way.
	for _, dropped := range []bool{false, true} {
		one := sframetest.For(2, unwind.AMD64, sectionAddr).Add(sframetest.Func{Start: funcAddr, Size: 0x2c, Count: 1, Rows: "00 03 08"})
		one.Flags = sframe.FlagPCRelative
		if dropped {
			one.Add(sframetest.Func{Start: 0, Size: 0x2c, Count: 1, Rows: "00 03 08"})
		}
		data := one.Bytes()
		data[3] = 0
		tab := read(data, sframe.Options{Code: unwind.NewRangeSet(unwind.Range{Start: funcAddr - 0x100, End: funcAddr + 0xc0})})
		first, n := tab.Problems()
		if n != 1 || first[0].Field != "sfp_flags" || first[0].Offset != 3 || !strings.Contains(first[0].Reason, "nothing tells") || tab.Len() != 0 {
			t.Errorf("one function, with one dropped %t: %d functions, %v", dropped, tab.Len(), first)
		}
	}
}

// TestPLTGot: the linker's rule for .plt.got is wrong by a word. It is put right
// where the code shows it, and not used where the code is not known.
func TestPLTGot(t *testing.T) {
	for _, tt := range []struct {
		block, info uint8
		rows        string
	}{
		{8, 0, "00 03 10"}, {16, 0, "00 03 10"},
		{8, sframetest.Addr2, "0000 03 10"}, {16, sframetest.Addr4, "00000000 03 10"}, // of a section of 256 bytes and more
	} {
		block := tt.block
		b := sframetest.For(3, unwind.AMD64, sectionAddr).
			Add(sframetest.Func{Start: funcAddr, Size: 2 * uint32(block), Count: 1, Rows: tt.rows, Info: sframetest.Mask | tt.info, Block: block})
		entry := append(sframetest.Hex("ff 25 01 02 03 04"), 0x66, 0x90)
		if block == 16 {
			entry = append(sframetest.Hex("f3 0f 1e fa f2 ff 25 01 02 03 04"), make([]byte, 5)...)
		}
		plt := sframe.Section{Name: sframe.SectionPLTGot, Addr: funcAddr, Data: append(bytes.Clone(entry), entry...)}
		tab := read(b.Bytes(), sframe.Options{PLTGot: plt})
		row, answer := tab.Lookup(funcAddr + uint64(block) + 1)
		if answer != sframe.Found || row.String() != "cfa=rsp+8; ra=[cfa-8]; fp=unchanged" || !row.Corrected {
			t.Errorf("block %d: %v %v", block, answer, row.String())
		}
		other := plt
		other.Data = append([]byte{0x50}, plt.Data[1:]...) // push %rax: then the rule may be right
		short := plt
		short.Data = plt.Data[:block]
		elsewhere := plt
		elsewhere.Addr -= 0x1000
		for name, opts := range map[string]sframe.Options{"nothing known": {}, "other code": {PLTGot: other},
			"a shorter section": {PLTGot: short}, "elsewhere": {PLTGot: elsewhere}} {
			tab := read(b.Bytes(), opts)
			if _, answer := tab.Lookup(funcAddr); answer != sframe.Hole {
				t.Errorf("block %d, %s: %v", block, name, answer)
			}
			if first, n := tab.Problems(); n != 1 || !strings.Contains(first[0].Reason, ".plt.got") {
				t.Errorf("block %d, %s: %v", block, name, first)
			}
		}
	}
}

// TestPLT: version 1 has the same rules for every linkage table, and they are used
// where the code is what they are for.
func TestPLT(t *testing.T) {
	const rows0, rows = "00 03 10 | 06 03 18", "00 03 08 | 0b 03 10"
	for _, tt := range []struct {
		name string
		f    sframetest.Func
		plt  []sframe.Section
		used bool
	}{
		{"the first entry", sframetest.Func{Size: 16, Rows: rows0}, linkage(entryPLT0), true},
		{"entries", sframetest.Func{Size: 32, Rows: rows, Info: sframetest.Mask}, linkage(entryPLT, entryPLT), true},
		{"entries with endbr64, whose push ends earlier", sframetest.Func{Size: 32, Rows: rows, Info: sframetest.Mask}, linkage(entryPLTIBT, entryPLTIBT), false},
		{"another entry among them", sframetest.Func{Size: 32, Rows: rows, Info: sframetest.Mask}, linkage(entryPLT, entryPLTSec), false},
		{".plt.sec has no first entry of its own", sframetest.Func{Size: 16, Rows: rows0}, linkage(entryPLTSec), false},
		{"behind the linkage table", sframetest.Func{Size: 32, Rows: rows, Info: sframetest.Mask}, append(linkage(entryPLT), sframe.Section{Name: sframe.SectionPLTSec, Addr: funcAddr + 16, Data: make([]byte, 8)}), false},
		{"its code is not known", sframetest.Func{Size: 32, Rows: rows, Info: sframetest.Mask}, nil, false},
		{"code of the first entry only is known", sframetest.Func{Size: 32, Rows: rows, Info: sframetest.Mask}, linkage(entryPLT), false},
		{"a function that is no linkage table", sframetest.Func{Size: 24, Rows: rows0}, nil, true},
	} {
		tt.f.Start, tt.f.Count = funcAddr, 2
		tab := read(sframetest.For(1, unwind.AMD64, sectionAddr).Add(tt.f).Bytes(), sframe.Options{PLT: tt.plt})
		first, n := tab.Problems()
		if (tab.Len() == 1) != tt.used || (n == 0) != tt.used || n > 0 && !strings.Contains(first[0].Reason, "linkage table") {
			t.Errorf("%s: %d functions, %v", tt.name, tab.Len(), first)
		}
		// Later versions describe what there is.
		tt.f.Block = 16
		if later := read(sframetest.For(3, unwind.AMD64, sectionAddr).Add(tt.f).Bytes(), sframe.Options{}); later.Len() != 1 {
			t.Errorf("%s: refused in version 3", tt.name)
		}
	}
}

// TestOpenRefuses: what is in no file, or has no addresses yet.
func TestOpenRefuses(t *testing.T) {
	if _, err := sframetest.Open(&elf.File{FileHeader: elf.FileHeader{Type: elf.ET_REL, Machine: elf.EM_X86_64}}, 0); !errors.Is(err, sframetest.ErrRelocatable) {
		t.Errorf("an object file: %v", err)
	}
	if _, err := sframetest.Open(&elf.File{FileHeader: elf.FileHeader{Type: elf.ET_DYN, Machine: elf.EM_X86_64}}, 0); !errors.Is(err, sframetest.ErrNone) {
		t.Errorf("a file without sections: %v", err)
	}
	if _, err := sframetest.Open(&elf.File{FileHeader: elf.FileHeader{Type: elf.ET_DYN, Machine: elf.EM_RISCV}}, 0); err == nil {
		t.Error("a file for RISC-V was opened")
	}
}
