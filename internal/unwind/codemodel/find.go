package codemodel

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Bounds of one search for starts: bytes of code, decoded instructions, rounds of
// surveys.
const (
	maxText         = 64 << 20
	maxInstructions = 32 << 20
	maxRounds       = 8
	maxPointers     = 1 << 20
)

// bitset is a set of offsets.
type bitset []uint64

func (b bitset) set(at uint64)      { b[at/64] |= 1 << (at % 64) }
func (b bitset) has(at uint64) bool { return b[at/64]>>(at%64)&1 != 0 }

// next returns the first member in [at, end); ok is false if the range has no member.
func (b bitset) next(at, end uint64) (uint64, bool) {
	for at < end {
		if word := b[at/64] >> (at % 64); word != 0 {
			at += uint64(bits.TrailingZeros64(word))
			return at, at < end
		}
		at = at&^63 + 64
	}
	return 0, false
}

// finder looks for the starts of an image. Places are offsets in text.
type finder struct {
	image   *Image
	layout  *Layout
	code    unwind.RangeSet
	base    uint64
	text    []byte
	decoder prologue.Decoder
	budget  int

	begins, covered bitset // instructions that are reached, and all of their bytes
	starts, hints   bitset // of functions; and where direct calls lead, for certain or not
	fallen          bitset // where functions may begin though code behind a call runs into it
	known           map[uint64]Start
	jumps           map[uint64][]uint64 // which functions jump to a place with a frame
	work            []visit
	later           []leap
	pointers        []uint64
	indirect        map[uint64]bool   // starts of functions whose jumps a survey has to tell apart
	surveyed        map[uint64]uint64 // up to where a function was
}

// visit is a place to follow code from, as part of what begins at owner.
type visit struct{ at, owner uint64 }

// leap is a jump beyond the function that it is in.
type leap struct{ to, owner uint64 }

// find finds the starts of an image.
func find(m *Image) *found {
	whole, ok := m.contents.(WholeImage)
	if !ok {
		return &found{}
	}
	layout := whole.Layout()
	f := &finder{image: m, layout: layout, known: make(map[uint64]Start), jumps: make(map[uint64][]uint64), budget: maxInstructions,
		indirect: make(map[uint64]bool), surveyed: make(map[uint64]uint64)}
	if layout == nil || !f.read(layout.Code) {
		return &found{}
	}
	m.pieces, m.text, m.base, m.plain = f, f.text, f.base, make([]uint8, len(f.text))
	m.pointers = slices.SortedFunc(slices.Values(layout.Pointers[:min(len(layout.Pointers), maxPointers)]), byTarget)
	defer func() { m.text, m.plain = nil, nil }()
	f.sweep()
	for _, s := range layout.Known {
		f.add(s)
	}
	f.descend()
	f.settle()
	f.each(f.hints, func(at uint64) {
		if f.begins.has(at) || !f.covered.has(at) {
			f.add(Start{Addr: f.base + at, Source: Swept, Grade: prologue.Some})
		}
	})
	f.descend()
	f.settle()
	for f.follow() || f.land() {
		f.settle()
	}
	if !layout.Exceptions {
		f.gaps()
	}
	out := &found{starts: slices.SortedFunc(maps.Values(f.known), func(a, b Start) int { return cmp.Compare(a.Addr, b.Addr) }), jumps: f.jumps, code: f.code}
	return out
}

// read reads the code. It returns false if the image has no code, or too much.
func (f *finder) read(code []unwind.Range) bool {
	f.code = unwind.NewRangeSet(code...)
	if len(f.code) == 0 {
		return false
	}
	f.base = f.code[0].Start
	size := f.code[len(f.code)-1].End - f.base
	if size > maxText {
		return false
	}
	f.text = make([]byte, size)
	for _, r := range f.code {
		copy(f.text[r.Start-f.base:], f.image.contents.Code(r.Start, int(r.End-r.Start)))
	}
	words := size/64 + 1
	for _, set := range []*bitset{&f.begins, &f.covered, &f.starts, &f.hints, &f.fallen} {
		*set = make(bitset, words)
	}
	return true
}

// at is the place of an address; ok is false where no code is.
func (f *finder) at(addr uint64) (uint64, bool) {
	at := addr - f.base
	return at, at < uint64(len(f.text)) && f.code.Contains(addr)
}

func (f *finder) each(set bitset, yield func(at uint64)) {
	for at, ok := set.next(0, uint64(len(f.text))); ok; at, ok = set.next(at+1, uint64(len(f.text))) {
		yield(at)
	}
}

