package codemodel

import (
	"encoding/binary"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/prologue"
)

// surroundings is an image for the simulation of one of its functions, while the
// image is locked.
type surroundings Image

// Data implements [prologue.Surroundings].
func (m *surroundings) Data(addr uint64, n int) []byte { return m.contents.Data(addr, n) }

// IsCode implements [prologue.Surroundings].
func (m *surroundings) IsCode(addr uint64) bool { return len((*Image)(m).code(addr, 1)) > 0 }

// Comes implements [prologue.Surroundings].
func (m *surroundings) Comes(target uint64, pointer bool) prologue.Back {
	s := (*Image)(m).newSearch()
	if pointer {
		return s.slot(target, 0)
	}
	return s.back(target, 0)
}

// Comes tells whether a call comes back, of the code at target or through the pointer there.
func (m *Image) Comes(target uint64, pointer bool) prologue.Back {
	m.mu.Lock()
	defer m.mu.Unlock()
	return (*surroundings)(m).Comes(target, pointer)
}

// Pads implements [prologue.Surroundings].
func (m *surroundings) Pads(start uint64) []prologue.Pad { return m.pads[start] }

// Bounds of one search: instructions, and calls within calls.
const (
	maxSearch = 20_000
	maxDepth  = 32
)

// search finds out whether functions come back.
type search struct {
	image   *Image
	budget  int
	decoder prologue.Decoder
	paths   [maxDepth + 1]paths // of each depth, used again
}

// newSearch begins a search in the memory that the last one had.
func (m *Image) newSearch() *search {
	if m.search == nil {
		m.search = &search{image: m}
	}
	m.search.budget, m.search.decoder = maxSearch, prologue.Decoder{}
	return m.search
}

// noReturn are functions of C's and C++'s libraries that never return. Where another
// function has such a name, the code behind its calls counts as unreached: unproven, not
// wrong.
var noReturn = map[string]bool{
	"abort": true, "exit": true, "_exit": true, "_Exit": true, "quick_exit": true, "longjmp": true, "siglongjmp": true, "_longjmp": true,
	"__longjmp_chk": true, "__stack_chk_fail": true, "__assert_fail": true, "__assert_perror_fail": true, "__assert": true, "__chk_fail": true,
	"__fortify_fail": true, "__libc_fatal": true, "pthread_exit": true, "thrd_exit": true, "err": true, "errx": true, "verr": true, "verrx": true,
	"__cxa_throw": true, "__cxa_rethrow": true, "__cxa_bad_cast": true, "__cxa_bad_typeid": true, "__cxa_throw_bad_array_new_length": true,
	"__cxa_pure_virtual": true, "__cxa_call_unexpected": true, "__cxa_call_terminate": true, "_Unwind_Resume": true, "_ZSt9terminatev": true,
	"__libc_start_main": true,
}

// slot tells whether a call through a pointer of the dynamic linker comes back.
func (s *search) slot(addr uint64, depth int) prologue.Back {
	target, name := s.image.contents.Slot(addr)
	if target == 0 && name == "" {
		if word := s.image.code(addr, wordSize); len(word) == wordSize {
			target = binary.LittleEndian.Uint64(word) // a literal
		}
	}
	switch {
	case target != 0:
		return s.back(target, depth+1)
	case noReturn[name], strings.HasPrefix(name, "_ZSt") && strings.Contains(name, "__throw_"):
		return prologue.ComesNot
	}
	return prologue.Perhaps
}

// back tells whether a call of the code at target comes back. It does if a return can be
// reached over branches and calls that come back. Where only calls that may not come
// back lead to one, or an indirect jump, it is not known.
func (s *search) back(target uint64, depth int) prologue.Back {
	m := s.image
	if known, ok := m.backs[target]; ok {
		return known
	}
	if depth > maxDepth || s.budget <= 0 {
		return prologue.Perhaps
	}
	switch thunkAt(m.code(target, thunkSize)) {
	case returnThunk:
		m.backs[target] = prologue.Leaves
		return prologue.Leaves
	case indirectThunk:
		m.backs[target] = prologue.Perhaps
		return prologue.Perhaps
	}
	if len(m.backs) >= maxBacks {
		clear(m.backs)
	}
	m.backs[target] = prologue.Perhaps // for a call of itself
	found, whole := s.follow(target, depth)
	if whole {
		m.backs[target] = found
	} else {
		delete(m.backs, target) // another search may have more time
	}
	return found
}

