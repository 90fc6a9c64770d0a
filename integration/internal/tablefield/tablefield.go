// Package tablefield reads and changes numbers in the tables of files, for tests that damage them.
package tablefield

// Field is a number in a table: where it begins, and how many bytes it has.
type Field struct {
	Off, Size int
	LEB       bool // seven bits a byte, the highest says that more follow (LEB128); else little-endian
}

// Get reads the number.
func (f Field) Get(data []byte) (v uint64) {
	for i := f.Size - 1; i >= 0; i-- {
		if f.LEB {
			v = v<<7 | uint64(data[f.Off+i]&0x7f)
		} else {
			v = v<<8 | uint64(data[f.Off+i])
		}
	}
	return v
}

// Bits is how wide a number can be there.
func (f Field) Bits() int {
	if f.LEB {
		return 7 * f.Size
	}
	return 8 * f.Size
}

// Put writes a number, in as many bytes as the field has. What does not fit is lost.
func (f Field) Put(data []byte, v uint64) {
	for i := range f.Size {
		switch {
		case !f.LEB:
			data[f.Off+i] = byte(v >> (8 * i))
		case i < f.Size-1:
			data[f.Off+i] = byte(v>>(7*i)) | 0x80
		default:
			data[f.Off+i] = byte(v>>(7*i)) & 0x7f
		}
	}
}
