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

var (
	frameOptional = []string{"cfa", "sp", "fp", "function", "file", "line", "column", "image", "offset", "rule", "inlined", "tailCall", "group",
		"delveFrame", "registers", "rejected", "notes"}
	frameRequired = []string{"index", "kind", "pc", "strategy", "trust"}

	frameFields = [...]jsonread.Fields{
		formOutput:   {Required: frameRequired, Optional: frameOptional},
		formClaim:    {Required: []string{"kind", "pc"}, Optional: append([]string{"index", "strategy", "trust"}, frameOptional...)},
		formExpected: {Optional: append(append([]string(nil), frameRequired...), frameOptional...)},
	}
	stackFields = [...]jsonread.Fields{
		formOutput:   {Required: []string{"frames", "stop"}, Optional: stackOptional},
		formExpected: {Optional: append([]string{"frames", "stop"}, stackOptional...)},
	}
	stackOptional  = []string{"thread", "goroutine", "reason", "notes", "threadName", "state", "goroutines", "count"}
	rejectedFields = [...]jsonread.Fields{
		formOutput:   {Required: []string{"strategy", "reason"}, Optional: []string{"pc", "cfa"}},
		formClaim:    {Required: []string{"strategy", "reason"}, Optional: []string{"pc", "cfa"}},
		formExpected: {Optional: []string{"strategy", "reason", "pc", "cfa"}},
	}
	answerFields = jsonread.Fields{Optional: []string{"stacks", "error"}}
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
	err = r.Struct(&answerFields, func(name string) (err error) {
		if name == "error" {
			a.Error, err = r.String()
			return err
		}
		a.Stacks, err = jsonread.Slice(r, func(int) (Stack, error) { return readStack(r, as) })
		return err
	})
	return a, err
}

func readStack(r *jsonread.Reader, as form) (s Stack, err error) {
	err = r.Struct(&stackFields[as], func(name string) (err error) {
		switch name {
		case "thread":
			s.Thread, err = r.Uint(math.MaxUint64)
		case "goroutine":
			s.Goroutine, err = r.Uint(math.MaxUint64)
		case "frames":
			s.Frames, err = jsonread.Slice(r, func(int) (Frame, error) { return readFrame(r, as) })
		case "stop":
			s.Stop, err = jsonread.Parse(r, parseStop)
		case "reason":
			s.Reason, err = r.String()
		case "notes":
			s.Notes, err = jsonread.Slice(r, func(int) (string, error) { return r.String() })
		case "threadName":
			s.ThreadName, err = r.String()
		case "state":
			s.State, err = readState(r, as)
		case "goroutines":
			s.Goroutines, err = jsonread.Slice(r, func(int) (uint64, error) { return r.Uint(math.MaxUint64) })
		case "count":
			s.Count, err = readInt(r)
		}
		return err
	})
	return s, err
}

// ReadClaim reads a frame that another unwinder found, in the domain's terms:
// only kind and pc must be there. It is for readers of documents that contain
// frames.
func ReadClaim(r *jsonread.Reader, arch unwind.Arch) (unwind.Frame, error) {
	form, err := readFrame(r, formClaim)
	if err != nil {
		return unwind.Frame{}, err
	}
	f, err := form.Domain(arch)
	if err != nil {
		return unwind.Frame{}, under(r.Path(), err)
	}
	return f, nil
}

func readFrame(r *jsonread.Reader, as form) (f Frame, err error) {
	err = r.Struct(&frameFields[as], func(name string) error { return f.readField(r, name, as) })
	return f, err
}

func (f *Frame) readField(r *jsonread.Reader, name string, as form) (err error) {
	switch name {
	case "index":
		f.Index, err = readInt(r)
	case "kind":
		f.Kind, err = jsonread.Parse(r, parseKind)
	case "pc":
		f.PC, err = ReadAddress(r)
	case "cfa":
		f.CFA, err = ReadAddress(r)
	case "sp":
		f.SP, err = readOptional(r)
	case "fp":
		f.FP, err = readOptional(r)
	case "function":
		f.Function, err = r.String()
	case "file":
		f.File, err = r.String()
	case "line":
		f.Line, err = readInt(r)
	case "column":
		f.Column, err = readInt(r)
	case "image":
		f.Image, err = r.String()
	case "offset":
		f.Offset, err = readOptional(r)
	case "strategy":
		if f.Strategy, err = r.String(); err == nil && f.Strategy == "" {
			err = r.Errorf("a strategy needs a name")
		}
	case "trust":
		f.Trust, err = jsonread.Parse(r, parseTrust)
	case "rule":
		f.Rule, err = r.String()
	case "group":
		f.Group, err = r.String()
	case "inlined":
		f.Inlined, err = r.Bool()
	case "tailCall":
		f.TailCall, err = r.Bool()
	case "delveFrame":
		var n int
		n, err = readInt(r)
		f.DelveFrame = &n
	case "registers":
		f.Registers, err = readRegisters(r)
	case "rejected":
		f.Rejected, err = jsonread.Slice(r, func(int) (Rejected, error) { return readRejected(r, as) })
	case "notes":
		f.Notes, err = jsonread.Slice(r, func(int) (string, error) { return r.String() })
	}
	return err
}

func readRejected(r *jsonread.Reader, as form) (c Rejected, err error) {
	err = r.Struct(&rejectedFields[as], func(name string) (err error) {
		switch name {
		case "strategy":
			c.Strategy, err = r.String()
		case "reason":
			c.Reason, err = r.String()
		case "pc":
			c.PC, err = ReadAddress(r)
		case "cfa":
			c.CFA, err = ReadAddress(r)
		}
		return err
	})
	return c, err
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
		v, err := ReadAddress(r)
		regs[name] = v
		return err
	})
	if err != nil {
		return nil, err
	}
	return regs, nil
}

// readInt reads an index, a line or a count. 31 bits are enough for each and
// have the same meaning on every host.
func readInt(r *jsonread.Reader) (int, error) {
	n, err := r.Uint(math.MaxInt32)
	return int(n), err
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
