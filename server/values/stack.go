package values

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/server/values/expr"
	"github.com/clewdbg/clew/server/values/show"
	"github.com/clewdbg/clew/server/values/types"
	"github.com/clewdbg/clew/unwind"
)

// Source is what values are read from.
type Source struct {
	Arch   unwind.Arch
	Code   *codemap.Map
	Memory unwind.Memory
	// Write writes memory; nil where that is not possible.
	Write func(addr uint64, data []byte) error
	// SetRegister sets a register of the innermost frame by DWARF's number; nil where that is not possible.
	SetRegister func(reg uint64, data []byte) error
	// Vector returns a register of the innermost frame that the walk does not keep, as those of vectors. May be nil.
	Vector func(reg uint64) ([]byte, bool)
}

// Stack is a stack with the registers that were recovered for its frames.
type Stack struct {
	Source
	frames []unwind.Frame
	// entries counts evaluations of values at entry, for the variable that is being read.
	entries int
	uses    *[]use            // where what is read is noted, nil for nowhere
	sites   map[int]foundSite // by the callee's row
	// work counts steps of formatters' expressions, while working says that one value's are counted.
	work     int
	working  bool
	straight *written // by the innermost function, once it was looked at
	forType  map[*types.Type][]*show.Formatter
	parsed   map[string]expr.Node   // expressions of formatters
	named    map[string]*types.Type // types by name, nil for those that are not there
	tables   map[uint64]*types.Type // of traits' functions, by their address
}

// New returns a stack. The frames must have all registers that could be recovered.
func New(from Source, frames []unwind.Frame) *Stack { return &Stack{Source: from, frames: frames} }

// Reasons for which a frame has no variables.
var (
	ErrTailCall  = errors.New("its function has jumped to the one before: its frame is gone, and its variables with it")
	ErrNoDWARF   = errors.New("there is no DWARF for its code")
	ErrOtherCall = errors.New("DWARF has other inlined calls there than the stack")
	errBigEndian = errors.New("values of big-endian machines are not read")
)

// Frame is a frame whose variables are asked for.
type Frame struct {
	stack *Stack
	index int // its row
	in    int // the row of the physical frame that it lies in
	at    codemap.Described
	addr  uint64 // for lookups in the file
	// function is the physical function, and scope that of the row: the function, or a call that is inlined into it.
	function, scope *dwarfline.Entry
	types           *types.Set
	inBase          bool    // its frame base is being evaluated
	object          *uint64 // for expressions of members' places
	lack            error   // why the frame has no variables
	locations       int     // entries of location lists that may still be read
}

// Frame returns a frame by its row in the stack. One without variables, which [Frame.Lack] says, can evaluate what names none.
func (s *Stack) Frame(row int) (*Frame, error) {
	if row < 0 || row >= len(s.frames) {
		return nil, fmt.Errorf("there is no frame %d", row)
	}
	if s.Arch.ByteOrder() != binary.LittleEndian {
		return nil, errBigEndian
	}
	f := &Frame{stack: s, index: row, in: s.physical(row), types: types.NewSet(), locations: maxLocations}
	switch {
	case s.frames[row].TailCall:
		f.lack = ErrTailCall
	case f.in < 0:
		return nil, ErrOtherCall
	default:
		f.lack = f.find(f.in - row)
	}
	return f, nil
}

// Lack says why the frame has no variables, nil if it may have some.
func (f *Frame) Lack() error { return f.lack }

// physical returns the row of the physical frame that a row lies in.
func (s *Stack) physical(row int) int {
	for i := row; i < len(s.frames); i++ {
		if !s.frames[i].Inlined {
			return i
		}
	}
	return -1
}

