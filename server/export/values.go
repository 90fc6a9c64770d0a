package export

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/values"
	"github.com/clewdbg/clew/unwind"
)

// Which values of a frame are written.
type Which struct{ Arguments, Locals, Registers bool }

// Any says that some are.
func (w Which) Any() bool { return w.Arguments || w.Locals || w.Registers }

// Bounds of the values of a listing.
const (
	maxChildren  = 64      // of a value
	maxLevels    = 4       // of children in each other
	maxOfFrame   = 1 << 12 // values and children of a frame
	maxValues    = 1 << 18 // of a listing
	maxReadBytes = 256 << 20
)

// Values reads the values of a listing's frames, within bounds for all of them together. It is the memory that they are read
// from, too: so what is asked for behind the bounds is unknown, with the reason. It is not safe for concurrent use.
type Values struct {
	Which  Which
	Memory unwind.Memory
	// Until is when nothing more is read; zero for no limit.
	Until time.Time
	// OfGo returns the values of a Go frame: Delve's; nil where Delve is not asked.
	OfGo func(s *unwind.Stack, frame int, which Which) ([]stackjson.Value, error)

	read, made, frame int
	index             int
}

var (
	errTime  = errors.New("the time for the values of this listing has passed")
	errBytes = fmt.Errorf("the values of this listing have more than %d MB", maxReadBytes>>20)
	errMany  = fmt.Errorf("the values of this listing are more than %d", maxValues)
)

// over says why nothing more is read, nil while there is room.
func (r *Values) over() error {
	switch {
	case !r.Until.IsZero() && time.Now().After(r.Until):
		return errTime
	case r.read > maxReadBytes:
		return errBytes
	case r.made > maxValues:
		return errMany
	}
	return nil
}

// ReadMemory implements [unwind.Memory].
func (r *Values) ReadMemory(addr uint64, p []byte) error {
	if err := r.over(); err != nil {
		return err
	}
	r.read += len(p)
	return r.Memory.ReadMemory(addr, p)
}

// Of returns the values of each frame of a stack. stack has the same frames, with all registers; isGo says which are Go's.
func (r *Values) Of(s *unwind.Stack, stack *values.Stack, isGo func(*unwind.Frame) bool) [][]stackjson.Value {
	out := make([][]stackjson.Value, len(s.Frames))
	for i := range s.Frames {
		if err := r.over(); err != nil {
			out[i] = []stackjson.Value{none(err)}
			continue
		}
		r.frame, r.index = 0, i
		out[i] = r.ofOne(s, i, stack, isGo(&s.Frames[i]))
	}
	return out
}

// none stands for values that there are none of, and says why.
func none(err error) stackjson.Value {
	return stackjson.Value{Name: "…", Kind: stackjson.KindLocal, Unknown: err.Error()}
}

func (r *Values) ofOne(s *unwind.Stack, i int, stack *values.Stack, isGo bool) (out []stackjson.Value) {
	f, err := stack.Frame(i)
	variables := r.Which.Arguments || r.Which.Locals
	switch {
	case isGo && variables && r.OfGo != nil:
		all, err := r.OfGo(s, i, r.Which)
		if out = all; err != nil {
			out = append(out, none(err))
		}
	case isGo:
	case err != nil && variables:
		out = append(out, none(err))
	case err == nil && f.Lack() != nil && variables:
		if !errors.Is(f.Lack(), values.ErrNoDWARF) { // most libraries are so
			out = append(out, none(f.Lack()))
		}
	case err == nil && variables:
		if r.Which.Arguments {
			out = r.list(out, f.Arguments, stackjson.KindArgument)
		}
		if r.Which.Locals {
			out = r.list(out, f.Locals, stackjson.KindLocal)
		}
	}
	if err == nil && r.Which.Registers && !s.Frames[i].Inlined {
		out = append(out, registersOf(f)...)
	}
	return out
}