func (f *finder) decode(at uint64) prologue.Insn {
	if n := f.image.plain[at]; n != 0 {
		return prologue.Insn{Len: int(n)}
	}
	const longest = 16
	return f.decoder.For(f.image.arch, f.text[at:min(at+longest, uint64(len(f.text)))], f.base+at)
}

// sweep decodes all code from start to end and notes where calls lead.
func (f *finder) sweep() {
	for _, r := range f.code {
		for at, end := r.Start-f.base, r.End-f.base; at < end; {
			in, call := f.decode(at), at
			if at += uint64(max(in.Len, 1)); f.image.arch == unwind.AMD64 && in == (prologue.Insn{Len: in.Len}) {
				f.image.plain[call] = uint8(in.Len)
			}
			if in.Flow != prologue.FlowCall || in.Target == f.base+at || inThunk(f.text, call) {
				continue
			}
			if to, ok := f.at(in.Target); ok && !ownThunk(f.text, call, to) {
				f.hints.set(to)
			}
		}
	}
}

// inThunk reports whether a call is part of a thunk: it leads on in the same code.
func inThunk(text []byte, at uint64) bool {
	return thunkAt(text[at:min(at+thunkSize, uint64(len(text)))]) != noThunk
}

// ownThunk reports whether a call leads to a thunk in its own function, right before it: gcc's
// -mindirect-branch=thunk-inline.
func ownThunk(text []byte, call, to uint64) bool {
	return to < call && call-to <= thunkSize && thunkAt(text[to:call]) == indirectThunk
}

// add notes a start, and that its code is to be followed. What is known keeps its source, if
// that is surer.
func (f *finder) add(s Start) bool {
	at, ok := f.at(s.Addr)
	if !ok {
		return false
	}
	if old, again := f.known[s.Addr]; again && (old.Grade > s.Grade || old.Grade == s.Grade && old.Source <= s.Source) {
		return false
	}
	again := f.starts.has(at)
	f.known[s.Addr] = s
	f.starts.set(at)
	if !again {
		f.work = append(f.work, visit{at, at})
	}
	return !again
}

// descend follows code until nothing is left to follow.
func (f *finder) descend() {
	for len(f.work) > 0 {
		v := f.work[len(f.work)-1]
		f.work = f.work[:len(f.work)-1]
		f.path(v)
	}
}

// path follows one path to its end.
func (f *finder) path(v visit) {
	for at, before := v.at, v.at; at < uint64(len(f.text)) && !f.begins.has(at); {
		if f.budget--; f.budget < 0 {
			return
		}
		in := f.decode(at)
		if in.Flow == prologue.FlowUnknown {
			return
		}
		f.begins.set(at)
		next := at + uint64(in.Len)
		for b := at; b < min(next, uint64(len(f.text))); b++ {
			f.covered.set(b)
		}
		if in.Refers != 0 && len(f.pointers) < maxPointers && !f.marksCall(at, in.Refers) {
			f.pointers = append(f.pointers, in.Refers)
		}
		if in.Flow == prologue.FlowJump && in.Target%functionAlign == 0 && prologue.TakesDown(f.image.arch, f.text[before:at]) {
			f.indirect[v.owner] = true // it may be a tail call: the state tells
		}
		if computesFar(f.image.arch, f.text[at:min(next, uint64(len(f.text)))]) {
			f.indirect[v.owner] = true // calls may go through registers, to places that the code computes
		}
		if !f.passes(&in, at, next, v.owner) {
			return
		}
		if in.Flow == prologue.FlowCall || in.Flow == prologue.FlowCallIndirect {
			f.falls(next)
			if begins, ok := another(f.image.arch, f.text, next); ok {
				f.add(Start{Addr: f.base + begins, Source: Behind, Grade: min(prologue.Some, f.known[f.base+v.owner].Grade)})
				return
			}
		}
		before, at = at, next
	}
}

// marksCall reports whether an instruction has its own address, or that behind a call next to it: clang's hardening
// compares return addresses with these.
func (f *finder) marksCall(at, refers uint64) bool {
	const near = 32
	to, ok := f.at(refers)
	if !ok || to+near < at || to > at+near {
		return false
	}
	if to == at {
		return true
	}
	calls, _ := callsite.Before(f.image.arch, f.text[to-min(to, callsite.Longest):to], refers)
	return len(calls) > 0
}

