package gotab

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// synthetic writes a table of two functions:
//
//	f at +0x10..+0x30: SP delta 0 up to +0x14, 24 up to +0x2c; padding behind
//	g at +0x30..+0x40: a C function, no tables
func synthetic(order binary.ByteOrder, ptr int) []byte {
	var b []byte
	u32 := func(v ...uint32) {
		for _, v := range v {
			b = append(b, 0, 0, 0, 0)
			order.PutUint32(b[len(b)-4:], v)
		}
	}
	word := func(at int, v uint64) {
		if ptr == 4 {
			order.PutUint32(b[at:], uint32(v))
		} else {
			order.PutUint64(b[at:], v)
		}
	}
	u32(magicGo120)
	b = append(b, 0, 0, 4, byte(ptr))
	b = append(b, make([]byte, 8*ptr)...)
	word(8, 2)
	word(8+ptr, 1)
	part := func(i int) { word(8+(3+i)*ptr, uint64(len(b))) }
	part(0)
	b = append(b, "f\x00g\x00"...)
	part(1)
	u32(0) // cutab: file 0 at 0
	part(2)
	b = append(b, "/src/f.go\x00"...)
	part(3)
	pctab := len(b)
	b = append(b, 0)
	pcsp := len(b) - pctab
	b = append(b, 2, 1, 48, 6, 0) // -1+1=0 for 1 unit, +24 for 6 units, end
	pcfile := len(b) - pctab
	b = append(b, 2, 7, 0)
	pcln := len(b) - pctab
	b = append(b, 22, 7, 0) // -1+11=10
	for len(b)%ptr != 0 {
		b = append(b, 0)
	}
	part(4)
	u32(0x10, 20, 0x30, 20+44, 0x40)
	u32(0x10, 0, 16, 0, uint32(pcsp), uint32(pcfile), uint32(pcln), 0, 0, 9)
	b = append(b, 7, byte(FlagAsm|FlagTopFrame), 0, 0)
	u32(0x30, 2, 0, 0, 0, 0, 0, 0, math.MaxUint32, 0, 0)
	return b
}

