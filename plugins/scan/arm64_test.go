package scan

import (
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// Functions of arm64, in words from codeBase on.
const (
	armRestorer = 8  // a signal handler's way back
	armPointer  = 16 // calls what x8 holds
	armDirect   = 32 // calls armCallee
	armCallee   = 48 // has its record at the bottom of its 48 bytes
	armNops     = 64
)

var imageARM64 = func() (code []byte) {
	words := make([]uint32, codeSize/4)
	for i := range words {
		words[i] = 0xd503201f // nop
	}
	put := func(at int, code ...uint32) { copy(words[at:], code) }
	put(armRestorer, 0xd2801168, 0xd4000001) // mov x8, #139; svc #0
	put(armPointer, 0xa9bf7bfd, 0xd63f0100)  // stp x29, x30, [sp, #-16]!; blr x8
	put(armDirect, 0xa9bf7bfd, 0x94000000|(armCallee-armDirect-1))
	put(armCallee, 0xa9bd7bfd, 0x910003fd, 0xd63f0100, 0xa8c37bfd, 0xd65f03c0) // stp x29, x30, [sp, #-48]!; mov x29, sp; blr x8; ldp x29, x30, [sp], #48; ret
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	return code
}()

func armPC(word uint64) uint64 { return codeBase + 4*word }

// TestR12LowerBound: on arm64 a record may be at the bottom of its frame, so that what scan finds does not tell
// the caller's stack pointer, unless the function's code does. On Darwin it is the uppermost part.
func TestR12LowerBound(t *testing.T) {
	const fp = stackBase + 0x40
	for name, c := range map[string]struct {
		os    string
		pc    uint64
		words []uint64
		known bool
		cfa   uint64 // above the stack pointer
		rule  string
	}{
		"called through a pointer": {"linux", armPC(armNops), []uint64{fp, armPC(armPointer + 2), 1, 2, 3, 4, 5, 6}, false, 16, "cfa=unknown; ra=[sp+8]; fp=[sp+0]"},
		"the record is higher":     {"linux", armPC(armNops), []uint64{1, 2, fp, armPC(armPointer + 2), 3, 4, 5, 6}, false, 32, "cfa=unknown; ra=[sp+24]; fp=undefined"},
		"a signal's handler":       {"linux", armPC(armNops), []uint64{fp, armPC(armRestorer), 1, 2, 3, 4, 5, 6}, false, 16, "cfa=unknown; ra=[sp+8]; fp=[sp+0]"},
		"the code tells":           {"linux", armPC(armCallee + 3), []uint64{fp, armPC(armDirect + 2), 1, 2, 3, 4, 5, 6}, true, 48, "cfa=sp+48; ra=[cfa-40]; fp=[cfa-48]"},
		"Darwin":                   {"darwin", armPC(armNops), []uint64{fp, armPC(armPointer + 2), 1, 2, 3, 4, 5, 6}, true, 16, "cfa=sp+16; ra=[cfa-8]; fp=[cfa-16]"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := stackasm.New(unwind.ARM64, stackBase).Word(c.words...).Assemble()
			if err != nil {
				t.Fatal(err)
			}
			f := &frame{TB: t, delta: delta64, request: unwind.WalkRequest{Arch: unwind.ARM64, Kind: unwind.KindReturn, MaxFrames: 10,
				Segment: m.Segment(unwind.SegmentThread), Stack: append(m.Windows(), unwind.Window{Addr: codeBase, Data: imageARM64})}}
			f.delta.Arch, f.delta.OS = unwind.ARM64, c.os
			r := f.set(unwind.ARM64PC, c.pc).set(unwind.ARM64SP, stackBase).set(unwind.ARM64FP, stackBase).walk()
			if len(r.Steps) == 0 {
				t.Fatalf("no steps; %v %s", r.Stop, r.Reason)
			}
			s := r.Steps[0]
			sp, known := s.Caller.SP(unwind.ARM64)
			if known != c.known || known && sp != s.CFA || s.CFA != stackBase+c.cfa || s.Rule != c.rule {
				t.Errorf("SP %#x (known: %v), CFA %#x by %s; want CFA %#x, %v, %s", sp, known, s.CFA, s.Rule, stackBase+c.cfa, c.known, c.rule)
			}
			if !c.known && len(r.Steps) > 1 {
				t.Errorf("%d more steps from an unknown stack pointer", len(r.Steps)-1)
			}
		})
	}
}
