package codemodel

import "github.com/clewdbg/clew/internal/unwind/prologue"

// functionAlign is what compilers align functions to.
const functionAlign = 16

// gaps takes code that nothing leads to for functions, which is a guess: behind padding, at
// an aligned address, and not within a function, whose code would be on both sides.
func (f *finder) gaps() {
	end := uint64(len(f.text))
	for at := uint64(0); at < end; {
		if f.covered.has(at) || !f.code.Contains(f.base+at) {
			at++
			continue
		}
		begin := f.padded(at)
		if begin == at && at%functionAlign != 0 || begin >= end || f.covered.has(begin) {
			at = max(begin, at+1)
			continue
		}
		if (f.base+begin)%functionAlign == 0 && f.runs(begin) && !f.within(begin) {
			f.add(Start{Addr: f.base + begin, Source: Gap, Grade: prologue.Guessed})
			f.descend()
			f.settle()
		}
		for at = begin + 1; at < end && !f.covered.has(at) && (f.base+at)%functionAlign != 0; at++ {
		}
	}
}

// padded is where padding ends that begins at a place.
func (f *finder) padded(at uint64) uint64 {
	for at < uint64(len(f.text)) && !f.covered.has(at) {
		n := prologue.Padding(f.image.arch, f.text[at:])
		if n == 0 {
			break
		}
		at += uint64(n)
	}
	return at
}

// within reports whether the functions before and behind a place are the same.
func (f *finder) within(at uint64) bool {
	before, after := at, at
	for before > 0 && !f.covered.has(before-1) {
		before--
	}
	for after < uint64(len(f.text)) && !f.covered.has(after) {
		after++
	}
	_, begins := f.starts.next(before, after+1)
	return before > 0 && after < uint64(len(f.text)) && !begins
}
