package compactunwind

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// functionSize is the distance of the functions that made sections describe.
const functionSize = 0x40

// madeBase is where they are loaded: 32 bits can address it.
const madeBase = 0x4000_0000

// made is an image with one function for each encoding, functionSize apart from
// madeBase + 0x1000 on, in one regular page after another. Its code is all the
// same.
func made(encodings []uint32, code []byte) unwind.Image {
	const perPage = 500
	pages := (len(encodings) + perPage - 1) / perPage
	var info []byte
	word := func(w ...uint32) {
		for _, v := range w {
			info = binary.LittleEndian.AppendUint32(info, v)
		}
	}
	at := func(i int) uint32 { return 0x1000 + uint32(i)*functionSize }
	index := uint32(28)
	first := index + 12*uint32(pages+1)
	word(1, index, 0, index, 0, index, uint32(pages+1))
	for p := range pages {
		word(at(p*perPage), first+uint32(p)*(8+8*perPage), first)
	}
	word(at(len(encodings)), 0, first)
	for p := range pages {
		page := encodings[p*perPage : min((p+1)*perPage, len(encodings))]
		word(2, uint32(len(page))<<16|8)
		for i, e := range page {
			word(at(p*perPage+i), e)
		}
	}
	start := uint64(madeBase) + uint64(at(0))
	end := madeBase + uint64(at(len(encodings)))
	text := make([]byte, end-start)
	for i := 0; i < len(text); i += functionSize {
		copy(text[i:], code)
	}
	return unwind.Image{ID: 1, Base: madeBase, Executable: []unwind.Range{{Start: start, End: end}},
		Sections: []unwind.Section{{Name: sectionInfo, Data: info}, {Name: sectionText, Addr: start, Data: text}}}
}

// x86 is what the two architectures differ in.
type x86 struct {
	arch  unwind.Arch
	word  int
	saved [6]unwind.Register // by the encoding's numbers
	sub   []byte
}

var x86s = []x86{
	{unwind.AMD64, 8, [6]unwind.Register{3, 12, 13, 14, 15, 6}, []byte{0x48, 0x81, 0xec}},
	{unwind.I386, 4, [6]unwind.Register{3, 1, 2, 7, 6, 5}, []byte{0x81, 0xec}},
}

// saving is a function that has pushed registers, and how it is encoded.
type saving struct {
	order    []int // numbers from 1 on, lowest address first; in frames 0 is a slot without one
	encoding uint32
	below    int // words below the lowest
	frame    bool
}

// savings are all orders of all counts of registers: without a frame pointer,
// with the size in the encoding and in the code; and with one, in which slots may
// be empty.
func savings(c *x86, sub int) (list []saving) {
	var order []int
	var visit func(frame bool, deepest int)
	visit = func(frame bool, deepest int) {
		list = append(list, encodeSaving(c, slices.Clone(order), frame, sub)...)
		if len(order) == deepest {
			return
		}
		for r := range 7 {
			switch {
			case r == 0 && !frame, frame && r == 6, r > 0 && slices.Contains(order, r):
				continue
			}
			order = append(order, r)
			visit(frame, deepest)
			order = order[:len(order)-1]
		}
	}
	visit(false, 6)
	visit(true, 5)
	return list
}

// number numbers an order of registers as LLVM's encoder does: for each, how many
// lower ones come later or not at all.
func number(order []int) (n uint32) {
	weights := [][]uint32{{}, {1}, {5, 1}, {20, 4, 1}, {60, 12, 3, 1}, {120, 24, 6, 2, 1}, {120, 24, 6, 2, 1, 0}}[len(order)]
	for i, r := range order {
		lower := uint32(0)
		for other := 1; other < r; other++ {
			if !slices.Contains(order[:i], other) {
				lower++
			}
		}
		n += lower * weights[i]
	}
	return n
}

func encodeSaving(c *x86, order []int, frame bool, sub int) []saving {
	if frame {
		slots := uint32(0)
		for i, r := range order {
			slots |= uint32(r) << (3 * i)
		}
		return []saving{{order, 1<<24 | uint32(len(order))<<16 | slots, 0, true}}
	}
	perm := uint32(len(order))<<10 | number(order)
	const local = 4 // words
	at := uint32(3 + len(c.sub))
	return []saving{
		{order, 2<<24 | uint32(local+len(order)+1)<<16 | perm, local, false},
		{order, 3<<24 | at<<16 | uint32(len(order)+1)<<13 | perm, sub / c.word, false},
	}
}