// computesFar reports whether an instruction loads a number of 64 bits, as code of the large model has distances: movabs.
func computesFar(arch unwind.Arch, code []byte) bool {
	const movabs = 10
	return arch == unwind.AMD64 && len(code) == movabs && code[0]&^1 == 0x48 && code[1]&^7 == 0xb8
}

// falls notes that what lies behind a call may be another function: it does if the call does
// not come back.
func (f *finder) falls(at uint64) {
	for n := 1; at < uint64(len(f.text)) && n > 0; at += uint64(n) {
		if (f.base+at)%functionAlign == 0 {
			f.fallen.set(at)
			return
		}
		n = prologue.Padding(f.image.arch, f.text[at:])
	}
}

// another returns where another function begins behind a call, or behind the fillers there: then the call
// does not come back. Only at a function's beginning does the link register have an address to save.
func another(arch unwind.Arch, text []byte, at uint64) (begins uint64, ok bool) {
	for arch == unwind.ARM64 && at < uint64(len(text)) {
		if prologue.Enters(text[at:]) {
			return at, true
		}
		n := prologue.Padding(arch, text[at:])
		if n == 0 {
			break
		}
		at += uint64(n)
	}
	return 0, false
}

// passes notes where an instruction leads, and reports whether the next one is reached.
func (f *finder) passes(in *prologue.Insn, at, next, owner uint64) bool {
	switch in.Flow {
	case prologue.FlowNext:
	case prologue.FlowCond:
		f.branch(at, in.Target, owner)
	case prologue.FlowCall:
		return f.call(in, at, next, owner)
	case prologue.FlowCallIndirect:
		return in.Pointer == 0 || f.image.newSearch().slot(in.Pointer, 0) != prologue.ComesNot
	case prologue.FlowJump:
		f.branch(at, in.Target, owner)
		return false
	case prologue.FlowJumpIndirect:
		if in.Pointer == 0 {
			f.indirect[owner] = true
		}
		return false
	default:
		return false
	}
	return true
}

// call follows a direct call, and reports whether it comes back.
func (f *finder) call(in *prologue.Insn, at, next, owner uint64) bool {
	to, ok := f.at(in.Target)
	switch {
	case !ok || to == next: // a push of the address
		return true
	case inThunk(f.text, at):
		f.indirect[owner] = true // as behind any other jump through a pointer
		f.work = append(f.work, visit{to, owner})
		return false
	}
	if ownThunk(f.text, at, to) {
		f.work = append(f.work, visit{to, owner})
		return true
	}
	grade := min(f.known[f.base+owner].Grade, prologue.Proven)
	f.add(Start{Addr: in.Target, Source: Call, Grade: grade})
	return f.image.newSearch().back(in.Target, 0) != prologue.ComesNot
}

// branch follows a jump within a function, and notes one that leads beyond it.
func (f *finder) branch(from, target, owner uint64) {
	to, ok := f.at(target)
	if !ok || f.reached(to) {
		if f.known[target].Part {
			f.entered(target, f.base+owner)
		}
		return
	}
	if to < owner || f.between(from, to) {
		f.later = append(f.later, leap{to, owner})
		return
	}
	f.work = append(f.work, visit{to, owner})
}

// entered notes which function jumps to a part.
func (f *finder) entered(part, owner uint64) {
	if from := f.jumps[part]; len(from) < maxOwners && !slices.Contains(from, owner) {
		f.jumps[part] = append(from, owner)
	}
}

// between reports whether a function begins behind one place and not behind the other.
func (f *finder) between(from, to uint64) bool {
	for _, set := range []bitset{f.starts, f.hints} {
		if _, ok := set.next(from+1, to+1); ok {
			return true
		}
	}
	return false
}

// reached reports whether a place is known already, and not only as what lies behind a call.
func (f *finder) reached(at uint64) bool {
	return f.starts.has(at) || f.begins.has(at) && !f.fallen.has(at)
}

// settle surveys the functions with jumps to places that are not known, or beyond the
// function: what jump tables reach is followed, and jumps are told apart by their state.
func (f *finder) settle() {
	for range maxRounds {
		leaps := f.later
		f.later = nil
		for _, l := range leaps {
			if !f.reached(l.to) {
				f.indirect[l.owner] = true
			}
		}
		owners := slices.Sorted(maps.Keys(f.indirect))
		clear(f.indirect)
		for _, owner := range owners {
			f.survey(owner)
		}
		if len(f.work) == 0 {
			return
		}
		f.descend()
	}
}

