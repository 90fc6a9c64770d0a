package table

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// FuzzDecode: whatever an encoding and the code that it refers to hold, a rule
// restores no register twice, none from the caller's frame, and none from below
// the stack pointer.
func FuzzDecode(f *testing.F) {
	f.Add(uint32(0x0304_4400), []byte{0x53, 0x48, 0x81, 0xec, 0x80, 0x7d, 0, 0})
	f.Add(uint32(0x0104_0101), []byte{})
	f.Add(uint32(0x0203_0c00), []byte{0x81, 0xec, 0xff, 0xff, 0xff, 0xff})
	f.Add(uint32(0x02ff_f0f1), []byte{})
	f.Fuzz(func(t *testing.T, encoding uint32, code []byte) {
		bytes := func(offset uint32, n int) []byte {
			if uint64(offset) > uint64(len(code)) {
				return nil
			}
			return code[offset:min(int(offset)+n, len(code))]
		}
		for _, arch := range []unwind.Arch{unwind.AMD64, unwind.I386, unwind.ARM64} {
			r, err := Encoding(encoding).Decode(arch, bytes)
			if err != nil {
				continue
			}
			seen := map[unwind.Register]bool{arch.SP(): true, arch.PC(): true}
			for _, s := range savedBy(&r) {
				low := -r.CFA.Offset
				if r.CFA.Register != arch.SP() {
					low = -r.CFA.Offset - 255*8
				}
				if s.Offset > -int64(arch.PointerSize()) || s.Offset < low || seen[s.Register] {
					t.Fatalf("%v %#x: %s", arch, encoding, describe(arch, r))
				}
				seen[s.Register] = true
			}
		}
	})
}
