package tablefield

import "testing"

// TestField: what is written is read again, and nothing beside it changes.
func TestField(t *testing.T) {
	for _, f := range []Field{{Off: 1, Size: 1}, {Off: 1, Size: 2}, {Off: 1, Size: 1, LEB: true}, {Off: 1, Size: 2, LEB: true}} {
		for v := range uint64(1) << f.Bits() {
			data := []byte{0xaa, 0x81, 0x02, 0x55}
			f.Put(data, v)
			if f.Get(data) != v || data[0] != 0xaa || data[3] != 0x55 || f.Size == 1 && data[2] != 2 {
				t.Fatalf("%+v: %#x is % x", f, v, data)
			}
			if f.LEB && (data[f.Off+f.Size-1]&0x80 != 0 || f.Size == 2 && data[1]&0x80 == 0) {
				t.Fatalf("%+v: %#x ends elsewhere: % x", f, v, data)
			}
		}
	}
}
