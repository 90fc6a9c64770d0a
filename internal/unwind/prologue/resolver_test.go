package prologue

import "testing"

// TestResolver: the loader's resolver is entered with a pair on the stack; code that pushes
// that pair itself is not.
func TestResolver(t *testing.T) {
	const (
		nop      = 0xd503201f
		push208  = 0xa9b327e8 // stp x8, x9, [sp, #-208]!
		call     = 0x97fff736
		pop208   = 0xa8cd27e8 // ldp x8, x9, [sp], #208
		popPair  = 0xa8c17bf1 // ldp x17, x30, [sp], #16
		br16     = 0xd61f0200
		pushPair = 0xa9bf7bf0 // stp x16, x30, [sp, #-16]!
	)
	code := words(nop, push208, call, pop208, popPair, br16)
	for off, want := range map[uint64]string{
		4:  "cfa=sp+16; ra=[cfa-8]; fp=unchanged",
		8:  "cfa=sp+224; ra=[cfa-8]; fp=unchanged",
		12: "cfa=sp+224; ra=[cfa-8]; fp=unchanged",
		16: "cfa=sp+16; ra=[cfa-8]; fp=unchanged",
		20: "cfa=sp; ra=x30; fp=unchanged",
	} {
		r, v := ARM64(code, 0x400000, 0x400000+off)
		if got := arm64Text(r); got != want {
			t.Errorf("+%d: %s, want %s (%+v)", off, got, want, v)
		}
	}
	if own := words(pushPair, call, popPair, br16); resolves(own) || !resolves(code) || resolves(code[:len(code)-4]) {
		t.Error("resolves")
	}
}