func (r *Values) list(out []stackjson.Value, list func() ([]*values.Value, error), kind stackjson.ValueKind) []stackjson.Value {
	all, err := list()
	if err != nil {
		return append(out, none(err))
	}
	for i, v := range all {
		if r.frame >= maxOfFrame {
			return append(out, none(fmt.Errorf("%d more are left out", len(all)-i)))
		}
		out = append(out, r.form(v, kind, maxLevels))
	}
	return out
}

// form makes the form of a value, with what it holds.
func (r *Values) form(v *values.Value, kind stackjson.ValueKind, deeper int) stackjson.Value {
	r.made++
	r.frame++
	out := stackjson.Value{Name: v.Name, Type: v.Type(), Kind: kind, Shadowed: v.Shadowed}
	switch err := v.Err(); {
	case values.OptimizedOut(err):
		out.OptimizedOut = true
		return out
	case err != nil:
		out.Unknown = err.Error()
		return out
	}
	out.Value = v.Text()
	out.RestsOn = restsOn(v.Rests())
	count := v.Counts()
	named := slices.DeleteFunc(v.Named(), func(c *values.Value) bool { return c.Name == "[raw]" }) // what it holds says it all
	count.Named = len(named)
	if deeper == 0 || r.frame >= maxOfFrame {
		out.More = count.Named + count.Indexed
		return out
	}
	children := append(named[:min(len(named), maxChildren):min(len(named), maxChildren)], v.Indexed(0, max(0, maxChildren-len(named)))...)
	for i, c := range children {
		if r.frame >= maxOfFrame || r.over() != nil {
			children = children[:i]
			break
		}
		out.Children = append(out.Children, r.form(c, kind, deeper-1))
	}
	out.More = max(0, count.Named+count.Indexed-len(children))
	return out
}

func restsOn(all []values.Rest) (out []stackjson.Rest) {
	for _, r := range all {
		out = append(out, restOf(r.Register, r.Address, r.Origin))
	}
	return out
}

func restOf(register string, addr uint64, o values.Origin) (out stackjson.Rest) {
	if out.Register = register; register == "" {
		at := stackjson.Address(addr)
		out.Memory = &at
		return out
	}
	if o.How != values.Processor {
		out.From = &o.From
	}
	if o.How == values.Saved {
		at := stackjson.Address(o.At)
		out.Saved = &at
	}
	return out
}

// registersOf are a frame's registers, known or not.
func registersOf(f *values.Frame) (out []stackjson.Value) {
	for _, reg := range f.Registers() {
		one := stackjson.Value{Name: reg.Name, Kind: stackjson.KindRegister}
		if reg.Err != nil {
			one.Unknown = reg.Err.Error()
		} else {
			one.Value = fmt.Sprintf("%#x", reg.Value)
			one.RestsOn = []stackjson.Rest{restOf(reg.Name, 0, reg.Origin)}
		}
		out = append(out, one)
	}
	return out
}

// valueLine is a value in one line: "n = 3".
func valueLine(v *stackjson.Value) string {
	name := printable.Text(v.Name)
	if v.Shadowed {
		name = "(" + name + ")"
	}
	if name == "" {
		name = "_"
	}
	switch {
	case v.OptimizedOut:
		return name + " = <optimized out>"
	case v.Unknown != "":
		return name + " = <unknown: " + printable.Text(v.Unknown) + ">"
	}
	line := name + " = " + printable.Text(v.Value)
	if v.Kind != stackjson.KindRegister {
		return line
	}
	return line + "  " + strings.Join(placeWords(v.RestsOn), ", ")
}

// placeWords are what a register rests on, in words.
func placeWords(all []stackjson.Rest) (out []string) {
	for _, r := range all {
		switch {
		case r.Saved != nil:
			out = append(out, fmt.Sprintf("saved at %v, frame %d", *r.Saved, *r.From))
		case r.From != nil:
			out = append(out, fmt.Sprintf("from frame %d", *r.From))
		default:
			out = append(out, "unchanged")
		}
	}
	return out
}
