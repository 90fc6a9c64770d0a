package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/clewdbg/clew/plugins/compactunwind"
	unwindinfo "github.com/clewdbg/clew/plugins/compactunwind/table"
	"github.com/clewdbg/clew/unwind"
)

// The size of the section that is measured: that of a large library.
const (
	compactEntries = 21_710
	compactLookups = 100_000
	compactFrames  = 1000
	compactStacks  = 20
	compactBase    = 0x1_0000_0000
)

// frameless is an x86-64 encoding: words of stack, return address included, no
// saved registers.
func frameless(words int) uint32 { return 2<<24 | uint32(words)<<16 }

// compactSection makes a section: functions of 16 to 400 bytes with frames of 2 to
// 200 words, 40 encodings common to all, compressed pages of up to 900 entries.
func compactSection(rng *rand.Rand) (section []byte, starts []uint32, words []int) {
	const common, perPage = 40, 900
	at := uint32(0x1000)
	for range compactEntries {
		starts, words = append(starts, at), append(words, 2+2*rng.IntN(100))
		at += 16 * uint32(1+rng.IntN(25))
	}
	word := func(w ...uint32) {
		for _, v := range w {
			section = binary.LittleEndian.AppendUint32(section, v)
		}
	}
	pages := (compactEntries + perPage - 1) / perPage
	const header = 28
	index := uint32(header + 4*common)
	word(1, header, common, index, 0, index, uint32(pages+1))
	for i := range common {
		word(frameless(2 + 2*i))
	}
	first := index + 12*uint32(pages+1)
	place, bodies := first, [][]uint32(nil)
	for p := range pages {
		from, to := p*perPage, min((p+1)*perPage, compactEntries)
		var palette []uint32
		known := map[int]uint32{}
		var entries []uint32
		for i := from; i < to; i++ {
			which := uint32(words[i]/2 - 1)
			if which >= common {
				if _, ok := known[words[i]]; !ok {
					known[words[i]] = uint32(common + len(palette))
					palette = append(palette, frameless(words[i]))
				}
				which = known[words[i]]
			}
			entries = append(entries, which<<24|(starts[i]-starts[from]))
		}
		body := append([]uint32{3, uint32(len(entries))<<16 | 12, uint32(len(palette))<<16 | uint32(12+4*len(entries))}, entries...)
		body = append(body, palette...)
		word(starts[from], place, first)
		place += uint32(4 * len(body))
		bodies = append(bodies, body)
	}
	word(at, 0, first)
	for _, b := range bodies {
		word(b...)
	}
	return section, starts, words
}