// TestOrders: every order of saved registers, of every count, in every mode of
// x86 and x86-64, leads to the registers' values.
func TestOrders(t *testing.T) {
	const sub = 0x1080
	for i := range x86s {
		c := &x86s[i]
		t.Run(c.arch.String(), func(t *testing.T) {
			list := savings(c, sub)
			// 1957 orders of up to 6 of 6 registers, in two modes; frames have more, as
			// slots may be empty.
			if len(list) < 2*1957+1000 {
				t.Fatalf("only %d functions", len(list))
			}
			var encodings []uint32
			for _, s := range list {
				encodings = append(encodings, s.encoding)
			}
			code := append([]byte{0x90, 0x90, 0x90}, c.sub...)
			code = binary.LittleEndian.AppendUint32(code, sub)
			image := made(encodings, code)
			u := New()
			reports, err := u.Update(t.Context(), unwind.ImageDelta{Arch: c.arch, OS: "darwin", Added: []unwind.Image{image}})
			if err != nil || reports[0].Problem != "" {
				t.Fatalf("%+v, %v", reports, err)
			}
			r := rand.New(rand.NewPCG(7, 8))
			for k, s := range list {
				if problem := checkSaving(t, u, c, &s, madeBase+0x1000+uint64(k)*functionSize, r); problem != "" {
					t.Fatalf("%v, frame %v, encoding %#x: %s", s.order, s.frame, s.encoding, problem)
				}
			}
			t.Logf("%d functions", len(list))
		})
	}
}

// checkSaving walks out of a function, and compares the registers of its caller.
func checkSaving(t *testing.T, u unwind.Unwinder, c *x86, s *saving, at uint64, r *rand.Rand) string {
	const stack = 0x1000_0000
	var memory []byte
	push := func(v uint64) {
		if c.word == 8 {
			memory = binary.LittleEndian.AppendUint64(memory, v)
		} else {
			memory = binary.LittleEndian.AppendUint32(memory, uint32(v))
		}
	}
	var regs unwind.Registers
	want := map[unwind.Register]uint64{}
	for _, reg := range c.arch.CalleeSaved() {
		want[reg] = uint64(r.Uint32())
		regs.Set(reg, want[reg])
	}
	for range s.below {
		push(r.Uint64())
	}
	for _, n := range s.order {
		v := uint64(r.Uint32())
		push(v)
		if n > 0 {
			// ecx and edx are callee-saved for these functions alone.
			want[c.saved[n-1]] = v
		}
	}
	const ra = madeBase + 0x1010
	caller := uint64(0x1234_5670)
	if s.frame {
		regs.Set(c.arch.FP(), stack+uint64(len(memory)))
		want[c.arch.FP()] = caller
		push(caller)
	}
	push(ra)
	sp := uint64(stack + len(memory))
	memory = append(memory, make([]byte, 64)...)
	regs.Set(c.arch.PC(), at+0x20)
	regs.Set(c.arch.SP(), stack)
	results, err := u.Walk(t.Context(), []unwind.WalkRequest{{Arch: c.arch, Registers: regs, Kind: unwind.KindReturn, MaxFrames: 1, AllRegisters: true,
		Segment: unwind.Segment{Low: stack, High: stack + uint64(len(memory))}, Stack: unwind.Windows{{Addr: stack, Data: memory}}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(results[0].Steps) != 1 {
		return fmt.Sprintf("stop %v: %s", results[0].Stop, results[0].Reason)
	}
	got := &results[0].Steps[0].Caller
	if v, _ := got.SP(c.arch); v != sp {
		return fmt.Sprintf("stack pointer %#x, want %#x", v, sp)
	}
	for reg, v := range want {
		if g, ok := got.Get(reg); !ok || g != v {
			return fmt.Sprintf("register %s %#x, %v; want %#x", c.arch.RegisterName(reg), g, ok, v)
		}
	}
	return ""
}