// end is where the function that begins at a place ends at the latest.
func (f *finder) end(owner uint64) uint64 {
	r, _ := f.code.Find(f.base + owner)
	end := r.End - f.base
	if next, ok := f.starts.next(owner+1, end); ok {
		return next
	}
	return end
}

// piece is what begins at an address, as far as that is known.
func (f *finder) piece(addr uint64) (p Piece, grade prologue.Proof, ok bool) {
	s, ok := f.known[addr]
	if !ok {
		return Piece{}, 0, false
	}
	return Piece{Start: addr, End: f.base + f.end(addr-f.base), Part: s.Part}, s.Grade, true
}

func (f *finder) owners(part uint64) []uint64 { return f.jumps[part] }

// survey follows a function's jumps.
func (f *finder) survey(owner uint64) {
	end := f.end(owner)
	if f.surveyed[owner] == end || end-owner > maxFunction {
		return
	}
	f.surveyed[owner] = end
	start := f.known[f.base+owner]
	from, ok := f.image.enters(Piece{Start: start.Addr, Part: start.Part}, 0)
	if !ok {
		return
	}
	t := f.table(owner, end, from)
	if t == nil {
		return
	}
	t.Each(func(off uint64) {
		if !f.begins.has(owner + off) {
			f.work = append(f.work, visit{owner + off, owner})
		}
	})
	for _, to := range t.Calls {
		f.add(Start{Addr: to, Source: Call, Grade: start.Grade})
	}
	for _, to := range t.Tails {
		if at, ok := f.at(to); ok && to%functionAlign == 0 && f.apart(at) {
			f.add(Start{Addr: to, Source: TailCall, Grade: min(prologue.Some, start.Grade)})
		}
	}
	for _, to := range t.Jumps {
		if at, ok := f.at(to); ok && at != end {
			f.leads(owner, at, t.Leaving[to])
		}
	}
}

// apart reports whether nothing runs into a place from before: padding lies there, or code that
// goes on elsewhere.
func (f *finder) apart(at uint64) bool {
	if at == 0 || !f.covered.has(at-1) || f.fallen.has(at) {
		return true
	}
	const longest = 16
	for back := uint64(1); back <= min(at, longest); back++ {
		if f.begins.has(at - back) {
			in := f.decode(at - back)
			return in.Flow == prologue.FlowJump || in.Flow == prologue.FlowReturn || in.Flow == prologue.FlowStop || in.Flow == prologue.FlowJumpIndirect
		}
	}
	return false
}

func (f *finder) table(owner, end uint64, from *prologue.State) *prologue.Table {
	return prologue.Survey(f.image.arch, f.text[owner:end], f.base+owner, (*surroundings)(f.image), from)
}

// leads notes where a jump leads that leaves a function: to another one if it has all as at
// the entry.
func (f *finder) leads(owner, to uint64, state *prologue.State) {
	if state != nil {
		f.entered(f.base+to, f.base+owner)
	}
	if f.reached(to) {
		return
	}
	s := Start{Addr: f.base + to, Source: TailCall, Grade: min(prologue.Some, f.known[f.base+owner].Grade)}
	if state != nil {
		s.Source, s.Part = Moved, true
	}
	f.add(s)
}

// maxOwners bounds the functions that are asked for the state at a part.
const maxOwners = 8

// follow takes pointers to code for starts that descent has not reached, and reports whether
// there were any.
func (f *finder) follow() bool {
	pointers := f.pointers
	f.pointers = nil
	for _, p := range f.layout.Pointers {
		pointers = append(pointers, p.To)
	}
	more := false
	for _, p := range pointers {
		if at, ok := f.at(p); ok && (!f.covered.has(at) || f.fallen.has(at)) && !f.starts.has(at) && f.runs(at) {
			more = f.add(Start{Addr: p, Source: Pointer, Grade: prologue.Some}) || more
			f.descend()
		}
	}
	return more
}

// runs reports whether bytes are code: what follows decodes up to where control leaves.
func (f *finder) runs(at uint64) bool {
	const enough = 8
	for range enough {
		if at >= uint64(len(f.text)) {
			return false
		}
		in := f.decode(at)
		switch in.Flow {
		case prologue.FlowUnknown:
			return false
		case prologue.FlowNext, prologue.FlowCond, prologue.FlowCall, prologue.FlowCallIndirect:
		default:
			return true
		}
		at += uint64(in.Len)
	}
	return true
}
