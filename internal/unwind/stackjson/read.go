package stackjson

import (
	"fmt"
	"math"

	"github.com/clewdbg/clew/internal/unwind/jsonread"
	"github.com/clewdbg/clew/unwind"
)

// form selects the fields that a reader requires.
type form uint8

const (
	formOutput   form = iota // clew's output: all fields that the contract requires
	formClaim                // a frame that somebody else found: pc and kind
	formExpected             // any subset
)

// ParseAnswer reads an answer.
func ParseAnswer(data []byte) (Answer, error) {
	r, err := jsonread.New(data)
	if err != nil {
		return Answer{}, err
	}
	a, err := readAnswer(r, formOutput)
	if err != nil {
		return Answer{}, err
	}
	if (a.Stacks == nil) == (a.Error == "") {
		return Answer{}, r.Errorf("an answer has either stacks or an error")
	}
	return a, nil
}

func readAnswer(r *jsonread.Reader, as form) (a Answer, err error) {
	err = r.Struct(a.fields(r, as)...)
	return a, err
}

func (a *Answer) fields(r *jsonread.Reader, as form) []jsonread.Field {
	return []jsonread.Field{
		jsonread.May("stacks", jsonread.Objects(r, &a.Stacks, func(s *Stack) []jsonread.Field { return s.fields(r, as) })),
		jsonread.May("error", &a.Error),
	}
}

// field is a field that some forms require.
func field(required bool, name string, to any) jsonread.Field {
	return jsonread.Field{Name: name, Required: required, To: to}
}

func (s *Stack) fields(r *jsonread.Reader, as form) []jsonread.Field {
	all := as != formExpected
	return []jsonread.Field{
		field(all, "frames", jsonread.Objects(r, &s.Frames, func(f *Frame) []jsonread.Field { return f.fields(r, as) })),
		field(all, "stop", jsonread.Parse(r, &s.Stop, parseStop)),
		jsonread.May("thread", &s.Thread), jsonread.May("goroutine", &s.Goroutine),
		jsonread.May("reason", &s.Reason), jsonread.May("notes", texts(r, &s.Notes)), jsonread.May("threadName", &s.ThreadName),
		jsonread.May("state", func() error {
			s.State = &State{}
			return r.Struct(s.State.fields(r, as)...)
		}),
		jsonread.May("goroutines", jsonread.List(r, &s.Goroutines, func(int) (uint64, error) { return r.Uint(math.MaxUint64) })),
		jsonread.May("count", &s.Count),
	}
}

// texts reads a list of strings.
func texts(r *jsonread.Reader, to *[]string) func() error {
	return jsonread.List(r, to, func(int) (string, error) { return r.String() })
}

// Claims returns a reader of frames that another unwinder found, in the domain's terms:
// only kind and pc must be there. It is for readers of documents that contain frames.
func Claims(r *jsonread.Reader, arch unwind.Arch) func() (unwind.Frame, error) {
	var one Frame
	fields := one.fields(r, formClaim)
	return func() (unwind.Frame, error) {
		one = Frame{}
		if err := r.Struct(fields...); err != nil {
			return unwind.Frame{}, err
		}
		f, err := one.Domain(arch)
		if err != nil {
			return unwind.Frame{}, under(r.Path(), err)
		}
		return f, nil
	}
}

func (f *Frame) fields(r *jsonread.Reader, as form) []jsonread.Field {
	all, some := as == formOutput, as != formExpected
	return []jsonread.Field{
		field(all, "index", &f.Index), field(some, "kind", jsonread.Parse(r, &f.Kind, parseKind)), field(some, "pc", &f.PC),
		field(all, "strategy", func() (err error) {
			if f.Strategy, err = r.String(); err == nil && f.Strategy == "" {
				err = r.Errorf("a strategy needs a name")
			}
			return err
		}),
		field(all, "trust", jsonread.Parse(r, &f.Trust, parseTrust)),
		jsonread.May("cfa", &f.CFA), jsonread.May("sp", &f.SP), jsonread.May("fp", &f.FP),
		jsonread.May("function", &f.Function), jsonread.May("file", &f.File), jsonread.May("line", &f.Line), jsonread.May("column", &f.Column),
		jsonread.May("image", &f.Image), jsonread.May("offset", &f.Offset), jsonread.May("rule", &f.Rule),
		jsonread.May("inlined", &f.Inlined), jsonread.May("tailCall", &f.TailCall), jsonread.May("group", &f.Group),
		jsonread.May("delveFrame", &f.DelveFrame),
		jsonread.May("registers", func() (err error) { f.Registers, err = readRegisters(r); return err }),
		jsonread.May("rejected", jsonread.Objects(r, &f.Rejected, func(c *Rejected) []jsonread.Field { return c.fields(as) })),
		jsonread.May("notes", texts(r, &f.Notes)),
	}
}

func (c *Rejected) fields(as form) []jsonread.Field {
	all := as != formExpected
	return []jsonread.Field{
		field(all, "strategy", &c.Strategy), field(all, "reason", &c.Reason), jsonread.May("check", &c.Check), jsonread.May("rule", &c.Rule),
		jsonread.May("pc", &c.PC), jsonread.May("cfa", &c.CFA),
	}
}

// registerCost is roughly the size of an entry of a map of registers, in bytes.
const registerCost = 64

func readRegisters(r *jsonread.Reader) (map[string]Address, error) {
	regs := map[string]Address{}
	err := r.Map(func(name string) error {
		if err := r.Charge(registerCost + len(name)); err != nil {
			return err
		}
		if _, twice := regs[name]; twice {
			return r.Wrap(ErrTwice)
		}
		v, err := r.Address()
		regs[name] = v
		return err
	})
	if err != nil {
		return nil, err
	}
	return regs, nil
}

// UnmarshalJSON reads an answer as strictly as [ParseAnswer].
func (a *Answer) UnmarshalJSON(data []byte) error {
	parsed, err := ParseAnswer(data)
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	*a = parsed
	return nil
}
