package types

import (
	"debug/dwarf"
	"math"
	"math/bits"

	"github.com/clewdbg/clew/server/symbols/dwarfline"
)

// readArray reads the dimensions.
func (t *Type) readArray() error {
	children, more, err := t.entry.Children(maxDimensions + 1)
	if err != nil {
		return err
	}
	if t.stride, err = strideOf(t.entry); err != nil {
		return err
	}
	for _, c := range children {
		if c.Tag() != dwarf.TagSubrangeType && c.Tag() != dwarf.TagEnumerationType && c.Tag() != dwarf.TagGenericSubrange {
			continue
		}
		d := Dimension{Count: Unknown, Stride: Unknown, Lower: lowest[t.Language]}
		if n, ok := c.Constant(dwarf.AttrLowerBound); ok {
			d.Lower = n.Int()
		}
		if d.Stride, err = strideOf(c); err != nil {
			return err
		}
		upper, hasUpper := c.Constant(dwarf.AttrUpperBound)
		count, hasCount := c.Constant(dwarf.AttrCount)
		switch {
		case hasCount:
			d.Count = count.Int()
		case c.Has(dwarf.AttrCount):
			d.Bound, d.Attr = c, dwarf.AttrCount
		case hasUpper && upper.Int() >= d.Lower-1:
			d.Count = upper.Int() - d.Lower + 1
		case hasUpper && !upper.Signed && upper.Value < math.MaxInt64/2: // of an array of 2^31 elements and more in data4
			d.Count = int64(upper.Value) - d.Lower + 1
		case c.Has(dwarf.AttrUpperBound) && !hasUpper:
			d.Bound, d.Attr, d.Upper = c, dwarf.AttrUpperBound, true
		}
		if d.Count < 0 {
			d.Count = Unknown
		}
		t.dims = append(t.dims, d)
	}
	if len(t.dims) > maxDimensions || more {
		return ErrDimensions
	}
	if len(t.dims) == 0 {
		t.dims = []Dimension{{Count: Unknown, Stride: Unknown}}
	}
	if t.columnMajor() { // the first index is the innermost
		for i, j := 0, len(t.dims)-1; i < j; i, j = i+1, j-1 {
			t.dims[i], t.dims[j] = t.dims[j], t.dims[i]
		}
	}
	return nil
}

// strideOf reads a distance of elements: DW_AT_byte_stride, or DW_AT_bit_stride.
func strideOf(e *dwarfline.Entry) (int64, error) {
	if n, ok := e.Constant(dwarf.AttrStride); ok && n.Int() > 0 {
		return n.Int(), nil
	}
	switch n, ok := e.Constant(dwarf.AttrStrideSize); {
	case !ok && (e.Has(dwarf.AttrStride) || e.Has(dwarf.AttrStrideSize)):
		return 0, errStride
	case !ok || n.Int() <= 0:
		return Unknown, nil
	case n.Int()%8 != 0:
		return 0, errPacked
	default:
		return n.Int() / 8, nil
	}
}

// lowest are lower bounds of languages whose arrays do not begin at 0 (DWARF 5, table 7.17).
var lowest = map[uint64]int64{0x07: 1, 0x08: 1, 0x0e: 1, 0x22: 1, 0x23: 1, 0x05: 1, 0x06: 1, 0x09: 1, 0x0a: 1, 0x0d: 1, 0x0f: 1}

func (t *Type) columnMajor() bool {
	if n, ok := t.entry.Constant(dwarf.AttrOrdering); ok {
		return n.Value == 1
	}
	switch t.Language {
	case 0x07, 0x08, 0x0e, 0x22, 0x23, 0x2d: // Fortran
		return true
	}
	return false
}

// Dimension is the outermost of an array's.
func (t *Type) Dimension() Dimension { return t.dims[0] }

// WithCount is the array with another count of its outermost dimension: one that was decided at run time.
func (t *Type) WithCount(n int64) *Type {
	out := t.inner(0)
	out.dims[0].Count, out.dims[0].Bound = n, nil
	out.Size = Unknown
	return out
}

// inner is the array without its first dimensions.
func (t *Type) inner(from int) *Type {
	out := &Type{Kind: Array, Tag: t.Tag, Own: t.Own, Size: Unknown, Language: t.Language, entry: t.entry, set: t.set, made: t.made, stride: t.stride}
	out.dims = append(out.dims, t.dims[from:]...)
	return out
}

// Element is the type of an array's elements: an array where there are more dimensions.
func (t *Type) Element() (*Type, error) {
	if len(t.dims) > 1 {
		return t.inner(1), nil
	}
	return t.Target()
}

// Stride is the distance of an array's elements in bytes.
func (t *Type) Stride() (int64, error) {
	switch {
	case t.dims[0].Stride != Unknown:
		return t.dims[0].Stride, nil
	case len(t.dims) == 1 && t.stride != Unknown:
		return t.stride, nil
	}
	e, err := t.Element()
	if err != nil {
		return 0, err
	}
	return e.Bytes()
}

// arrayBytes is the size of an array whose type does not say it.
func (t *Type) arrayBytes() (int64, error) {
	n := t.dims[0].Count
	if n == Unknown {
		return 0, errNoBounds
	}
	stride, err := t.Stride()
	if err != nil {
		return 0, err
	}
	high, low := bits.Mul64(uint64(n), uint64(stride))
	if high != 0 || low > math.MaxInt64 {
		return 0, errHuge
	}
	return int64(low), nil
}