// find finds the frame's function, and the inlined call that is so deep in it.
func (f *Frame) find(depth int) error {
	lookup := f.stack.frames[f.in].PC.Lookup(f.stack.Arch)
	d, ok := f.stack.Code.Described(lookup)
	if !ok {
		return ErrNoDWARF
	}
	f.at, f.addr = d, uint64(lookup)-d.Bias
	f.types = typesOf(d.Table)
	function, err := d.Table.FunctionAt(f.addr)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoDWARF, err)
	}
	f.function, f.scope = function, function
	for range depth {
		if f.scope, err = f.inlinedIn(f.scope, maxBlocks); err != nil {
			return err
		}
		if f.scope == nil {
			return ErrOtherCall
		}
	}
	if depth > 0 || f.in == f.index {
		return nil
	}
	return ErrOtherCall
}

func typesOf(t *dwarfline.Table) *types.Set {
	return t.Keep(func() any { return types.NewSet() }).(*types.Set)
}

// caller is the row of the physical frame that called the one in row, -1 for none; jumped says that functions
// between them have jumped on, and have no frames.
func (s *Stack) caller(row int) (at int, jumped bool) {
	for i := row + 1; i < len(s.frames); i++ {
		if s.frames[i].TailCall {
			jumped = true
		}
		if !s.frames[i].Inlined {
			return i, jumped
		}
	}
	return -1, jumped
}

// scanned returns the row of the first frame up to this one that was found by scanning, -1 for none.
func (s *Stack) scanned(row int) int {
	return slices.IndexFunc(s.frames[:row+1], func(f unwind.Frame) bool { return f.Trust <= unwind.TrustScan })
}

// register returns a register of a physical frame.
func (s *Stack) register(row int, reg uint64) ([]byte, error) {
	name := s.registerName(reg)
	f := &s.frames[row]
	if reg == uint64(s.Arch.PC()) {
		return wordOf(f.PC.Raw()), nil
	}
	if at := s.scanned(row); at >= 0 {
		return nil, fmt.Errorf("%s is not known in frame %d: frame %d was found by scanning", name, row, at)
	}
	if v, ok := f.Registers.Get(unwind.Register(min(reg, 0xffff))); ok {
		return wordOf(v), nil
	}
	innermost := s.physical(0) == row
	if innermost && s.Vector != nil {
		if data, ok := s.Vector(reg); ok {
			return data, nil
		}
	}
	switch {
	case innermost:
		return nil, fmt.Errorf("%s is not known", name)
	case !slices.Contains(s.Arch.CalleeSaved(), unwind.Register(min(reg, 0xffff))):
		if s.kept(row, reg) {
			return s.register(s.callee(row), reg)
		}
		return nil, fmt.Errorf("%s is not known in frame %d: functions that it called need not keep it", name, row)
	}
	return nil, fmt.Errorf("%s is not known in frame %d: a frame before it may have changed it, and where it was saved is not known", name, row)
}

func wordOf(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// registerName is the name of a register by DWARF's number.
func (s *Stack) registerName(reg uint64) string {
	switch {
	case s.Arch == unwind.AMD64 && reg >= 17 && reg <= 32:
		return fmt.Sprintf("xmm%d", reg-17)
	case s.Arch == unwind.AMD64 && reg >= 33 && reg <= 40:
		return fmt.Sprintf("st%d", reg-33)
	case s.Arch == unwind.ARM64 && reg >= 64 && reg <= 95:
		return fmt.Sprintf("v%d", reg-64)
	}
	return s.Arch.RegisterName(unwind.Register(min(reg, 0xffff)))
}

// cfa returns the CFA of a physical frame.
func (s *Stack) cfa(row int) (uint64, error) {
	if at := s.scanned(row); at >= 0 {
		return 0, fmt.Errorf("the frame's CFA is not known: frame %d was found by scanning", at)
	}
	next, _ := s.caller(row)
	switch {
	case s.frames[row].CFA == 0 || next < 0:
		return 0, errors.New("the frame's CFA is not known: its caller was not found")
	case s.frames[next].Trust < unwind.TrustCFI:
		return 0, fmt.Errorf("the frame's CFA is not known: its caller was found by %s alone", s.frames[next].Trust)
	}
	return s.frames[row].CFA, nil
}
