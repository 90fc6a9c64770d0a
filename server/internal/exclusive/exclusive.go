// Package exclusive finds sequences of arm64's exclusive instructions in code: a load that
// reserves a place in memory (LDXR, LDAXR, LDXP, LDAXP), and the store that succeeds only while
// the reservation lasts (STXR, STLXR, STXP, STLXP).
//
// An exception takes the reservation away (Arm ARM, "Load-Exclusive and Store-Exclusive
// instructions"): a breakpoint inside, and a single step of any instruction from the load to the
// store. The store then fails, and the code goes back to the load, as often as it is tried.
package exclusive

import (
	"encoding/binary"
	"slices"
)

// Size is that of an instruction.
const Size = 4

// Most is how many instructions behind a load are searched for its store.
const Most = 16

// Sequence is a load, its store, and the branch behind that goes back, where there is one.
type Sequence struct {
	Load, Store uint64
	// End is behind the store, or behind the branch that follows it.
	End uint64
	// Exits are the addresses outside at which code goes on. They are not in order.
	Exits []uint64
}

// Inside says whether a breakpoint at an address takes the reservation away. One at the load does
// not: it comes before.
func (s *Sequence) Inside(pc uint64) bool { return pc > s.Load && pc <= s.Store }

// At decodes a sequence that begins with code, which is at pc. It finds none where code
// between the load and the store calls, returns, jumps, or enters the kernel.
func At(code []byte, pc uint64) (s Sequence, ok bool) {
	if len(code) < Size || classify(word(code, 0)) != load {
		return s, false
	}
	var targets []uint64
	for n := 1; n <= Most && (n+1)*Size <= len(code); n++ {
		w, at := word(code, n), pc+uint64(n)*Size
		switch classify(w) {
		case other, load:
		case conditional:
			targets = append(targets, target(w, at))
		case leaves:
			return s, false
		case store:
			s = Sequence{Load: pc, Store: at, End: at + Size}
			if (n+2)*Size <= len(code) && classify(word(code, n+1)) == conditional {
				targets = append(targets, target(word(code, n+1), s.End))
				s.End += Size
			}
			s.Exits = []uint64{s.End}
			for _, t := range targets {
				if (t < s.Load || t >= s.End) && !slices.Contains(s.Exits, t) {
					s.Exits = append(s.Exits, t)
				}
			}
			return s, true
		}
	}
	return s, false
}

// Around finds the sequence that an address lies inside of, or at the load of: the one with the nearest
// load. read returns the code from an address on, as much as there is of n bytes.
func Around(read func(addr uint64, n int) []byte, pc uint64) (s Sequence, ok bool) {
	const window = (Most + 2) * Size
	if pc%Size != 0 || pc < window {
		return s, false
	}
	from := pc - Most*Size
	code := read(from, 2*window)
	if len(code) == 0 { // the code begins behind that
		from = pc &^ 0xfff
		code = read(from, 2*window)
	}
	for at := pc; ; at -= Size {
		if i := at - from; i < uint64(len(code)) {
			if s, ok = At(code[i:], at); ok && (pc == s.Load || s.Inside(pc)) {
				return s, true
			}
		}
		if at == from { // which may be 0
			return Sequence{}, false
		}
	}
}

func word(code []byte, n int) uint32 { return binary.LittleEndian.Uint32(code[n*Size:]) }

// kind is what an instruction does to a sequence.
type kind uint8

const (
	other kind = iota
	load
	store
	conditional // a branch to an address that it contains
	leaves      // anything else that does not go on behind it, and what the kernel answers
)

// Encodings are those of the Arm ARM, C4.1, "Load/store exclusive register", "Load/store exclusive pair", and "Branches,
// Exception Generating and System instructions".
func classify(w uint32) kind {
	switch {
	case w&0x3fa00000 == 0x08000000, w&0xbfa00000 == 0x88200000: // one register of four sizes; two of two sizes
		if w&(1<<22) != 0 {
			return load
		}
		return store
	case w&0xff000000 == 0x54000000, w&0x7c000000 == 0x34000000: // b.cond, bc.cond; cbz, cbnz, tbz, tbnz
		return conditional
	case w&0x7c000000 == 0x14000000, w&0xfe000000 == 0xd6000000, w&0xff000000 == 0xd4000000, w>>16 == 0: // b, bl; br, blr, ret; svc, brk; udf
		return leaves
	}
	return other
}

// target is where a conditional branch at an address leads to.
func target(w uint32, at uint64) uint64 {
	low, bits := 5, 19
	if w&0x7e000000 == 0x36000000 { // tbz, tbnz
		bits = 14
	}
	offset := int64(w) << (64 - low - bits) >> (64 - bits) * Size
	return at + uint64(offset)
}
