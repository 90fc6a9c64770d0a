package types

import "testing"

// TestArrays: sizes are numbers, of which too large ones are no sizes.
func TestArrays(t *testing.T) {
	long := Number("long", 8, EncodingSigned)
	grid := ArrayOf(ArrayOf(long, 4), 3)
	if n, err := grid.Bytes(); n != 96 || err != nil || grid.String() != "long [3][4]" && grid.String() != "long [4][3]" {
		t.Errorf("%s: %d, %v", grid, n, err)
	}
	huge := long
	for range 8 {
		huge = ArrayOf(huge, 1<<20)
	}
	if n, err := huge.Bytes(); err == nil {
		t.Errorf("an array of 2^160 elements has %d bytes", n)
	}
	if p := PointerTo(long, 8); p.String() != "long *" {
		t.Errorf("%s", p)
	}
}

// TestPlusConstant: places that older compilers write as expressions.
func TestPlusConstant(t *testing.T) {
	for _, tt := range []struct {
		code string
		want int64
		ok   bool
	}{{"\x23\x08", 8, true}, {"\x23\x80\x01", 128, true}, {"\x23", 0, false}, {"\x23\x80", 0, false}, {"\x23\x08\x06", 0, false}, {"\x91\x08", 0, false}} {
		if got, ok := plusConstant([]byte(tt.code)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%x: %d, %v", tt.code, got, ok)
		}
	}
}

// TestVariant: a discriminant counts in its own size.
func TestVariant(t *testing.T) {
	v := Variant{Values: []Range{{^uint64(0), ^uint64(0)}, {3, 5}}}
	for n, want := range map[uint64]bool{0xff: true, 4: true, 6: false, 0x103: true} {
		if v.Has(n, 1) != want {
			t.Errorf("%#x: not %v", n, want)
		}
	}
}
