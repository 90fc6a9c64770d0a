package codemodel

import "github.com/clewdbg/clew/internal/unwind/prologue"

// functionAlign is what compilers align functions to.
const functionAlign = 16

// gaps takes code that nothing leads to for functions, which is a guess: at an aligned
// address behind other code or padding, not within a function, whose code would be on both
// sides, and if its stack is that of a function.
func (f *finder) gaps() {
	end := uint64(len(f.text))
	for at := uint64(0); at < end; {
		if f.covered.has(at) || !f.code.Contains(f.base+at) {
			at++
			continue
		}
		begin := padded(f, at)
		switch {
		case begin >= end || f.covered.has(begin):
			at = begin
		case f.isFunction(begin):
			f.add(Start{Addr: f.base + begin, Source: Gap, Grade: prologue.Guessed})
			f.descend()
			f.settle()
			at = begin + 1
		default:
			at = f.skip(begin)
		}
	}
}

// isFunction reports whether a function may begin at a place that nothing leads to.
func (f *finder) isFunction(at uint64) bool {
	if (f.base+at)%functionAlign != 0 || !f.runs(at) || f.within(at) {
		return false
	}
	t := f.table(at, f.end(at), nil)
	return t != nil && !t.Broken
}

// skip passes code up to where other code, or padding, begins.
func (f *finder) skip(at uint64) uint64 {
	for at < uint64(len(f.text)) && !f.covered.has(at) {
		at += uint64(max(f.decode(at).Len, 1))
		if at >= uint64(len(f.text)) || prologue.Padding(f.image.arch, f.text[at:]) > 0 {
			break
		}
	}
	return at
}

// padded is where padding ends that begins at a place.
func padded(f *finder, at uint64) uint64 {
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
