package exclusive

import (
	"encoding/binary"
	"slices"
	"testing"
)

const (
	at  = 0x40_1000
	nop = 0xd503201f
)

func code(words ...uint32) (out []byte) {
	for _, w := range words {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	return out
}

// branches, by how many instructions
func cbnz(to int32) uint32 { return 0x35000000 | uint32(to)&0x7ffff<<5 | 3 }
func tbnz(to int32) uint32 { return 0x37000000 | uint32(to)&0x3fff<<5 | 3 }
func bne(to int32) uint32  { return 0x54000001 | uint32(to)&0x7ffff<<5 }

// TestEncodings: all sizes, as binutils encodes them, and what looks alike.
func TestEncodings(t *testing.T) {
	for want, words := range map[kind][]uint32{
		load: {
			0x085f7c20, 0x485f7c20, 0x885f7c20, 0xc85f7c20, // ldxrb, ldxrh, ldxr w0, ldxr x0, [x1]
			0x085ffc20, 0x485ffc20, 0x885ffc20, 0xc85ffc20, // ldaxrb, ldaxrh, ldaxr w0, ldaxr x0
			0x887f0820, 0xc87f0820, 0x887f8820, 0xc87f8820, // ldxp w0, w2; ldxp x0, x2; ldaxp of both
		},
		store: {
			0x08037c20, 0x48037c20, 0x88037c20, 0xc8037c20, // stxrb w3, w0, [x1]; ...
			0x0803fc20, 0x4803fc20, 0x8803fc20, 0xc803fc20, // stlxrb, ...
			0x88230820, 0xc8230820, 0x88238820, 0xc8238820, // stxp w3, w0, w2, [x1]; ...; stlxp
		},
		conditional: {cbnz(-3), bne(4), tbnz(2), 0xb4000040, 0x36000040, 0x54000050}, // cbz x0; tbz; bc.eq
		leaves: {
			0x14000001, 0x94000001, 0xd61f0020, 0xd63f0020, 0xd65f03c0, 0xd65f0bff, // b, bl, br, blr, ret, retaa
			0xd4000001, 0xd4200000, 0, // svc, brk, udf
		},
		other: {
			nop, 0x91000400, 0xf9400020, 0xf9000020, 0xd503305f, // nop, add, ldr, str, clrex
			0x88dffc20, 0x889ffc20, 0xc8dffc20, 0x889f7c20, // ldar, stlr, ldar x, stllr
			0x88a37c20, 0xc8e3fc20, // cas, casal
			0x08247c40, 0x48647c40, 0x4824fc40, // casp w, caspa x, caspl x
			0xb8230020, 0xf8e30020, // ldadd, ldaddal
			0xa9400420, 0xa9000420, 0x3dc00020, // ldp, stp, ldr q0
		},
	} {
		for _, w := range words {
			if got := classify(w); got != want {
				t.Errorf("%#08x: %v, want %v", w, got, want)
			}
		}
	}
}

func TestAt(t *testing.T) {
	const ldxr, stxr, ldaxp, stlxp = 0xc85f7c20, 0xc8037c20, 0xc87f8820, 0xc8238820
	long := slices.Concat([]uint32{ldxr}, slices.Repeat([]uint32{nop}, Most-1), []uint32{stxr, cbnz(-Most)})
	for name, c := range map[string]struct {
		words []uint32
		store int   // 0 for no sequence
		exits []int // instructions from the load
	}{
		"a counter":                             {[]uint32{ldxr, nop, stxr, cbnz(-3), nop}, 2, []int{4}},
		"two registers":                         {[]uint32{ldaxp, nop, stlxp, cbnz(-3), nop}, 2, []int{4}},
		"nothing between":                       {[]uint32{ldxr, stxr, cbnz(-2)}, 1, []int{3}},
		"compare and swap":                      {[]uint32{ldxr, nop, bne(3), stxr, cbnz(-4), nop}, 3, []int{5}},
		"left by a branch":                      {[]uint32{ldxr, nop, bne(30), stxr, cbnz(-4), nop}, 3, []int{5, 32}},
		"left by a bit":                         {[]uint32{ldxr, nop, tbnz(-30), stxr, cbnz(-4), nop}, 3, []int{5, -28}},
		"tried again from before the load":      {[]uint32{ldxr, nop, stxr, cbnz(-5), nop}, 2, []int{4, -2}},
		"a spinlock goes back before its store": {[]uint32{ldxr, cbnz(-1), stxr, cbnz(-3), nop}, 2, []int{4}},
		"a comparison behind the store":         {[]uint32{ldxr, nop, stxr, nop, bne(-4)}, 2, []int{3}},
		"the code ends behind the store":        {[]uint32{ldxr, nop, stxr}, 2, []int{3}},
		"a second load":                         {[]uint32{ldxr, ldxr, stxr, cbnz(-3)}, 2, []int{4}},
		"as long as it may be":                  {long, Most, []int{Most + 2}},
		"too long":                              {slices.Insert(slices.Clone(long), 1, nop), 0, nil},
		"no load":                               {[]uint32{nop, ldxr, stxr}, 0, nil},
		"no store":                              {[]uint32{ldxr, nop, nop}, 0, nil},
		"a call between":                        {[]uint32{ldxr, 0x94000001, stxr}, 0, nil},
		"a return between":                      {[]uint32{ldxr, 0xd65f03c0, stxr}, 0, nil},
		"no code":                               {nil, 0, nil},
	} {
		s, ok := At(code(c.words...), at)
		if ok != (c.store != 0) {
			t.Errorf("%s: found %v", name, ok)
			continue
		}
		var exits []uint64
		for _, e := range c.exits {
			exits = append(exits, at+uint64(4*e))
		}
		if ok && (s.Load != at || s.Store != at+uint64(4*c.store) || !slices.Equal(s.Exits, exits)) {
			t.Errorf("%s: %#x, want a store at +%d and exits %#x", name, s, c.store, exits)
		}
	}
}

// TestAround: from each instruction of a sequence, and from those before and behind; also where
// the code begins with the sequence.
func TestAround(t *testing.T) {
	sequence := []uint32{0xc85f7c20, nop, 0xc8037c20, cbnz(-3)}
	for name, before := range map[string]int{"in the middle": 100, "at the beginning of its page": 0} {
		text := code(slices.Concat(slices.Repeat([]uint32{nop}, before), sequence, slices.Repeat([]uint32{nop}, 40))...)
		read := func(addr uint64, n int) []byte {
			if addr < at || addr >= at+uint64(len(text)) {
				return nil
			}
			rest := text[addr-at:]
			return rest[:min(n, len(rest))]
		}
		load := at + uint64(4*before)
		for i, want := range []bool{true, true, true, false, false} {
			pc := load + uint64(4*i)
			s, ok := Around(read, pc)
			if ok != want || ok && s.Load != load {
				t.Errorf("%s: %v at instruction %d: %#x", name, ok, i, s)
			}
			if inside := i == 1 || i == 2; ok && s.Inside(pc) != inside {
				t.Errorf("%s: instruction %d is inside: %v", name, i, !inside)
			}
		}
		for _, pc := range []uint64{load - 4, load + 2, 4} {
			if s, ok := Around(read, pc); ok {
				t.Errorf("%s: %#x at %#x", name, s, pc)
			}
		}
	}
}

// TestFirstPage: the search for a load ends where code begins at address 0.
func TestFirstPage(t *testing.T) {
	read := func(addr uint64, n int) []byte {
		if addr > 0 {
			return nil
		}
		return make([]byte, n)
	}
	if s, ok := Around(read, 0x60); ok {
		t.Errorf("%+v", s)
	}
}
