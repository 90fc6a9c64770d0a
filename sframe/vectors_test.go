package sframe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/sframe"
	"github.com/clewdbg/clew/unwind"
)

const (
	sectionAddr = 0x131c0
	funcAddr    = 0x1020
)

// Code of linkage tables.
const (
	entryPLT0   = "ff 35 00000000 ff 25 00000000 0f1f4000"
	entryPLT    = "ff 25 00000000 68 00000000 e9 00000000"
	entryPLTIBT = "f3 0f 1e fa 68 00000000 e9 00000000 6690"
	entryPLTSec = "f3 0f 1e fa ff 25 00000000 660f1f440000"
)

// linkage is the section .plt at funcAddr.
func linkage(entries ...string) []sframe.Section {
	return []sframe.Section{{Name: sframe.SectionPLT, Addr: funcAddr, Data: sframetest.Hex(strings.Join(entries, ""))}}
}

// table reads a section of one table without problems.
func table(t testing.TB, b *sframetest.Builder) *sframe.Table {
	t.Helper()
	tab := sframe.New(sframe.Section{Name: ".sframe", Addr: b.Addr, Data: b.Bytes()}, sframe.Options{Arch: b.Arch, PLT: linkage(entryPLT, entryPLT)})
	if first, n := tab.Problems(); n > 0 {
		t.Fatalf("%d problems: %v", n, first)
	}
	return tab
}

