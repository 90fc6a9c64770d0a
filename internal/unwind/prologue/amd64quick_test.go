package prologue

import (
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// TestQuick compares with x86asm all that is decoded without it.
func TestQuick(t *testing.T) {
	compared := 0
	check := func(code []byte) {
		var got x86asm.Inst
		l := layoutAMD64(code)
		if !quickAMD64(code, &l, &got) {
			return
		}
		compared++
		in, err := x86asm.Decode(code, 64)
		want := x86asm.Inst{Op: in.Op, Args: in.Args, AddrSize: in.AddrSize, DataSize: in.DataSize, MemBytes: in.MemBytes, Len: in.Len}
		if err != nil || got != want {
			t.Fatalf("% x: %+v, x86asm has %+v, %v", code[:l.len], got, want, err)
		}
	}
	tail := []byte{0x91, 0x82, 0x73, 0x84, 0x95, 0x66, 0x77, 0x08, 0x19}
	for rex := range 17 {
		for _, escape := range [][]byte{{}, {0x0f}} {
			for op := range 256 {
				for modrm := range 256 {
					for _, sib := range []byte{0x24, 0x25, 0x65, 0xe5, 0x7c} {
						var code []byte
						if rex < 16 {
							code = append(code, 0x40|byte(rex))
						}
						code = append(append(code, escape...), byte(op), byte(modrm), sib)
						check(append(code, tail...))
					}
				}
			}
		}
	}
	t.Logf("%d forms compared", compared)
	if compared < 1_000_000 {
		t.Error("too few")
	}
}
