package prologue

import "testing"

// TestWaiting: a frame that waits in a call has the state before it, also where the
// call does not return, and where the function ends with it.
func TestWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		waiting func([]byte, uint64, uint64) (Rule, Verdict)
		code    []byte
		ra      uint64 // offset
		base    Reg
		off     int64
		kind    Kind // Unknown for no rule
	}{
		// test edi, edi; je end; push rax; call panic; end: ret
		"other path":    {AMD64Waiting, unhex(t, "85ff 7406 50 e800100000 c3"), 10, RSP, 16, BodyNoFP},
		"last":          {AMD64Waiting, unhex(t, "4883ec18 e800100000"), 9, RSP, 32, BodyNoFP},
		"returns":       {AMD64Waiting, unhex(t, "4883ec18 e800100000 4883c418 c3"), 9, RSP, 32, BodyNoFP},
		"by register":   {AMD64Waiting, unhex(t, "4883ec18 ffd0 4883c418 c3"), 6, RSP, 32, BodyNoFP},
		"r12 by memory": {AMD64Waiting, unhex(t, "4883ec18 41ff942400010000 4883c418 c3"), 12, RSP, 32, BodyNoFP},
		// lea 8(%rsp), %r10; and $-64, %rsp; call: nothing finds the frame behind it.
		"clobbered": {AMD64Waiting, unhex(t, "4c8d542408 4883e4c0 e800100000 c3"), 14, 0, 0, Unknown},
		"no call":   {AMD64Waiting, unhex(t, "4883ec18 90 4883c418 c3"), 5, RSP, 32, BodyNoFP},
		// cbz w0, end; stp x29, x30, [sp, #-16]!; bl; end: ret
		"arm64":           {ARM64Waiting, words(0x34000060, 0xa9bf7bfd, 0x94000400, 0xd65f03c0), 12, SP, 16, BodyNoFP},
		"arm64, x30 gone": {ARM64Waiting, words(0x94000400, 0xd65f03c0), 4, 0, 0, Unknown},
	} {
		r, v := c.waiting(c.code, 0x1000, 0x1000+c.ra)
		if (v.Kind == Unknown) != (c.kind == Unknown) || v.Kind != Unknown && (r.CFA.Base != c.base || r.CFA.Off != c.off || r.Certain != Exact) {
			t.Errorf("%s: %+v, %+v; want CFA %d+%d", name, r.CFA, v, c.base, c.off)
		}
	}
}