func TestSynthetic(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, ptr := range []int{4, 8} {
			table, err := Parse(synthetic(order, ptr), 0x1000, order)
			if err != nil {
				t.Fatal(err)
			}
			if table.Len() != 2 || table.ptrSize != ptr || table.quantum != 4 {
				t.Fatalf("%d functions, %d-byte pointers, quantum %d", table.Len(), table.ptrSize, table.quantum)
			}
			if start, end := table.Bounds(); start != 0x1010 || end != 0x1040 {
				t.Errorf("bounds %#x-%#x", start, end)
			}
			for pc, want := range map[uint64]string{0x100f: "", 0x1010: "f", 0x102f: "f", 0x1030: "g", 0x103f: "g", 0x1040: ""} {
				f, ok := table.Func(pc)
				if f.Name() != want || ok != (want != "") {
					t.Errorf("Func(%#x) is %q %v, want %q", pc, f.Name(), ok, want)
				}
			}
			f, _ := table.Func(0x1010)
			if f.StartLine != 9 || !f.Flag.Asm() || !f.Flag.TopFrame() || f.Flag&FlagSPWrite != 0 || !f.HasTables() {
				t.Errorf("f: %+v", f)
			}
			for pc, want := range map[uint64]int32{0x1010: 0, 0x1013: 0, 0x1014: 24, 0x102b: 24, 0x102c: -1, 0x100f: -1, 0x1030: -1} {
				if got, ok := f.SPDelta(pc); ok != (want >= 0) || ok && got != want {
					t.Errorf("SPDelta(%#x) is %d %v, want %d", pc, got, ok, want)
				}
			}
			if file, line, ok := f.FileLine(0x1014); file != "/src/f.go" || line != 10 || !ok {
				t.Errorf("FileLine is %s:%d %v", file, line, ok)
			}
			g, _ := table.Func(0x1030)
			if _, ok := g.SPDelta(0x1030); ok || g.HasTables() {
				t.Error("a C function has an SP delta")
			}
			if _, _, ok := g.FileLine(0x1030); ok {
				t.Error("a C function has a line")
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	le := binary.LittleEndian
	good := synthetic(le, 8)
	part := func(i int) int { return 8 + (3+i)*8 }
	functab := int(le.Uint64(good[part(4):]))
	for name, c := range map[string]struct {
		damage func(b []byte) []byte
		offset uint64
	}{
		"empty":            {func(b []byte) []byte { return nil }, 0},
		"header cut":       {func(b []byte) []byte { return b[:40] }, 40},
		"padding":          {func(b []byte) []byte { b[5] = 1; return b }, 4},
		"quantum":          {func(b []byte) []byte { b[6] = 3; return b }, 6},
		"pointer size":     {func(b []byte) []byte { b[7] = 5; return b }, 7},
		"part outside":     {func(b []byte) []byte { le.PutUint64(b[part(2):], 1<<40); return b }, uint64(part(2))},
		"many functions":   {func(b []byte) []byte { le.PutUint64(b[8:], math.MaxUint64); return b }, 8},
		"functions cut":    {func(b []byte) []byte { return b[:functab+16] }, 8},
		"unsorted":         {func(b []byte) []byte { le.PutUint32(b[functab+8:], 8); return b }, uint64(functab + 8)},
		"end before start": {func(b []byte) []byte { le.PutUint32(b[functab+16:], 8); return b }, uint64(functab + 16)},
	} {
		_, err := Parse(c.damage(append([]byte(nil), good...)), 0, le)
		var format *FormatError
		if !errors.As(err, &format) || format.Offset != c.offset {
			t.Errorf("%s: %v, want a FormatError at %#x", name, err, c.offset)
		}
	}
	var version *VersionError
	if _, err := Parse(good, 0, binary.BigEndian); !errors.As(err, &version) || version.Magic != 0xf1ffffff {
		t.Errorf("wrong byte order: %v", err)
	}
	if _, err := Parse([]byte{0xf0, 0xff, 0xff, 0xff, 0, 0, 1, 8}, 0, le); !errors.As(err, &version) {
		t.Errorf("Go 1.18: %v", err)
	}
	if _, err := Parse(good, math.MaxUint64-0x3f, le); err == nil {
		t.Error("text beyond 2^64 is accepted")
	}
	if _, err := Parse(synthetic(le, 4), math.MaxUint32-0x3f, le); err == nil {
		t.Error("text beyond 2^32 of a 32-bit image is accepted")
	}
	if _, err := Parse(synthetic(le, 4), math.MaxUint32-0x40, le); err != nil {
		t.Error("text up to 2^32:", err)
	}
}

// TestHostilePCTable feeds pcvalue what no linker writes.
func TestHostilePCTable(t *testing.T) {
	le := binary.LittleEndian
	good := synthetic(le, 8)
	pctab := int(le.Uint64(good[8+6*8:]))
	for name, table := range map[string][]byte{
		"ends at once":   {0, 0, 0, 0, 0},
		"endless varint": {0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		b := append([]byte(nil), good...)
		copy(b[pctab+1:], table)
		parsed, err := Parse(b, 0, le)
		if err != nil {
			t.Fatal(err)
		}
		f, _ := parsed.Func(0x20)
		if v, ok := f.SPDelta(0x20); ok {
			t.Errorf("%s: SP delta %d", name, v)
		}
	}
}

// A PC table that does not advance is given up after as many steps as the
// function can have instructions, however long it goes on.
func TestPCTableWithoutProgress(t *testing.T) {
	le := binary.LittleEndian
	for pairs, want := range map[int]bool{7: true, 2000: false} {
		b := synthetic(le, 8)
		pctab := int(le.Uint64(b[8+6*8:]))
		rec := int(le.Uint64(b[8+7*8:])) + 20
		le.PutUint32(b[rec+16:], uint32(len(b)-pctab))
		for range pairs {
			b = append(b, 2, 0)
		}
		b = append(b, 2, 8)
		table, err := Parse(b, 0, le)
		if err != nil {
			t.Fatal(err)
		}
		f, _ := table.Func(0x10)
		if v, ok := f.SPDelta(0x10); ok != want || ok && v != int32(pairs) {
			t.Errorf("%d steps without progress: SP delta %d %v", pairs, v, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(synthetic(binary.LittleEndian, 8), uint64(0x1000), uint64(0x1010), false)
	f.Add(synthetic(binary.BigEndian, 8), uint64(0), uint64(0x20), true)
	f.Add(synthetic(binary.LittleEndian, 4), uint64(0xffff0000), uint64(0xffff0010), false)
	f.Fuzz(func(t *testing.T, data []byte, text, pc uint64, big bool) {
		var order binary.ByteOrder = binary.LittleEndian
		if big {
			order = binary.BigEndian
		}
		table, err := Parse(data, text, order)
		if err != nil {
			return
		}
		table = table.WithFuncData(data)
		table.FindModule(data, text)
		check := func(fn Func) {
			if fn.Entry > fn.End {
				t.Fatalf("function %#x-%#x", fn.Entry, fn.End)
			}
			fn.Name()
			for _, pc := range []uint64{pc, fn.Entry, fn.End - 1} {
				fn.SPDelta(pc)
				fn.FileLine(pc)
				if calls, err := fn.Calls(pc); err != nil && len(calls) != 1 || len(calls) > maxInlineDepth {
					t.Fatalf("%d calls, %v", len(calls), err)
				}
			}
		}
		if fn, ok := table.Func(pc); ok {
			if !fn.Contains(pc) {
				t.Fatalf("Func(%#x) is %#x-%#x", pc, fn.Entry, fn.End)
			}
			check(fn)
		}
		for i := range min(table.Len(), 16) {
			if fn, ok := table.At(i); ok {
				check(fn)
			}
		}
	})
}

// Quantum is the size of instructions, in bytes.
func (t *Table) Quantum() int { return int(t.quantum) }
