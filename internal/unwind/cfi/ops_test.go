package cfi_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/unwind"
)

const (
	code  = 0x40_0000
	table = 0x50_0000
	size  = 0x1000
)

var opening = []byte{0x0c, 7, 8, 0x90, 1} // cfa=rsp+8; ra=[cfa-8]

func cat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// section makes .eh_frame of one FDE with the given instructions.
func section(arch unwind.Arch, program []byte) cfi.Section {
	b := cfitest.Builder{Addr: table}
	c := cfitest.CIE{Aug: "zR", AugData: []byte{0x04}, RA: 16, Code: opening}
	if arch == unwind.ARM64 {
		c.RA, c.Code = 30, []byte{0x0c, 31, 0}
	}
	b.FDE(b.CIE(c), b.Quad(code), b.Quad(size), []byte{0}, program)
	b.End()
	return b.Section()
}

func rowAt(t *testing.T, table *cfi.Table, addr uint64) *cfi.Row {
	t.Helper()
	f, ok := table.Find(addr)
	if !ok {
		first, _ := table.Problems()
		t.Fatalf("no FDE for %#x: %v", addr, first)
	}
	row, err := table.Row(&f, addr)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// text writes all of a row's rules.
func text(row *cfi.Row) string {
	var b strings.Builder
	b.WriteString(row.String())
	for _, s := range equations(row).Saved {
		b.WriteString("; " + s.Register + "=" + s.Value)
	}
	return b.String()
}

// TestInstructions executes every instruction of call-frame programs. The
// wanted row is that of the function's last byte.
func TestInstructions(t *testing.T) {
	u32 := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	u64 := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	const base = "cfa=rsp+8; ra=[cfa-8]; fp=unchanged"
	tests := []struct {
		name    string
		arch    unwind.Arch
		program []byte
		want    string
		start   uint64 // of the row, relative to the code
	}{
		{"nop", unwind.AMD64, []byte{0, 0, 0}, base, 0},
		{"advance_loc", unwind.AMD64, []byte{0x43, 0x0e, 16}, "cfa=rsp+16; ra=[cfa-8]; fp=unchanged", 3},
		{"advance_loc1", unwind.AMD64, []byte{0x02, 0x80, 0x0e, 16}, "cfa=rsp+16; ra=[cfa-8]; fp=unchanged", 0x80},
		{"advance_loc2", unwind.AMD64, []byte{0x03, 0x34, 0x02, 0x0e, 16}, "cfa=rsp+16; ra=[cfa-8]; fp=unchanged", 0x234},
		{"advance_loc4", unwind.AMD64, cat([]byte{0x04}, u32(0x123), []byte{0x0e, 16}), "cfa=rsp+16; ra=[cfa-8]; fp=unchanged", 0x123},
		{"advance_loc8", unwind.AMD64, cat([]byte{0x1d}, u64(0x123), []byte{0x0e, 16}), "cfa=rsp+16; ra=[cfa-8]; fp=unchanged", 0x123},
		{"advance to the end", unwind.AMD64, cat([]byte{0x04}, u32(size), []byte{0x0e, 16}), base, 0},
		{"advance beyond the end", unwind.AMD64, cat([]byte{0x0e, 24, 0x04}, u32(2*size), []byte{0x0e, 16}), "cfa=rsp+24; ra=[cfa-8]; fp=unchanged", 0},
		{"set_loc", unwind.AMD64, cat([]byte{0x01}, u64(code+0x77), []byte{0x0e, 16}), "cfa=rsp+16; ra=[cfa-8]; fp=unchanged", 0x77},
		{"def_cfa", unwind.AMD64, []byte{0x0c, 6, 0x90, 0x01}, "cfa=rbp+144; ra=[cfa-8]; fp=unchanged", 0},
		{"def_cfa_sf", unwind.AMD64, []byte{0x12, 6, 0x7e}, "cfa=rbp+16; ra=[cfa-8]; fp=unchanged", 0},
		{"def_cfa_register", unwind.AMD64, []byte{0x0d, 3}, "cfa=rbx+8; ra=[cfa-8]; fp=unchanged", 0},
		{"def_cfa_offset", unwind.AMD64, []byte{0x0e, 0}, "cfa=rsp; ra=[cfa-8]; fp=unchanged", 0},
		{"def_cfa_offset_sf", unwind.AMD64, []byte{0x13, 0x7d}, "cfa=rsp+24; ra=[cfa-8]; fp=unchanged", 0},
		{"def_cfa_expression", unwind.AMD64, []byte{0x0f, 3, 0x76, 0x78, 0x06}, "cfa=expr:rbp-8,deref; ra=[cfa-8]; fp=unchanged", 0},
		{"offset", unwind.AMD64, []byte{0x86, 2, 0x83, 3}, "cfa=rsp+8; ra=[cfa-8]; fp=[cfa-16]; rbx=[cfa-24]", 0},
		{"offset_extended", unwind.AMD64, []byte{0x05, 12, 4}, base + "; r12=[cfa-32]", 0},
		{"offset_extended_sf", unwind.AMD64, []byte{0x11, 12, 0x7f}, base + "; r12=[cfa+8]", 0},
		{"GNU_negative_offset_extended", unwind.AMD64, []byte{0x2f, 12, 4}, base + "; r12=[cfa+32]", 0},
		{"val_offset", unwind.AMD64, []byte{0x14, 12, 4}, base + "; r12=cfa-32", 0},
		{"val_offset_sf", unwind.AMD64, []byte{0x15, 12, 0x7f}, base + "; r12=cfa+8", 0},
		{"register", unwind.AMD64, []byte{0x09, 16, 1}, "cfa=rsp+8; ra=rdx; fp=unchanged", 0},
		{"register that is not kept", unwind.AMD64, []byte{0x09, 3, 60}, base + "; rbx=undefined", 0},
		{"undefined", unwind.AMD64, []byte{0x07, 16, 0x07, 3}, "cfa=rsp+8; ra=undefined; fp=unchanged; rbx=undefined", 0},
		{"same_value", unwind.AMD64, []byte{0x86, 2, 0x08, 6}, base, 0},
		{"expression", unwind.AMD64, []byte{0x10, 6, 2, 0x77, 16}, "cfa=rsp+8; ra=[cfa-8]; fp=[expr:rsp+16]", 0},
		{"val_expression", unwind.AMD64, []byte{0x16, 6, 2, 0x77, 16}, "cfa=rsp+8; ra=[cfa-8]; fp=expr:rsp+16", 0},
		{"restore", unwind.AMD64, []byte{0x90, 5, 0x86, 2, 0xd0, 0xc6}, base, 0},
		{"restore_extended", unwind.AMD64, []byte{0x90, 5, 0x86, 2, 0x06, 16, 0x06, 6}, base, 0},
		{"remember_state, restore_state", unwind.AMD64, []byte{0x0e, 16, 0x86, 2, 0x0a, 0x0e, 99, 0xc6, 0x90, 7, 0x0a, 0x0c, 1, 1, 0x0b, 0x0b},
			"cfa=rsp+16; ra=[cfa-8]; fp=[cfa-16]", 0},
		{"GNU_args_size", unwind.AMD64, []byte{0x2e, 0x90, 0x01}, base, 0},
		{"vector register", unwind.AMD64, []byte{0x05, 20, 4, 0x05, 60, 4}, base + "; reg20=[cfa-32]", 0},
		{"offset, arm64", unwind.ARM64, []byte{0x0e, 32, 0x9d, 4, 0x9e, 3, 0x05, 72, 2}, "cfa=sp+32; ra=[cfa-24]; fp=[cfa-32]; d8=[cfa-16]", 0},
		{"link register", unwind.ARM64, nil, "cfa=sp; ra=x30; fp=unchanged", 0},
		{"negate_ra_state", unwind.ARM64, []byte{0x2d}, "cfa=sp; ra=x30; fp=unchanged", 0},
		{"negate_ra_state_with_pc", unwind.ARM64, []byte{0x2c}, "cfa=sp; ra=x30; fp=unchanged", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			row := rowAt(t, cfi.New(section(tt.arch, tt.program), cfi.Options{Arch: tt.arch}), code+size-1)
			if got := text(row); got != tt.want {
				t.Errorf("row %s\nwant %s", got, tt.want)
			}
			if row.Start != code+tt.start || row.End != code+size {
				t.Errorf("row for [%#x, %#x), want [%#x, %#x)", row.Start, row.End, code+tt.start, code+size)
			}
			if strings.HasPrefix(tt.name, "negate") != row.Mangled {
				t.Errorf("mangled %v", row.Mangled)
			}
		})
	}
}

