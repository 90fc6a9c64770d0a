package dwarfline

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
)

// Most of a name's search.
const (
	maxFound    = 1 << 12 // functions and inlined copies
	maxLookedAt = 1 << 16 // those whose last name fits
	maxTargets  = 1 << 20 // places of strings, and entries, that are looked for
	maxRounds   = 4       // over entries that lie in units without code
)

var (
	errManyFound   = fmt.Errorf("left out: more than %d functions of one name, or %d that begin with it", maxFound, maxLookedAt)
	errManyEntries = fmt.Errorf("left out: more than %d functions and inlined calls in a unit", maxSpans)
)

// Named returns the functions whose own name, without the scopes before it, is name or begins with name and
// the arguments of a template, and that accept takes: with code of their own, and each copy that is
// inlined. An empty name stands for any, without inlined copies. more says that there are others.
//
// Nothing is indexed. Where the name lies among the strings, and the places of it in the entries, are found by
// comparing bytes; then only the units that have some are read.
func (t *Table) Named(name string, accept func(*Call) bool) (found []Function, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := finder{t: t, name: name, accept: accept, copies: make(map[copyKey]bool), walked: make(map[uint64]bool), entries: [2]map[uint64]bool{{}, {}}}
	if !f.prepare() {
		return nil, false
	}
	for range maxRounds {
		f.fresh = false
		f.round()
		if !f.fresh || f.more {
			break
		}
	}
	if f.more {
		t.problem(nil, errManyFound)
	}
	return f.found, f.more
}

// finder looks for functions by a name.
type finder struct {
	t      *Table
	name   string
	accept func(*Call) bool

	every   bool            // unit must be read
	targets map[uint32]bool // what entries that count have somewhere: offsets of strings, and of entries
	sieve   [1 << 13]byte   // of their lower halves

	walked  map[uint64]bool    // units
	entries [2]map[uint64]bool // with the name, in units without code; 1: of the alternate file
	fresh   bool               // some came with this round

	found    []Function
	copies   map[copyKey]bool
	lookedAt int
	more     bool
}

// copyKey tells functions apart: several units may describe one.
type copyKey struct {
	entry   uint64
	inlined bool
	name    string
}

// prepare finds out what to look for. It returns false where the name cannot be there.
func (f *finder) prepare() bool {
	f.targets = make(map[uint32]bool)
	// GCC writes names that are not longer than an offset where they are used.
	if f.every = len(f.name) < 4; f.every {
		return true
	}
	f.strings(f.t)
	alt, err := f.t.alternateFile()
	if err == nil {
		f.strings(alt)
		f.common(alt)
	}
	return true
}

// strings looks for the name in .debug_str. It may be the end of another string: linkers merge them.
func (f *finder) strings(t *Table) {
	s := t.section(".debug_str")
	const step = 1 << 20
	r := reader{s: s}
	for from := uint64(0); from < s.size(); {
		to := min(from+step, s.size())
		w, err := r.window(from, to)
		if err != nil {
			t.problem(nil, err)
			f.every = true
			return
		}
		for at := 0; ; at++ {
			i := bytes.Index(w.data[at:], []byte(f.name))
			if i < 0 {
				break
			}
			at += i
			if ends(w.data[at+len(f.name):]) {
				f.target(from + uint64(at))
			}
		}
		if to == s.size() {
			return
		}
		from = to - uint64(min(len(f.name)+1, step/2))
	}
}

// ends says whether the name ends before rest, or arguments of a template come.
func ends(rest []byte) bool {
	return len(rest) > 0 && (rest[0] == 0 || rest[0] == '<' || rest[0] == ' ' && len(rest) > 1 && rest[1] == '<')
}

// target adds what is looked for.
func (f *finder) target(n uint64) {
	if len(f.targets) == maxTargets {
		f.every = true
		return
	}
	v := uint32(n)
	f.targets[v] = true
	f.sieve[uint16(v)>>3] |= 1 << (v & 7)
}

// round reads the units that have what is looked for.
func (f *finder) round() {
	r := reader{s: f.t.ownSections().info}
	for _, h := range f.t.readHeads() {
		if f.walked[h.start] || f.more {
			continue
		}
		u, err := f.t.window(&r, h.start, h.end-h.start)
		if err != nil {
			f.t.problem(nil, err)
			return
		}
		u.brief = false
		if h.skeleton || f.every || f.has(u.from.info.data) || h.indexed && f.indexes(&h, u) {
			f.walked[h.start] = true
			f.read(&h, u)
		}
	}
}

