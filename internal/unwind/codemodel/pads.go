package codemodel

import (
	"fmt"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/lsda"
	"github.com/clewdbg/clew/internal/unwind/prologue"
)

// Bounds of the search for the functions of areas: functions that are tried and instructions that are decoded, and rounds.
const (
	maxFitting   = 8 << 20
	maxAreaTurns = 64
)

// shape are areas with the same call sites, and the functions that they may be of.
type shape struct {
	sites []lsda.Site
	areas int
	fit   []uint64
	done  bool
}

// land finds out which function has which landing pads, and reports whether any has. The pointers
// from functions to areas are gone, so a function must fit: each call site begins with an
// instruction and ends with a call, and each landing pad is code that nothing leads to. If as
// many functions fit as areas have these call sites, each of them has such an area, and no other.
func (f *finder) land() bool {
	if len(f.layout.Areas) == 0 || f.image.pads != nil {
		return false
	}
	f.image.pads = make(map[uint64][]prologue.Pad)
	shapes := shapes(f)
	for range maxAreaTurns {
		has := decide(shapes)
		for owner, s := range has {
			f.image.pads[f.base+owner] = pads(s.sites)
			f.indirect[owner] = true
			delete(f.surveyed, owner)
		}
		for _, s := range shapes {
			s.fit = slices.DeleteFunc(s.fit, func(owner uint64) bool { return has[owner] != nil && !s.done })
		}
		if len(has) == 0 {
			break
		}
	}
	return len(f.indirect) > 0
}

// decide decides for the shapes that as many functions fit as there are areas, and returns the
// functions that have them. Where two such shapes want the same function neither has it.
func decide(shapes []*shape) map[uint64]*shape {
	has, wanted := make(map[uint64]*shape), make(map[uint64]int)
	ready := func(s *shape) bool { return !s.done && len(s.fit) == s.areas }
	for _, s := range shapes {
		for _, owner := range s.fit {
			if ready(s) {
				wanted[owner]++
			}
		}
	}
	for _, s := range shapes {
		if !ready(s) || slices.ContainsFunc(s.fit, func(owner uint64) bool { return wanted[owner] > 1 }) {
			continue
		}
		s.done = true
		for _, owner := range s.fit {
			has[owner] = s
		}
	}
	return has
}

// shapes are the areas, with the functions that fit.
func shapes(f *finder) (out []*shape) {
	byEnd := make(map[uint64][]uint64) // functions, by where a call of them ends
	f.each(f.starts, func(owner uint64) {
		for at, ok := f.begins.next(owner, f.end(owner)); ok; at, ok = f.begins.next(at+1, f.end(owner)) {
			if in := f.decode(at); in.Flow == prologue.FlowCall || in.Flow == prologue.FlowCallIndirect {
				end := at + uint64(in.Len) - owner
				byEnd[end] = append(byEnd[end], owner)
			}
		}
	})
	known, budget := make(map[string]*shape), maxFitting
	for _, sites := range f.layout.Areas {
		if len(pads(sites)) == 0 { // it may be that of a part that only a landing pad leads to
			continue
		}
		key := fmt.Sprint(sites)
		s := known[key]
		if s == nil {
			s = &shape{sites: sites}
			known[key], out = s, append(out, s)
			for _, owner := range byEnd[sites[0].End] {
				if fits(f, owner, sites, &budget) {
					s.fit = append(s.fit, owner)
				}
			}
		}
		if s.areas++; budget < 0 {
			return nil
		}
	}
	return out
}

// fits reports whether a function may have these call sites.
func fits(f *finder, owner uint64, sites []lsda.Site, budget *int) bool {
	if *budget--; *budget < 0 {
		return false
	}
	size := f.end(owner) - owner
	for _, s := range sites {
		pad := owner + s.Pad
		if s.End > size || s.Pad >= size || s.Pad != 0 && (f.covered.has(pad) || !f.runs(pad)) || !throws(f, owner+s.Start, owner+s.End, budget) {
			return false
		}
	}
	return true
}

// throws reports whether the last instruction of a piece of code is a call.
func throws(f *finder, at, end uint64, budget *int) bool {
	for *budget >= 0 && (!f.covered.has(at) || f.begins.has(at)) {
		*budget--
		in := f.decode(at)
		if at += uint64(max(in.Len, 1)); at >= end {
			return at == end && (in.Flow == prologue.FlowCall || in.Flow == prologue.FlowCallIndirect)
		}
	}
	return false
}

// pads are the landing pads of call sites.
func pads(sites []lsda.Site) (out []prologue.Pad) {
	for _, s := range sites {
		if s.Pad != 0 {
			out = append(out, prologue.Pad{Start: int32(s.Start), End: int32(s.End), At: int32(s.Pad)})
		}
	}
	return out
}