// paths are places of code still to be followed.
type paths struct {
	sure, unsure []uint64
	seen         map[uint64]bool
}

func (w *paths) reset(target uint64) {
	const keeps = 1 << 8
	if w.sure, w.unsure = append(w.sure[:0], target), w.unsure[:0]; w.seen == nil || len(w.seen) > keeps {
		w.seen = make(map[uint64]bool)
	}
	clear(w.seen)
}

// follow looks for a return; whole is false where the budget has ended.
func (s *search) follow(target uint64, depth int) (found prologue.Back, whole bool) {
	w := &s.paths[depth]
	w.reset(target)
	found = prologue.ComesNot
	for len(w.sure) > 0 {
		at := w.sure[len(w.sure)-1]
		w.sure = w.sure[:len(w.sure)-1]
		switch s.run(at, depth, w) {
		case prologue.Comes:
			return prologue.Comes, true
		case prologue.Perhaps:
			found = prologue.Perhaps
		}
	}
	if found == prologue.Perhaps {
		return found, s.budget > 0
	}
	for len(w.unsure) > 0 {
		at := w.unsure[len(w.unsure)-1]
		w.unsure = w.unsure[:len(w.unsure)-1]
		w.sure = w.sure[:0]
		if s.run(at, depth, w) != prologue.ComesNot {
			return prologue.Perhaps, s.budget > 0
		}
		w.unsure = append(w.unsure, w.sure...)
	}
	return found, s.budget > 0
}

// run follows one path to its end; ComesNot if no return is there.
func (s *search) run(at uint64, depth int, w *paths) prologue.Back {
	for !w.seen[at] {
		w.seen[at] = true
		if s.budget--; s.budget <= 0 {
			return prologue.Perhaps
		}
		in := s.decode(at)
		next := at + uint64(in.Len)
		switch in.Flow {
		case prologue.FlowNext:
		case prologue.FlowCond:
			w.sure = append(w.sure, in.Target)
		case prologue.FlowCall, prologue.FlowCallIndirect:
			switch thunkAt(s.image.code(at, thunkSize)) { // in the place of a return or jump
			case returnThunk:
				return prologue.Comes
			case indirectThunk:
				return prologue.Perhaps
			}
			switch s.called(&in, depth) {
			case prologue.ComesNot:
				return prologue.ComesNot
			case prologue.Perhaps:
				w.unsure = append(w.unsure, next)
				return prologue.ComesNot
			}
		case prologue.FlowJump:
			next = in.Target
			if answer, other := s.tail(at, next, depth); other {
				return answer
			}
		case prologue.FlowJumpIndirect:
			if in.Pointer != 0 {
				return s.slot(in.Pointer, depth)
			}
			return prologue.Perhaps
		case prologue.FlowReturn:
			return prologue.Comes
		case prologue.FlowStop:
			return prologue.ComesNot
		default:
			return prologue.Perhaps
		}
		at = next
	}
	return prologue.ComesNot
}

func (s *search) called(in *prologue.Insn, depth int) prologue.Back {
	switch {
	case in.Flow == prologue.FlowCall:
		return s.back(in.Target, depth+1)
	case in.Pointer != 0:
		return s.slot(in.Pointer, depth)
	}
	return prologue.Perhaps
}

// tail answers for a jump to another function; other is false for one within the
// function.
func (s *search) tail(from, to uint64, depth int) (answer prologue.Back, other bool) {
	p, ok := s.image.contents.Bounds(to)
	if begins := ok && p.Start == to && !p.Part; !begins && thunkAt(s.image.code(to, thunkSize)) != returnThunk {
		return 0, false
	}
	if answer = s.back(to, depth+1); answer == prologue.Leaves {
		answer = prologue.Comes
	}
	return answer, true
}

func (s *search) decode(at uint64) prologue.Insn {
	const longest = 16
	if off := at - s.image.base; off < uint64(len(s.image.plain)) && s.image.plain[off] != 0 {
		return prologue.Insn{Len: int(s.image.plain[off])}
	}
	code := s.image.code(at, longest)
	return s.decoder.For(s.image.arch, code, at)
}
