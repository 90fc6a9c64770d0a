package shadow

import (
	"encoding/binary"
	"testing"
)

// TestKindOfARM64 has words of GNU as.
func TestKindOfARM64(t *testing.T) {
	for word, want := range map[uint32]Kind{
		0x94000001: Call,      // bl .+4
		0x97ffffff: Call,      // bl .-4
		0xd63f0200: Call,      // blr x16
		0xd63f0a1f: Call,      // blraaz x16
		0xd73f0a11: Call,      // blraa x16, x17
		0xd65f03c0: Return,    // ret
		0xd65f0bff: Return,    // retaa
		0xd65f0fff: Return,    // retab
		0xd61f0220: Return,    // br x17
		0xd71f0a11: Return,    // braa x16, x17
		0x14000001: Other,     // b .+4
		0x54000020: Other,     // b.eq .+4
		0xd503233f: Other,     // paciasp
		0xd4000001: Syscall,   // svc #0
		0x885ffc41: Exclusive, // ldaxr w1, [x2]
		0xc87f0c41: Exclusive, // ldxp x1, x3, [x2]
		0x8810fc41: Other,     // stlxr w16, w1, [x2]
		0x88e07c41: Other,     // casa w0, w1, [x2]
	} {
		if got := KindOfARM64(binary.LittleEndian.AppendUint32(nil, word)); got != want {
			t.Errorf("%#x: %d, want %d", word, got, want)
		}
	}
}

func TestBehindExclusive(t *testing.T) {
	var code []byte
	for _, word := range []uint32{
		0x885ffc41, // ldaxr w1, [x2]
		0x6b00003f, // cmp w1, w0
		0x54000061, // b.ne .+12
		0x8810fc43, // stlxr w16, w3, [x2]
		0x35ffff90, // cbnz w16, .-16
		0xd65f03c0, // ret
	} {
		code = binary.LittleEndian.AppendUint32(code, word)
	}
	if got := BehindExclusive(code); got != 20 {
		t.Errorf("%d, want 20", got)
	}
	if got := BehindExclusive(code[:12]); got != 0 {
		t.Errorf("without a store: %d", got)
	}
}
