package compactunwind

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// Where things are in the section that TestBadInput damages: an index of two
// pages and a sentinel, and the pages, whose entries have 8 bytes.
const (
	badIndex   = 28
	badFirst   = badIndex + 3*12
	badSecond  = badFirst + 8 + 8*500
	badEntries = 8
	badStack   = 0x1000_0000
)

// badEncodings are 600 functions' with a frame of four words.
func badEncodings() []uint32 {
	encodings := make([]uint32, 600)
	for i := range encodings {
		encodings[i] = 2<<24 | 4<<16
	}
	return encodings
}

// walkAt walks one step out of function i.
func walkAt(t *testing.T, u unwind.Unwinder, i int) unwind.WalkResult {
	t.Helper()
	var regs unwind.Registers
	regs.Set(unwind.AMD64.PC(), madeBase+0x1000+uint64(i)*functionSize+8)
	regs.Set(unwind.AMD64.SP(), badStack)
	regs.Set(unwind.AMD64.FP(), badStack+48)
	stack := make([]byte, 4096)
	for at := 0; at < len(stack); at += 8 {
		binary.LittleEndian.PutUint64(stack[at:], madeBase+0x1008)
	}
	results, err := u.Walk(t.Context(), []unwind.WalkRequest{{Arch: unwind.AMD64, Registers: regs, Kind: unwind.KindReturn, MaxFrames: 1, AllRegisters: true,
		Segment: unwind.Segment{Low: badStack, High: badStack + uint64(len(stack))}, Stack: unwind.Windows{{Addr: badStack, Data: stack}}}})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

// TestBadInput: what is wrong with a section is said, with page and entry; code
// that it takes away has no rule, so that the next strategy is asked; the rest
// stays.
func TestBadInput(t *testing.T) {
	const all, none = -1, -2
	const entry20 = badFirst + badEntries + 8*20
	for name, c := range map[string]struct {
		at      int // of the word that is changed
		to      uint32
		problem string // of the image, "" where only a frame shows it
		reason  string // of a walk that starts in the hole
		hole    int    // a function without a rule
		kept    int    // a function with one
	}{
		"version":                  {0, 7, "version 7", "", all, none},
		"index outside":            {20, 1 << 30, "index (3 at offset 0x40000000)", "", all, none},
		"index of too many":        {24, 1 << 30, "do not lie in the section", "", all, none},
		"page kind":                {badFirst, 9, "page 0 at offset 0x40: kind 9", "", 10, 550},
		"page outside":             {badIndex + 12 + 4, 1 << 30, "page 1 at offset 0x40000000", "", 550, 10},
		"entries outside":          {badSecond + 4, 60000<<16 | 8, "page 1 at offset", "", 550, 10},
		"entries out of order":     {badSecond + badEntries + 8*7, 0x1000, "page 1, entry 7", "", 550, 10},
		"beyond the page's end":    {badFirst + badEntries + 8*499, 0x80_0000, "page 0, entry 499", "", 10, 550},
		"sentinel in the middle":   {badIndex + 12 + 4, 0, "page 1 at offset 0x28: a sentinel in the middle", "", 550, 10},
		"sentinel missing":         {badIndex + 24 + 4, badFirst, "does not end in a sentinel", "", none, 10},
		"index out of order":       {badIndex + 12, 0x10, "page 0 at offset 0x1c: the index is out of order", "", 10, none},
		"mode":                     {entry20 + 4, 9 << 24, "", "mode 9", 20, 21},
		"register 6":               {entry20 + 4, 1<<24 | 5<<16 | 6, "", "register number 6", 20, 21},
		"register 7":               {entry20 + 4, 1<<24 | 5<<16 | 7<<3, "", "register number 7", 20, 21},
		"register twice":           {entry20 + 4, 1<<24 | 5<<16 | 3<<3 | 3, "", "two slots have register number 3", 20, 21},
		"7 registers on page 1":    {badSecond + badEntries + 8*50 + 4, 2<<24 | 20<<16 | 7<<10, "", "page 1, entry 50 at offset 0x1180: ", 550, 551},
		"7 registers":              {entry20 + 4, 2<<24 | 20<<16 | 7<<10, "", "no order of 7 registers", 20, 21},
		"impossible permutation":   {entry20 + 4, 2<<24 | 20<<16 | 1<<10 | 6, "", "no order of 1 registers has number 6", 20, 21},
		"no room":                  {entry20 + 4, 2<<24 | 2<<16 | 3<<10, "", "no room for 3 registers", 20, 21},
		"sub that is not there":    {entry20 + 4, 3<<24 | 7<<16 | 1<<13, "", "no instruction at offset 4", 20, 21},
		"sub beyond the code":      {entry20 + 4, 3<<24 | 1<<16 | 1<<13, "", "not at offset 1: no instruction has an operand", 20, 21},
		"FDE that is not there":    {entry20 + 4, 4<<24 | 0x30, "", "its encoding names one (at 0x30", 20, 21},
		"null":                     {entry20 + 4, 0, "", "no compact unwind rules", 20, 21},
		"a return address of none": {entry20 + 4, 0xffff_ffff, "page 0, entry 20", "", 10, 550},
	} {
		t.Run(name, func(t *testing.T) {
			image := made(badEncodings(), []byte{0x90, 0x90})
			binary.LittleEndian.PutUint32(image.Sections[0].Data[c.at:], c.to)
			u := New()
			reports, err := u.Update(t.Context(), unwind.ImageDelta{Arch: unwind.AMD64, OS: "darwin", Added: []unwind.Image{image}})
			if err != nil {
				t.Fatal(err)
			}
			if p := reports[0].Problem; (p == "") != (c.problem == "") || !strings.Contains(p, c.problem) {
				t.Errorf("problem %q, want %q", p, c.problem)
			}
			if c.hole != none {
				hole := c.hole
				if hole == all {
					hole = 10
				}
				r := walkAt(t, u, hole)
				if len(r.Steps) > 0 || r.Stop != unwind.StopNoRule || !strings.Contains(r.Reason, c.reason) {
					t.Errorf("in the hole: %v %q, %d steps; want %q", r.Stop, r.Reason, len(r.Steps), c.reason)
				}
				place := fmt.Sprintf("page 0, entry 20 at offset %#x: ", entry20)
				if named := strings.Contains(r.Reason, place); hole == 20 && named != (c.to != 0) {
					t.Errorf("%q, want %q in it unless the encoding is the null one", r.Reason, place)
				}
			}
			if c.kept != none {
				if r := walkAt(t, u, c.kept); len(r.Steps) != 1 || r.Steps[0].CFA != badStack+32 {
					t.Errorf("what is kept: %v %q", r.Stop, r.Reason)
				}
			}
		})
	}
}

// TestDamagedBytes: whatever bytes of a section are changed, walks end, and a
// frame lies on the stack.
func TestDamagedBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		image := made(badEncodings(), []byte{0x90, 0x90})
		info := image.Sections[0].Data
		for range 1 + r.IntN(6) {
			at := r.IntN(len(info))
			if r.IntN(2) == 0 {
				at = r.IntN(badFirst + 16) // where a byte matters most
			}
			info[at] = byte(r.Uint32())
		}
		u := New()
		if _, err := u.Update(t.Context(), unwind.ImageDelta{Arch: unwind.AMD64, OS: "darwin", Added: []unwind.Image{image}}); err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, 10, 499, 500, 599} {
			result := walkAt(t, u, i)
			if len(result.Steps) == 0 && result.Stop != unwind.StopNoRule && result.Stop != unwind.StopBroken && result.Stop != unwind.StopMemory {
				t.Errorf("%v: %s", result.Stop, result.Reason)
			}
			for _, s := range result.Steps {
				if s.CFA <= badStack || s.CFA > badStack+4096 {
					t.Errorf("CFA %#x", s.CFA)
				}
			}
		}
	}
}

// TestWarmWalk: a walk over places that were seen allocates for its result, not
// for its frames.
func TestWarmWalk(t *testing.T) {
	const frames = 400
	image, request, _ := deep(t, frames)
	u := with(t, unwind.AMD64, image)
	requests := []unwind.WalkRequest{request}
	walk := func() {
		if results, err := u.Walk(t.Context(), requests); err != nil || len(results[0].Steps) < frames-1 {
			t.Fatalf("%d steps, %v", len(results[0].Steps), err)
		}
	}
	walk()
	if n := testing.AllocsPerRun(10, walk); n > 16 {
		t.Errorf("%v allocations for %d frames", n, frames)
	}
}
