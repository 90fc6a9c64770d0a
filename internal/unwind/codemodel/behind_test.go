package codemodel_test

import (
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// alone is code of which one function's beginning is known.
type alone struct {
	flat
	grade prologue.Proof
}

func (a *alone) Bounds(uint64) (codemodel.Piece, bool) { return codemodel.Piece{}, false }

func (a *alone) Layout() *codemodel.Layout {
	return &codemodel.Layout{
		Code:  []unwind.Range{{Start: a.addr, End: a.addr + uint64(len(a.code))}},
		Known: []codemodel.Start{{Addr: a.addr, Source: codemodel.Symbol, Grade: a.grade}},
	}
}

// TestBehindACall: what begins as a function does, right behind a call of unknown code, is another function, wherever
// it lies: the call does not come back, and the frame is its own. Other code belongs to the function with the call.
func TestBehindACall(t *testing.T) {
	const (
		base  = 0x1000
		push  = 0xa9bc7bfd // stp x29, x30, [sp, #-64]!
		frame = 0x910003fd // mov x29, sp
		call  = 0xd63f0020 // blr x1
		nop   = 0xd503201f
		bti   = 0xd503245f // bti c
		sign  = 0xd503233f // paciasp
		own   = 0xa9ba7bfd // stp x29, x30, [sp, #-96]!
		down  = 0xd10183ff // sub sp, sp, #96
		save  = 0xa9007bfd // stp x29, x30, [sp]
		pair  = 0xa90153f3 // stp x19, x20, [sp, #16]
		pop   = 0xa8c67bfd // ldp x29, x30, [sp], #96
		ret   = 0xd65f03c0
	)
	for name, c := range map[string]struct {
		before, begins []uint32
		another        bool
	}{
		"a push":                {nil, []uint32{own}, true},
		"a push behind fillers": {[]uint32{nop, nop}, []uint32{own}, true},
		"a landing pad":         {nil, []uint32{bti, own}, true},
		"a signature":           {nil, []uint32{sign, own}, true},
		"a frame, then a store": {nil, []uint32{down, save}, true},
		"other registers":       {nil, []uint32{pair}, false},
		"a frame alone":         {nil, []uint32{down, pair}, false},
	} {
		words := append(append([]uint32{push, frame, call}, c.before...), c.begins...)
		words = append(words, frame, nop, pop, ret)
		var code []byte
		for _, w := range words {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		model := codemodel.New(unwind.ARM64, &alone{flat{addr: base, code: code}, prologue.Proven})
		begins, inside := base+4*uint64(3+len(c.before)), base+uint64(len(code))-12
		fn := model.At(inside)
		if fn == nil {
			t.Fatalf("%s: no function", name)
		}
		place, ok := fn.At(inside)
		if !c.another {
			if fn.Start != base {
				t.Errorf("%s: another function begins at %#x", name, fn.Start)
			}
			continue
		}
		if fn.Start != begins || !ok || place.Proof != prologue.Some || place.Rule.CFA != rule.In(unwind.ARM64FP, 96) {
			t.Errorf("%s: function at %#x, want %#x; %v %s", name, fn.Start, begins, place.Proof, place.Rule.String())
		}
		for _, grade := range []prologue.Proof{prologue.Proven, prologue.Guessed} { // no start is surer than the code with the call
			for _, s := range codemodel.New(unwind.ARM64, &alone{flat{addr: base, code: code}, grade}).Starts() {
				if s.Addr == begins && (s.Source != codemodel.Behind || s.Grade != min(grade, prologue.Some)) {
					t.Errorf("%s: %v, grade %v of %v", name, s.Source, s.Grade, grade)
				}
			}
		}
	}
}
