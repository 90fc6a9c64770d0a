package values

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdbg/clew/server/values/location"
	"github.com/clewdbg/clew/unwind"
)

// How is where a frame's register was found.
type How uint8

// The ways in which registers are found.
const (
	Processor How = iota // no function between has changed it: the thread has it
	Saved                // in memory, where a function that the frame called has saved it
	Computed             // by an expression, or from the CFA
	Recovered            // by a strategy that does not say how
)

// Origin says what a register of a frame rests on.
type Origin struct {
	How  How
	From int    // the row of the frame from which it was recovered; of no use for Processor
	At   uint64 // where it is saved
}

// String says it in words.
func (o Origin) String() string {
	switch o.How {
	case Processor:
		return "unchanged"
	case Saved:
		return fmt.Sprintf("saved at %#x, frame %d", o.At, o.From)
	case Computed:
		return fmt.Sprintf("computed, frame %d", o.From)
	}
	return fmt.Sprintf("recovered, frame %d", o.From)
}

// Register is a register of a frame: a value, or the reason for which it is not known.
type Register struct {
	Name   string
	Number uint64 // DWARF's
	Value  uint64
	Err    error
	Origin Origin
}

// String is the register's value, and what it rests on.
func (r *Register) String() string {
	if r.Err != nil {
		return Unknown(r.Err)
	}
	return fmt.Sprintf("%#x (%s)", r.Value, r.Origin)
}

// Registers are the frame's, known or not, in the order of DWARF's numbers.
func (f *Frame) Registers() (out []Register) {
	if f.in < 0 {
		return nil
	}
	s := f.stack
	for n := range uint64(unwind.S390XPC + 1) {
		reg := unwind.Register(n)
		name := s.Arch.RegisterName(reg)
		if _, known := s.Arch.ParseRegister(name); !known || !reg.Held() {
			continue
		}
		one := Register{Name: name, Number: n}
		data, err := s.register(f.in, n)
		if one.Err = err; err == nil {
			one.Value = binary.LittleEndian.Uint64(data)
			one.Origin = s.origin(f.in, reg, one.Value)
		}
		out = append(out, one)
	}
	return out
}

// origin finds what a known register of a physical frame rests on, by the rules with which the frames before it were left. No
// rule is believed that does not lead to the value.
func (s *Stack) origin(row int, reg unwind.Register, value uint64) Origin {
	for callee := s.callee(row); callee >= 0; callee = s.callee(callee) {
		f := &s.frames[callee]
		text := equation(f.Rule, s.Arch, reg)
		switch {
		case strings.HasPrefix(text, "["):
			if at, ok := s.placeIn(f, strings.Trim(text, "[]")); ok && s.wordAt(at) == value {
				return Origin{Saved, callee, at}
			}
			return Origin{How: Recovered, From: callee}
		case reg == s.Arch.SP():
			return Origin{How: Computed, From: callee}
		case text != "" && text != "unchanged":
			if other, ok := s.Arch.ParseRegister(text); ok {
				if v, known := f.Registers.Get(other); known && v == value {
					reg = other
					continue
				}
			}
			return Origin{How: Computed, From: callee}
		}
		if v, known := f.Registers.Get(reg); !known || v != value {
			return Origin{How: Recovered, From: callee}
		}
	}
	return Origin{}
}

// callee is the row of the physical frame that a physical frame has called, -1 for the innermost.
func (s *Stack) callee(row int) int {
	for row--; row >= 0 && s.frames[row].Inlined; row-- {
	}
	return row
}

// equation returns what a rule says of a register, "" for nothing.
func equation(rule string, arch unwind.Arch, reg unwind.Register) string {
	for eq := range strings.SplitSeq(rule, "; ") {
		name, value, ok := strings.Cut(eq, "=")
		switch {
		case !ok:
		case name == arch.RegisterName(reg), name == "ra" && reg == arch.PC(), name == "fp" && reg == arch.FP():
			return value
		}
	}
	return ""
}

// placeIn evaluates a sum of a rule: the CFA or a register of the frame, and an offset.
func (s *Stack) placeIn(f *unwind.Frame, sum string) (uint64, bool) {
	name, off := sum, int64(0)
	if i := strings.IndexAny(sum, "+-"); i > 0 {
		n, err := strconv.ParseInt(sum[i:], 10, 64)
		if err != nil {
			return 0, false
		}
		name, off = sum[:i], n
	}
	if name == "cfa" {
		return f.CFA + uint64(off), f.CFA != 0
	}
	reg, ok := s.Arch.ParseRegister(name)
	if !ok {
		return 0, false
	}
	base, ok := f.Registers.Get(reg)
	return base + uint64(off), ok
}

func (s *Stack) wordAt(addr uint64) uint64 {
	v, _ := unwind.ReadWord(s.Memory, addr, s.Arch.PointerSize(), s.Arch.ByteOrder())
	return v
}

// Rest is a place that a value rests on: memory, or a register of a frame.
type Rest struct {
	Register string // "" for memory
	Address  uint64
	Origin   Origin
}

// String says it in words.
func (r Rest) String() string {
	if r.Register == "" {
		return fmt.Sprintf("memory at %#x", r.Address)
	}
	return fmt.Sprintf("register %s, %s", r.Register, r.Origin)
}

// use is a register or memory that an expression has read.
type use struct {
	row  int
	reg  uint64
	addr uint64
	mem  bool
}

// noting has what is read until the end noted for a value.
func (s *Stack) noting(v *Value) (end func()) {
	before := s.uses
	s.uses = &v.uses
	return func() { s.uses = before }
}

const maxUses = 64 // that are noted for a value

func (s *Stack) note(u use) {
	if s.uses != nil && len(*s.uses) < maxUses && !slices.Contains(*s.uses, u) {
		*s.uses = append(*s.uses, u)
	}
}

// Rests are the places that the value rests on: what its place was computed from, and the place. A value that
// is not known rests on nothing.
func (v *Value) Rests() (out []Rest) {
	if v.err != nil {
		return nil
	}
	add := func(r Rest) {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	s := v.frame.stack
	for _, u := range v.uses {
		if u.mem {
			add(Rest{Address: u.addr})
		} else {
			add(s.rest(u.row, u.reg))
		}
	}
	for _, p := range v.pieces() {
		switch p.Kind {
		case location.Memory:
			add(Rest{Address: p.Addr})
		case location.Register:
			add(s.rest(v.frame.in, p.Reg))
		}
	}
	return out
}

// pieces are those that the value lies in; memory is given from the value's first byte on.
func (v *Value) pieces() (out []location.Piece) {
	size, err := v.typ.Bytes()
	if err != nil || size <= 0 {
		size = 1
	}
	start := int64(0) // of the piece, in bits
	for _, p := range v.place.Pieces {
		bits := int64(min(p.Bits, 1<<40))
		if bits == 0 {
			bits = 1 << 40
		}
		if start < 8*(v.off+size) && start+bits > 8*v.off {
			if p.Kind == location.Memory && 8*v.off > start {
				p.Addr += uint64((8*v.off - start) / 8)
			}
			out = append(out, p)
		}
		start += bits
	}
	return out
}

// rest is a register of a physical frame, and what it rests on.
func (s *Stack) rest(row int, reg uint64) Rest {
	out := Rest{Register: s.registerName(reg)}
	if data, err := s.register(row, reg); err == nil && unwind.Register(min(reg, 0xffff)).Held() && len(data) >= 8 {
		out.Origin = s.origin(row, unwind.Register(reg), binary.LittleEndian.Uint64(data))
	}
	return out
}