// compact measures Apple's compact unwind information: the index, lookups beside
// the Rust crate's, and frames.
func compact(t *table) error {
	rng := rand.New(rand.NewPCG(3, 4))
	section, starts, words := compactSection(rng)
	whole, err := unwindinfo.Parse(section)
	if err != nil {
		return err
	}
	entries := 0
	for range whole.All() {
		entries++
	}
	if len(whole.Problems()) > 0 || entries != compactEntries {
		return fmt.Errorf("the section: %d entries, %v", entries, whole.Problems())
	}
	t.title = "Apple's compact unwind information"
	t.header = []string{"what", "ns", "allocations", "macho-unwind-info", "against it"}
	t.notes = []string{fmt.Sprintf("A section of %d entries on compressed pages (%d bytes), %d random offsets; %d stacks of %d frames\n"+
		"whose functions are any of the first 50 (the rules are kept from frame to frame), or of all. Peer: the Rust crate\n"+
		"macho-unwind-info, as Debian has it, on the same section and offsets.", compactEntries, len(section), compactLookups, compactStacks, compactFrames)}
	offsets := make([]uint32, compactLookups)
	sum := uint64(0)
	for i := range offsets {
		k := rng.IntN(compactEntries)
		end := starts[k] + 16
		if k+1 < len(starts) {
			end = starts[k+1]
		}
		offsets[i] = starts[k] + rng.Uint32N(end-starts[k])
		sum += uint64(frameless(words[k]))
	}
	find := func() error {
		got := uint64(0)
		for _, at := range offsets {
			e, ok := whole.Find(at)
			if !ok {
				return fmt.Errorf("no entry at %#x", at)
			}
			got += uint64(e.Encoding)
		}
		if got != sum {
			return fmt.Errorf("the encodings found add up to %d, not %d", got, sum)
		}
		return nil
	}
	few, err := walkCompact(rng, section, starts[:50], words)
	if err != nil {
		return err
	}
	many, err := walkCompact(rng, section, starts, words)
	if err != nil {
		return err
	}
	contenders := []contender{
		{name: "index", run: func() error { _, err := unwindinfo.Parse(section); return err }},
		{name: "find", run: find},
		{name: "walk, rules kept", run: few},
		{name: "walk", run: many},
	}
	other, err := startPeer(section, offsets, sum)
	if err != nil {
		t.notes = append(t.notes, "Not measured: "+err.Error())
	} else {
		defer other.stop()
		contenders = append(contenders, contender{name: "macho-unwind-info", run: other.round})
	}
	r, err := compare(t.rounds, contenders...)
	if err != nil {
		return err
	}
	against, ratio := "", ""
	if len(r) > 4 {
		against, ratio = r[4].per(compactLookups), r[1].to(r[4])
	}
	each := func(r result, n int) string { return fmt.Sprintf("%.1f", r.allocs/float64(n)) }
	t.row("index, whole", r[0].total(), r[0].objects(), "", "")
	t.row("an offset's entry is found", r[1].per(compactLookups), each(r[1], compactLookups), against, ratio)
	t.row("a frame, rule kept", r[2].per(compactFrames*compactStacks), each(r[2], compactFrames*compactStacks), "", "")
	t.row("a frame, most rules made anew", r[3].per(compactFrames*compactStacks), each(r[3], compactFrames*compactStacks), "", "")
	return nil
}

// walkCompact returns walks of stacks whose frames are of random functions.
func walkCompact(rng *rand.Rand, section []byte, starts []uint32, words []int) (func() error, error) {
	const low = 0x7000_0000_0000
	u := compactunwind.New()
	code := unwind.Range{Start: compactBase + uint64(starts[0]), End: compactBase + 1<<24}
	reports, err := u.Update(context.Background(), unwind.ImageDelta{Arch: unwind.AMD64, OS: "darwin", Added: []unwind.Image{{ID: 1, Base: compactBase,
		Executable: []unwind.Range{code}, Sections: []unwind.Section{{Name: "__unwind_info", Data: section}}}}})
	if err != nil || reports[0].Problem != "" {
		return nil, fmt.Errorf("the image: %v, %w", reports, err)
	}
	requests := make([][]unwind.WalkRequest, compactStacks)
	for i := range requests {
		var stack []byte
		at := rng.IntN(len(starts))
		var regs unwind.Registers
		regs.Set(unwind.AMD64.PC(), compactBase+uint64(starts[at])+8)
		regs.Set(unwind.AMD64.SP(), low)
		for range compactFrames {
			stack = append(stack, make([]byte, 8*(words[at]-1))...)
			at = rng.IntN(len(starts))
			stack = binary.LittleEndian.AppendUint64(stack, compactBase+uint64(starts[at])+8)
		}
		requests[i] = []unwind.WalkRequest{{Arch: unwind.AMD64, Registers: regs, Kind: unwind.KindReturn, MaxFrames: compactFrames,
			Segment: unwind.Segment{Low: low, High: low + uint64(len(stack))}, Stack: unwind.Windows{{Addr: low, Data: stack}}}}
	}
	return func() error {
		for _, request := range requests {
			results, err := u.Walk(context.Background(), request)
			if err != nil || len(results[0].Steps) != compactFrames {
				return fmt.Errorf("%d steps: %s, %w", len(results[0].Steps), results[0].Reason, err)
			}
		}
		return nil
	}, nil
}