// TestRefused: what cannot be is an error with the section and the offset of
// the instruction, and the FDE is left out.
func TestRefused(t *testing.T) {
	tests := []struct {
		name    string
		program []byte
		want    string
	}{
		{"unknown instruction", []byte{0x3f}, "instruction 0x3f: it is not known"},
		{"Arm's on amd64", []byte{0x2d}, "not known on this architecture"},
		{"restore_state without remember_state", []byte{0x0b}, "no state is remembered"},
		{"remember_state 65 times", bytes.Repeat([]byte{0x0a}, 65), "too many states"},
		{"cut off", []byte{0x0e, 16, 0x0c, 7, 0x80}, "cut off"},
		{"expression beyond the FDE", []byte{0x0e, 16, 0x0f, 60, 0x77, 0}, "cut off"},
		{"CFA offset after an expression", []byte{0x0f, 2, 0x77, 0, 0x0e, 8, 0, 0}, "not a register and an offset"},
		{"CFA register after an expression", []byte{0x0f, 2, 0x77, 0, 0x0d, 7, 0, 0}, "not a register and an offset"},
		{"CFA in an unknown register", []byte{0x0c, 60, 8, 0}, "the CFA's register is not known"},
		{"location goes back", cat([]byte{0x44, 0x01}, binary.LittleEndian.AppendUint64(nil, code+1)), "goes back"},
		{"location goes around", cat([]byte{0x44, 0x1d}, binary.LittleEndian.AppendUint64(nil, ^uint64(0))), "beyond the address space"},
		{"LEB128 of 70 bits", append([]byte{0x0e}, append(bytes.Repeat([]byte{0xff}, 9), 0x7f)...), "cut off"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// Padding must not complete what is cut off.
			program := tt.program
			for (4+8+8+1+len(program))%8 != 0 && !strings.Contains(tt.want, "cut off") {
				program = append(program, 0)
			}
			if strings.Contains(tt.want, "cut off") {
				for (4+4+8+8+1+len(program))%8 != 0 {
					program = append([]byte{0}, program...)
				}
			}
			table := cfi.New(section(unwind.AMD64, program), cfi.Options{Arch: unwind.AMD64})
			if f, ok := table.Find(code); ok {
				t.Errorf("FDE %+v is used", f)
			}
			first, n := table.Problems()
			if n != 1 || !strings.Contains(first[0].Error(), tt.want) || !strings.HasPrefix(first[0].Error(), ".eh_frame+0x") {
				t.Errorf("%d problems %v, want %q", n, first, tt.want)
			}
			if n := table.Ranges().Size(); n != 0 {
				t.Errorf("covers %d bytes", n)
			}
		})
	}
}
