package cbf_test

import "github.com/clewdbg/clew/cbf"

// swiftEncode is a model of how Swift's runtime encodes frames, written naively
// from the description in the package comment, to compare lengths with: the
// first address is relative to zero, ties are relative, equal neighbours become
// one rep, omit has its short form for 1 to 31 only.
func swiftEncode(bits uint, frames []cbf.Frame) []byte {
	out := []byte{map[uint]byte{16: 0, 32: 1, 64: 2}[bits]}
	mask := ^uint64(0) >> (64 - bits)
	last := uint64(0)
	for i := 0; i < len(frames); {
		f := frames[i]
		switch f.Kind {
		case cbf.Omitted:
			if f.Count >= 1 && f.Count <= 31 {
				out = append(out, 0x40|byte(f.Count-1))
			} else {
				b := unsignedBytes(f.Count)
				out = append(append(out, 0x60|byte(len(b)-1)), b...)
			}
		default:
			op := map[cbf.Kind]byte{cbf.PC: 0x10, cbf.RA: 0x20, cbf.Async: 0x30}[f.Kind]
			abs := signedBytes(bits, f.Address)
			rel := signedBytes(bits, (f.Address-last)&mask)
			if len(abs) < len(rel) {
				out = append(append(out, op|8|byte(len(abs)-1)), abs...)
			} else {
				out = append(append(out, op|byte(len(rel)-1)), rel...)
			}
			last = f.Address
		}
		n := 0
		for i++; i < len(frames) && frames[i] == f; i++ {
			n++
		}
		if n > 8 {
			b := unsignedBytes(uint64(n))
			out = append(append(out, 0x88|byte(len(b)-1)), b...)
		} else if n > 0 {
			out = append(out, 0x80|byte(n-1))
		}
	}
	return out
}

func unsignedBytes(v uint64) []byte {
	b := []byte{byte(v)}
	for v >>= 8; v > 0; v >>= 8 {
		b = append([]byte{byte(v)}, b...)
	}
	return b
}

// signedBytes drops leading bytes as long as sign extension brings them back.
func signedBytes(bits uint, v uint64) []byte {
	var b []byte
	for i := int(bits) - 8; i >= 0; i -= 8 {
		b = append(b, byte(v>>i))
	}
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return b
}