// rowsText writes a function's rows.
func rowsText(tab *sframe.Table, addr uint64) string {
	f, _ := tab.Find(addr)
	var lines []string
	for row, answer := range tab.Rows(f) {
		text := fmt.Sprintf("%x-%x %v", row.Start-f.Start, row.End-f.Start, answer)
		if answer != sframe.SignalWithoutRule {
			text += " " + row.String()
		}
		for _, f := range []struct {
			set  bool
			name string
		}{
			{row.RA.Kind == sframe.Undefined, "outermost"}, {row.Signal, "signal"}, {row.Mangled, "mangled"}, {row.TopOnly, "top-frame-only"},
		} {
			if f.set {
				text += " " + f.name
			}
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// TestVectors decodes rows that assemblers wrote, byte by byte.
func TestVectors(t *testing.T) {
	tests := []struct {
		name    string
		version uint8
		arch    unwind.Arch
		f       sframetest.Func
		want    string
	}{
		{"first entry of a PLT: not repeated, whatever the block's size", 3, unwind.AMD64,
			sframetest.Func{Size: 16, Count: 2, Rows: "00 03 10 | 06 03 18", Block: 16},
			"0-6 rule cfa=rsp+16; ra=[cfa-8]; fp=unchanged\n6-10 rule cfa=rsp+24; ra=[cfa-8]; fp=unchanged"},
		{"entries of a PLT", 3, unwind.AMD64,
			sframetest.Func{Size: 40, Count: 2, Rows: "00 03 08 | 0b 03 10", Info: sframetest.Mask, Block: 16},
			"0-b rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged\nb-10 rule cfa=rsp+16; ra=[cfa-8]; fp=unchanged\n" +
				"10-1b rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged\n1b-20 rule cfa=rsp+16; ra=[cfa-8]; fp=unchanged\n" +
				"20-28 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged"},
		{"entries of a PLT, whose size version 1 does not say", 1, unwind.AMD64,
			sframetest.Func{Size: 32, Count: 2, Rows: "00 03 08 | 0b 03 10", Info: sframetest.Mask},
			"0-b rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged\nb-10 rule cfa=rsp+16; ra=[cfa-8]; fp=unchanged\n" +
				"10-1b rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged\n1b-20 rule cfa=rsp+16; ra=[cfa-8]; fp=unchanged"},
		{"the return address in rdx", 3, unwind.AMD64,
			sframetest.Func{Size: 4, Count: 3, Rows: "00 04 39 08 | 01 08 39 00 09 00 | 03 04 39 08", Info2: sframetest.Flexible},
			"0-1 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged\n1-3 top frame only cfa=rsp; ra=rdx; fp=unchanged top-frame-only\n" +
				"3-4 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged"},
		{"gcc's realigned stack", 3, unwind.AMD64,
			sframetest.Func{Size: 0x72, Count: 7, Info2: sframetest.Flexible,
				Rows: "00 04 39 08 | 05 04 51 00 | 21 0a 51 00 00 33 00 | 23 0a 33 f8 00 33 00 | 62 0a 51 00 00 33 00 | 63 04 51 00 | 6d 04 39 08"},
			"0-5 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged\n5-21 top frame only cfa=r10; ra=[cfa-8]; fp=unchanged top-frame-only\n" +
				"21-23 top frame only cfa=r10; ra=[cfa-8]; fp=[rbp] top-frame-only\n23-62 rule cfa=[rbp-8]; ra=[cfa-8]; fp=[rbp]\n" +
				"62-63 top frame only cfa=r10; ra=[cfa-8]; fp=[rbp] top-frame-only\n63-6d top frame only cfa=r10; ra=[cfa-8]; fp=unchanged top-frame-only\n" +
				"6d-72 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged"},
		{"outermost by a row", 3, unwind.AMD64, sframetest.Func{Size: 9, Count: 1, Rows: "00 00"},
			"0-9 outermost cfa=undefined; ra=undefined; fp=undefined outermost"},
		{"outermost by a row, version 2 with errata 2", 2, unwind.AMD64, sframetest.Func{Size: 9, Count: 1, Rows: "00 00"},
			"0-9 outermost cfa=undefined; ra=undefined; fp=undefined outermost"},
		{"outermost without rows", 3, unwind.AMD64, sframetest.Func{Size: 9},
			"0-9 outermost cfa=undefined; ra=undefined; fp=undefined outermost"},
		{"a signal's frame without a rule", 3, unwind.AMD64, sframetest.Func{Size: 9, Info: sframetest.Signal},
			"0-9 signal without rule signal"},
		{"no rows in version 2: nothing is known", 2, unwind.AMD64, sframetest.Func{Size: 9}, ""},
		{"floating-point registers", 3, unwind.S390X,
			sframetest.Func{Size: 16, Count: 3, Rows: "00 04 79 00 | 04 08 79 00 81 00 | 08 0c 79 00 81 00 89 00", Info2: sframetest.Flexible},
			"0-4 top frame only cfa=r15+160; ra=r14; fp=unchanged top-frame-only\n" +
				"4-8 top frame only cfa=r15+160; ra=f0; fp=unchanged top-frame-only\n8-10 top frame only cfa=r15+160; ra=f0; fp=f2 top-frame-only"},
		{"another base register", 3, unwind.S390X,
			sframetest.Func{Size: 32, Count: 1, Rows: "0a 0c 51 00 02 d0 02 b8", Info2: sframetest.Flexible},
			"a-20 top frame only cfa=r10+160; ra=[cfa-48]; fp=[cfa-72] top-frame-only"},
		{"only the frame pointer is saved", 3, unwind.S390X, sframetest.Func{Size: 16, Count: 1, Rows: "06 07 00 00 b8"},
			"6-10 top frame only cfa=r15+160; ra=r14; fp=[cfa-72] top-frame-only"},
		{"only the return address is saved, a frame of 320 bytes", 3, unwind.S390X, sframetest.Func{Size: 16, Count: 1, Rows: "00 05 14 d0"},
			"0-10 rule cfa=r15+320; ra=[cfa-48]; fp=unchanged"},
		{"a register by its number, version 2", 2, unwind.S390X, sframetest.Func{Size: 16, Count: 1, Rows: "00 07 00 21 23"},
			"0-10 top frame only cfa=r15+160; ra=f0; fp=f2 top-frame-only"},
		{"return addresses signed with key B", 3, unwind.ARM64,
			sframetest.Func{Size: 0x20, Count: 6, Info: sframetest.KeyB,
				Rows: "00 03 00 | 04 83 00 | 08 87 20 e8 e0 | 0c 86 20 e8 e0 | 14 83 00 | 18 03 00"},
			"0-4 top frame only cfa=sp; ra=x30; fp=unchanged top-frame-only\n4-8 top frame only cfa=sp; ra=x30; fp=unchanged mangled top-frame-only\n" +
				"8-c rule cfa=sp+32; ra=[cfa-24]; fp=[cfa-32] mangled\nc-14 rule cfa=x29+32; ra=[cfa-24]; fp=[cfa-32] mangled\n" +
				"14-18 top frame only cfa=sp; ra=x30; fp=unchanged mangled top-frame-only\n18-20 top frame only cfa=sp; ra=x30; fp=unchanged top-frame-only"},
		{"only the return address is saved, on arm64", 3, unwind.ARM64, sframetest.Func{Size: 0x18, Count: 3, Rows: "00 03 00 | 04 05 10 f0 | 14 03 00"},
			"0-4 top frame only cfa=sp; ra=x30; fp=unchanged top-frame-only\n4-14 rule cfa=sp+16; ra=[cfa-16]; fp=unchanged\n" +
				"14-18 top frame only cfa=sp; ra=x30; fp=unchanged top-frame-only"},
		{"a signal's frame", 3, unwind.ARM64, sframetest.Func{Size: 8, Count: 1, Rows: "00 27 1001 f8ff f0ff", Info: sframetest.Signal},
			"0-8 rule cfa=sp+272; ra=[cfa-8]; fp=[cfa-16] signal"},
		{"starts of 2 bytes, offsets of 4", 2, unwind.AMD64,
			sframetest.Func{Size: 0x400, Count: 2, Rows: "0000 03 08 | 0101 45 00010100 f0ffffff", Info: sframetest.Addr2},
			"0-101 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged\n101-400 rule cfa=rsp+65792; ra=[cfa-8]; fp=[cfa-16]"},
		{"starts of 4 bytes, offsets of 2", 1, unwind.AMD64,
			sframetest.Func{Size: 0x20000, Count: 2, Rows: "00000000 03 08 | 00000100 22 1000", Info: sframetest.Addr4},
			"0-10000 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged\n10000-20000 rule cfa=rbp+16; ra=[cfa-8]; fp=unchanged"},
		{"a CFA on r11, as version 1's assembler writes it for large frames: the rows that are the same", 1, unwind.AMD64,
			sframetest.Func{Size: 0x71, Count: 5, Rows: "00 03 08 | 08 43 08100100 | 19 43 08100100 | 20 43 80110100 | 70 03 08"},
			"0-8 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged\n8-19 doubtful cfa=rsp+69640; ra=[cfa-8]; fp=unchanged\n" +
				"19-20 doubtful cfa=rsp+69640; ra=[cfa-8]; fp=unchanged\n20-70 rule cfa=rsp+70016; ra=[cfa-8]; fp=unchanged\n" +
				"70-71 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged"},
		{"a CFA on x12, as version 1's assembler writes it for large frames on arm64: not rows that save registers", 1, unwind.ARM64,
			sframetest.Func{Size: 0x50, Count: 6, Rows: "00 03 00 | 04 43 00000600 | 14 43 00000600 | 20 43 901a0600 | 30 45 901a0600 78e5f9ff | 40 45 901a0600 78e5f9ff"},
			"0-4 top frame only cfa=sp; ra=x30; fp=unchanged top-frame-only\n4-14 doubtful cfa=sp+393216; ra=x30; fp=unchanged top-frame-only\n" +
				"14-20 doubtful cfa=sp+393216; ra=x30; fp=unchanged top-frame-only\n20-30 top frame only cfa=sp+400016; ra=x30; fp=unchanged top-frame-only\n" +
				"30-40 rule cfa=sp+400016; ra=[cfa-400008]; fp=unchanged\n40-50 rule cfa=sp+400016; ra=[cfa-400008]; fp=unchanged"},
		{"a CFA on rbx, and on SP again where its offset is another, as version 1's assembler writes it", 1, unwind.AMD64,
			sframetest.Func{Size: 0x18, Count: 4, Rows: "00 03 08 | 01 03 10 | 04 03 10 | 17 03 08"},
			"0-1 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged\n1-4 doubtful cfa=rsp+16; ra=[cfa-8]; fp=unchanged\n" +
				"4-17 doubtful cfa=rsp+16; ra=[cfa-8]; fp=unchanged\n17-18 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged"},
		{"many rows, the last two the same", 1, unwind.AMD64,
			sframetest.Func{Size: 0x18, Count: 6, Rows: "00 03 08 | 01 03 10 | 02 03 18 | 03 03 20 | 04 03 28 | 08 03 28"},
			"0-1 rule cfa=rsp+8; ra=[cfa-8]; fp=unchanged\n1-2 rule cfa=rsp+16; ra=[cfa-8]; fp=unchanged\n" +
				"2-3 rule cfa=rsp+24; ra=[cfa-8]; fp=unchanged\n3-4 rule cfa=rsp+32; ra=[cfa-8]; fp=unchanged\n" +
				"4-8 doubtful cfa=rsp+40; ra=[cfa-8]; fp=unchanged\n8-18 doubtful cfa=rsp+40; ra=[cfa-8]; fp=unchanged"},
		{"repeated rows that rest on the frame pointer, or differ", 1, unwind.AMD64,
			sframetest.Func{Size: 0x10, Count: 4, Rows: "00 03 10 | 04 05 10 f0 | 08 04 10 f0 | 0c 04 10 f0"},
			"0-4 rule cfa=rsp+16; ra=[cfa-8]; fp=unchanged\n4-8 rule cfa=rsp+16; ra=[cfa-8]; fp=[cfa-16]\n" +
				"8-c rule cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]\nc-10 rule cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"},
		{"an undefined return address, as version 2's assembler writes it", 2, unwind.AMD64,
			sframetest.Func{Size: 0x10, Count: 2, Rows: "00 03 10 | 04 03 10"},
			"0-4 doubtful cfa=rsp+16; ra=[cfa-8]; fp=unchanged\n4-10 doubtful cfa=rsp+16; ra=[cfa-8]; fp=unchanged"},
		{"repeated rows of version 3, whose assembler has no such mistakes", 3, unwind.AMD64,
			sframetest.Func{Size: 0x10, Count: 2, Rows: "00 03 10 | 04 03 10"},
			"0-4 rule cfa=rsp+16; ra=[cfa-8]; fp=unchanged\n4-10 rule cfa=rsp+16; ra=[cfa-8]; fp=unchanged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := sframetest.For(tt.version, tt.arch, sectionAddr)
			b.Aux = []byte{1, 2, 3, 4} // to be skipped
			tt.f.Start = funcAddr
			tab := table(t, b.Add(tt.f))
			if got := rowsText(tab, funcAddr); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			lookupAgrees(t, tab)
		})
	}
}

// lookupAgrees looks every address up, and compares with the rows as they are
// listed.
func lookupAgrees(t *testing.T, tab *sframe.Table) {
	t.Helper()
	for f := range tab.All() {
		at := f.Start
		check := func(to uint64, want sframe.Row, answer sframe.Answer) {
			for ; at < to; at++ {
				row, got := tab.Lookup(at)
				if got != answer || answer != sframe.Hole && row != want {
					t.Fatalf("%#x: %v %+v, want %v %+v", at, got, row, answer, want)
				}
			}
		}
		for row, answer := range tab.Rows(f) {
			check(row.Start, sframe.Row{}, sframe.Hole)
			check(row.End, *row, answer)
		}
		check(f.End, sframe.Row{}, sframe.Hole)
		for _, outside := range []uint64{f.Start - 1, f.End} {
			if g, ok := tab.Find(outside); ok && g == f {
				t.Errorf("%#x is found in [%#x, %#x)", outside, f.Start, f.End)
			}
		}
	}
}

// TestHeaderVector reads the header and the first index entry of a program.
func TestHeaderVector(t *testing.T) {
	data := sframetest.Hex("e2de0305 0300f800 09000000 14000000 7d000000 00000000 90000000" + "44defeffffffffff 10000000 6a000000")
	data = append(data, make([]byte, 8*16+0x7d)...)
	tab := sframe.New(sframe.Section{Name: ".sframe", Addr: sectionAddr, Data: data}, sframe.Options{})
	h := tab.Headers()[0]
	if h.Version != 3 || h.Generation() != "3" || h.Arch != unwind.AMD64 || h.FixedRA != -8 || h.FixedFP != 0 || h.Functions != 9 || h.Rows != 20 || h.Big {
		t.Errorf("header %+v", h)
	}
	if f, ok := tab.Find(funcAddr); !ok || f.Start != funcAddr || f.End != funcAddr+16 {
		t.Errorf("first function %+v, %v", f, ok)
	}
}