// has says whether a unit's bytes have the name, or a number that is looked for.
func (f *finder) has(data []byte) bool {
	for at := 0; f.name != ""; at++ {
		i := bytes.Index(data[at:], []byte(f.name))
		if i < 0 {
			break
		}
		if at += i; ends(data[at+len(f.name):]) {
			return true
		}
	}
	if len(f.targets) == 0 || len(data) < 4 {
		return false
	}
	swapped := f.t.order.Uint16([]byte{1, 0}) != 1
	v := binary.LittleEndian.Uint32(data) << 8
	for _, b := range data[3:] {
		v = v>>8 | uint32(b)<<24
		n := v
		if swapped {
			n = v<<24 | v>>24 | v<<8&0xff0000 | v>>8&0xff00
		}
		if f.sieve[uint16(n)>>3]&(1<<(n&7)) != 0 && f.targets[n] {
			return true
		}
	}
	return false
}

// indexes says whether the unit's table of strings has what is looked for.
func (f *finder) indexes(h *head, u *unit) bool {
	s := u.from.strOffsets
	header := uint64(8) // a length, a version, padding
	if u.offset == 8 {
		header = 16
	}
	if h.strOffsets < header || h.strOffsets > s.size() {
		return true
	}
	c := cursorAt(s, f.t.order, h.strOffsets-header, s.size())
	length, size := c.length()
	if c.err != nil || length > c.end-c.off || size != u.offset {
		return true
	}
	c.end = c.off + length
	c.skip(4)
	c.loaded = min(c.loaded, c.end)
	for !c.done() {
		if f.targets[uint32(c.uint(size))] {
			return true
		}
	}
	return c.err != nil
}

// read reads a unit, whose bytes are a window or those of a split unit.
func (f *finder) read(h *head, u *unit) {
	if h.skeleton {
		real := f.t.usable(h.start)
		if real == nil {
			return
		}
		split, err := real.described()
		if err != nil {
			return
		}
		u = split
	} else if err := u.open(); err != nil {
		f.t.problem(u, err)
		return
	}
	s := sieve{f: f, u: u, index: make(map[uint64]int32)}
	if err := u.walk(u.first, s.visit); err != nil {
		f.t.problem(u, err)
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		if !n.code || !s.isNamed(i) {
			continue
		}
		if f.lookedAt++; f.lookedAt > maxLookedAt || len(f.found) == maxFound {
			f.more = true
			return
		}
		f.add(h, u, n.off)
	}
	if !h.code && !h.skeleton {
		for i := range s.nodes {
			if s.isNamed(i) {
				f.entry(0, s.nodes[i].off)
			}
		}
	}
}

// entry remembers an entry with the name to which other units may refer.
func (f *finder) entry(of int, off uint64) {
	if !f.entries[of][off] && len(f.entries[of]) < maxTargets {
		f.entries[of][off] = true
		f.target(off)
		f.fresh = true
	}
}

// add adds the function at an entry, if it is one that is looked for.
func (f *finder) add(h *head, u *unit, off uint64) {
	if !h.skeleton {
		if u = f.t.usable(h.start); u == nil {
			return
		}
	}
	fn, ok := u.function(off)
	if !ok || !f.accept(&fn.Call) {
		return
	}
	key := copyKey{fn.Entry, fn.Inlined, cmp.Or(fn.Linkage, fn.Name)}
	if !f.copies[key] { // the linker has kept one of several
		f.copies[key] = true
		f.found = append(f.found, fn)
	}
}

// common remembers the entries with the name that the alternate file has: it has no code.
func (f *finder) common(alt *Table) {
	r := reader{s: alt.ownSections().info}
	for _, h := range alt.readHeads() {
		u, err := alt.window(&r, h.start, h.end-h.start)
		if err != nil {
			f.t.problem(nil, err)
			return
		}
		if u.brief = false; !f.has(u.from.info.data) || u.open() != nil {
			continue
		}
		s := sieve{f: f, u: u, index: make(map[uint64]int32)}
		if err := u.walk(u.first, s.visit); err != nil {
			f.t.problem(nil, err)
		}
		for i := range s.nodes {
			if s.isNamed(i) {
				f.entry(1, s.nodes[i].off)
			}
		}
	}
}
