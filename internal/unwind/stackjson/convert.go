package stackjson

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// ErrAsync: an asynchronous frame does not exist in the domain, since an
// unwinder cannot find it in stack memory.
var ErrAsync = errors.New("an async frame cannot be unwound")

// FromStacks returns the answer for stacks. With registers, each frame lists
// every recovered register.
func FromStacks(arch unwind.Arch, stacks []unwind.Stack, registers bool) Answer {
	a := Answer{Stacks: make([]Stack, 0, len(stacks))}
	for i := range stacks {
		a.Stacks = append(a.Stacks, FromStack(arch, &stacks[i], registers))
	}
	return a
}

// FromStack returns a stack's form.
func FromStack(arch unwind.Arch, s *unwind.Stack, registers bool) Stack {
	out := Stack{
		Thread:    s.Thread,
		Goroutine: s.Goroutine,
		Frames:    make([]Frame, 0, len(s.Frames)),
		Stop:      Stop(s.Stop.String()),
		Reason:    s.Reason,
		Notes:     s.Notes,

		ThreadName: s.ThreadName,
		State:      fromState(s.State),
	}
	left := maxLong
	for i := range s.Frames {
		f := FromFrame(arch, i, &s.Frames[i], registers)
		if left -= long(f.Function) + long(f.File); left < 0 {
			f.Function, f.File = "", ""
		}
		out.Frames = append(out.Frames, f)
	}
	if left < 0 {
		out.Notes = append(slices.Clip(out.Notes), fmt.Sprintf("names of functions and files are left out behind the first %d MiB of long ones", maxLong>>20))
	}
	return out
}

// Frames share names, and a stack may have a million of one function. maxLong bounds what is written of names beyond
// usual of each, in bytes.
const (
	maxLong = 128 << 20
	usual   = 256
)

// shown leaves out of a rule what a walk for all registers adds behind the frame pointer: a stack's form is the same
// with and without them.
func shown(rule string) string {
	if _, after, ok := strings.Cut(rule, "; fp="); ok {
		if i := strings.Index(after, "; "); i >= 0 {
			return rule[:len(rule)-len(after)+i]
		}
	}
	return rule
}

func long(name string) int { return max(0, len(name)-usual) }

// FromFrame returns the form of the frame that has that index in its stack.
func FromFrame(arch unwind.Arch, index int, f *unwind.Frame, registers bool) Frame {
	out := Frame{
		Index:    index,
		Kind:     KindPC,
		PC:       Address(f.PC.Raw()),
		CFA:      Address(f.CFA),
		Function: f.Function,
		File:     f.File,
		Line:     max(f.Line, 0),
		Column:   max(f.Column, 0),
		Image:    f.Image,
		Strategy: f.Strategy,
		Rule:     shown(f.Rule),
		Inlined:  f.Inlined,
		TailCall: f.TailCall,
		Group:    f.Group,
		Notes:    f.Notes,
	}
	if f.PC.Kind() == unwind.KindReturn {
		out.Kind = KindRA
	}
	if f.Trust != unwind.TrustNone {
		out.Trust = Trust(f.Trust.String())
	}
	if sp, ok := f.Registers.SP(arch); ok {
		out.SP = (*Address)(&sp)
	}
	if fp, ok := f.Registers.FP(arch); ok {
		out.FP = (*Address)(&fp)
	}
	if f.Image != "" {
		offset := Address(f.Offset)
		out.Offset = &offset
	}
	if f.DelveFrame >= 0 {
		n := f.DelveFrame
		out.DelveFrame = &n
	}
	if registers {
		out.Registers = RegistersByName(arch, &f.Registers)
	}
	for _, c := range f.Rejected {
		out.Rejected = append(out.Rejected, Rejected{Strategy: c.Strategy, Reason: c.Reason, Check: c.Check, Rule: c.Rule, PC: Address(c.PC), CFA: Address(c.CFA)})
	}
	return out
}

// Domain returns the stacks, or the error if the answer is one.
func (a *Answer) Domain(arch unwind.Arch) ([]unwind.Stack, error) {
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	out := make([]unwind.Stack, 0, len(a.Stacks))
	for i := range a.Stacks {
		s, err := a.Stacks[i].Domain(arch)
		if err != nil {
			return nil, under(fmt.Sprintf("stacks[%d]", i), err)
		}
		out = append(out, s)
	}
	return out, nil
}

// Domain returns the stack in the domain's terms.
func (s *Stack) Domain(arch unwind.Arch) (unwind.Stack, error) {
	out := unwind.Stack{
		Thread:    s.Thread,
		Goroutine: s.Goroutine,
		Frames:    make([]unwind.Frame, 0, len(s.Frames)),
		Reason:    s.Reason,
		Notes:     s.Notes,

		ThreadName: s.ThreadName,
		State:      s.State.Domain(),
	}
	if s.Stop == StopEnd {
		out.Stop = unwind.End
	}
	for i := range s.Frames {
		f, err := s.Frames[i].Domain(arch)
		if err != nil {
			return unwind.Stack{}, under(fmt.Sprintf("frames[%d]", i), err)
		}
		out.Frames = append(out.Frames, f)
	}
	return out, nil
}

// Domain returns the frame in the domain's terms. Its registers are those that
// are listed; PC, SP and FP come from their fields where the list does not have
// them. The error is a [*FieldError].
func (f *Frame) Domain(arch unwind.Arch) (unwind.Frame, error) {
	out := unwind.Frame{
		CFA:        uint64(f.CFA),
		Function:   f.Function,
		File:       f.File,
		Line:       f.Line,
		Column:     f.Column,
		Image:      f.Image,
		Strategy:   f.Strategy,
		Rule:       f.Rule,
		Inlined:    f.Inlined,
		TailCall:   f.TailCall,
		Group:      f.Group,
		Notes:      f.Notes,
		Segment:    -1,
		DelveFrame: -1,
	}
	switch f.Kind {
	case KindPC:
		out.PC = unwind.Code(uint64(f.PC), unwind.KindInstruction)
	case KindRA:
		out.PC = unwind.Code(uint64(f.PC), unwind.KindReturn)
	case KindAsync:
		return unwind.Frame{}, &FieldError{Path: "kind", Err: ErrAsync}
	default:
		_, err := parseKind(string(f.Kind))
		return unwind.Frame{}, &FieldError{Path: "kind", Err: err}
	}
	if f.Trust != "" {
		trust, err := unwind.ParseTrust(string(f.Trust))
		if err != nil {
			return unwind.Frame{}, &FieldError{Path: "trust", Err: err}
		}
		out.Trust = trust
	}
	if err := f.addRegisters(arch, &out.Registers); err != nil {
		return unwind.Frame{}, err
	}
	if f.Offset != nil {
		out.Offset = uint64(*f.Offset)
	}
	if f.DelveFrame != nil {
		out.DelveFrame = *f.DelveFrame
	}
	for _, c := range f.Rejected {
		out.Rejected = append(out.Rejected, unwind.Rejection{Strategy: c.Strategy, Reason: c.Reason, Check: c.Check, Rule: c.Rule, PC: uint64(c.PC), CFA: uint64(c.CFA)})
	}
	return out, nil
}

// under prefixes the path of a [*FieldError].
func under(path string, err error) error {
	var field *FieldError
	switch {
	case !errors.As(err, &field):
		return &FieldError{Path: path, Err: err}
	case path == "":
		return err
	}
	return &FieldError{Path: path + "." + field.Path, Err: field.Err}
}
