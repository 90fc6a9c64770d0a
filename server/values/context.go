package values

import (
	"bytes"
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/server/values/location"
	"github.com/clewdbg/clew/server/values/types"
	"github.com/clewdbg/clew/unwind"
)

// A frame is the [location.Context] of its expressions.

// Register implements [location.Context].
func (f *Frame) Register(reg uint64) ([]byte, error) {
	f.stack.note(use{row: f.in, reg: reg})
	return f.stack.register(f.in, reg)
}

// CFA implements [location.Context].
func (f *Frame) CFA() (uint64, error) { return f.stack.cfa(f.in) }

// OnStack implements [location.Context]. Without frame pointers, the register for it holds whatever the function wants.
func (f *Frame) OnStack(reg uint64) bool {
	if reg != uint64(f.stack.Arch.FP()) || f.function == nil {
		return reg == uint64(f.stack.Arch.SP())
	}
	base, ok, err := f.function.Block(dwarf.AttrFrameBase)
	return err == nil && ok && len(base) > 0 && (base[0] == opReg0+byte(reg) || base[0] == opBreg0+byte(reg))
}

var errNoBase = errors.New("DWARF does not say where its function's frame is")

// FrameBase implements [location.Context].
func (f *Frame) FrameBase() (uint64, error) {
	at, err := withAttr(f.function, dwarf.AttrFrameBase)
	switch {
	case err != nil:
		return 0, err
	case at == nil:
		return 0, errNoBase
	}
	code, _, err := at.Location(dwarf.AttrFrameBase, f.addr, &f.locations)
	switch {
	case err != nil:
		return 0, err
	case len(code) == 0:
		return 0, errNoBase
	case f.inBase: // it asks for itself
		return 0, errNoBase
	}
	f.inBase = true
	defer func() { f.inBase = false }()
	v, err := location.Value(f, at, code)
	if err == nil && (len(code) == 1 && code[0] >= opReg0 || len(code) == 2 && code[0] >= opBreg0 && code[1] == 0) && code[0] < opBreg0+32 {
		err = f.madeFrame(uint64(code[0]-opReg0) % 32)
	}
	return v, err
}

// ReadMemory implements [location.Context].
func (f *Frame) ReadMemory(addr uint64, p []byte) error {
	f.stack.note(use{addr: addr, mem: true})
	return f.stack.Memory.ReadMemory(addr, p)
}

// Object implements [location.Context].
func (f *Frame) Object() (uint64, bool) {
	if f.object == nil {
		return 0, false
	}
	return *f.object, true
}

// Bias implements [location.Context].
func (f *Frame) Bias() uint64 { return f.at.Bias }

// Order implements [location.Context].
func (f *Frame) Order() binary.ByteOrder { return f.stack.Arch.ByteOrder() }

// Types implements [location.Context].
func (f *Frame) Types() *types.Set { return f.types }

const maxEntryValues = 256 // for one variable

var errEntryValues = fmt.Errorf("it rests on more than %d values that callers passed", maxEntryValues)

// Entry implements [location.Context]: what the caller's call site says that it passed.
func (f *Frame) Entry(code []byte) ([]byte, error) {
	site, caller, err := f.callSite()
	if err != nil {
		return nil, fmt.Errorf("what the function was called with is not known: %w", err)
	}
	children, _, err := site.Children(maxEntries)
	if err != nil {
		return nil, err
	}
	for _, c := range children {
		if where, ok, err := c.Block(dwarf.AttrLocation); err == nil && ok && bytes.Equal(where, code) {
			return caller.passed(c)
		}
	}
	return nil, errors.New("what the function was called with is not known: the caller's DWARF does not say it")
}

// Parameter implements [location.Context].
func (f *Frame) Parameter(e *dwarfline.Entry) ([]byte, error) {
	site, caller, err := f.callSite()
	if err != nil {
		return nil, fmt.Errorf("what the function was called with is not known: %w", err)
	}
	children, _, err := site.Children(maxEntries)
	if err != nil {
		return nil, err
	}
	for _, c := range children {
		for _, attr := range []dwarf.Attr{dwarf.AttrCallParameter, dwarf.AttrAbstractOrigin} {
			if to, err := c.Refers(attr); err == nil && to != nil && (to.Key() == e.Key() || sameOrigin(to, e)) {
				return caller.passed(c)
			}
		}
	}
	return nil, errors.New("what the function was called with is not known: the caller's DWARF does not say it")
}

// Attributes and tags of call sites before DWARF 5.
const (
	tagGNUCallSite      = dwarf.Tag(0x4109)
	attrGNUCallValue    = dwarf.Attr(0x2111)
	attrGNUCallTarget   = dwarf.Attr(0x2113)
	attrGNUTailCall     = dwarf.Attr(0x2115)
	attrCallReturnPC    = dwarf.AttrCallReturnPC
	maxSearchedForSites = 1 << 16 // entries of the caller
)

// passed evaluates what a call site says that a parameter is.
func (f *Frame) passed(e *dwarfline.Entry) ([]byte, error) {
	f.stack.entries++
	if f.stack.entries > maxEntryValues {
		return nil, errEntryValues
	}
	for _, attr := range []dwarf.Attr{dwarf.AttrCallValue, attrGNUCallValue} {
		code, ok, err := e.Block(attr)
		switch {
		case err != nil:
			return nil, err
		case ok && len(code) == 0:
			return nil, location.ErrOptimized
		case ok:
			v, err := location.Value(f, e, code)
			return wordOf(v), err
		}
	}
	return nil, errors.New("the caller's DWARF does not say what it passed")
}

var errNoSite = errors.New("the caller's DWARF does not describe the call")

// foundSite is a call that was looked for.
type foundSite struct {
	site   *dwarfline.Entry
	caller *Frame
	err    error
}

// callSite returns the caller's entry of the call that led to this frame, and the caller.
func (f *Frame) callSite() (site *dwarfline.Entry, caller *Frame, err error) {
	found, ok := f.stack.sites[f.in]
	if !ok {
		if f.stack.sites == nil {
			f.stack.sites = make(map[int]foundSite)
		}
		f.stack.sites[f.in] = foundSite{err: errors.New("it rests on itself")}
		found.site, found.caller, found.err = f.findSite()
		f.stack.sites[f.in] = found
	}
	return found.site, found.caller, found.err
}

func (f *Frame) findSite() (site *dwarfline.Entry, caller *Frame, err error) {
	s := f.stack
	row, jumped := s.caller(f.in)
	switch {
	case row < 0:
		return nil, nil, errors.New("the caller is not known")
	case jumped:
		return nil, nil, errors.New("the function was reached by a jump from another, which has no frame")
	case s.frames[row].Trust < unwind.TrustCFI:
		return nil, nil, fmt.Errorf("the caller was found by %s alone", s.frames[row].Trust)
	case s.frames[row].PC.Kind() != unwind.KindReturn:
		return nil, nil, errors.New("no call led here")
	}
	if caller, err = s.Frame(row); err == nil {
		err = caller.lack
	}
	if err != nil {
		return nil, nil, err
	}
	budget := maxSearchedForSites
	site, err = caller.siteIn(caller.function, s.frames[row].PC.Raw()-caller.at.Bias, &budget, maxBlocks)
	switch {
	case err != nil:
		return nil, nil, err
	case site == nil:
		return nil, nil, errNoSite
	}
	return site, caller, f.isOf(site, caller)
}

// siteIn finds the call that returns to an address.
func (f *Frame) siteIn(scope *dwarfline.Entry, ret uint64, budget *int, deeper int) (*dwarfline.Entry, error) {
	children, _, err := scope.Children(maxEntries)
	if err != nil || deeper == 0 {
		return nil, err
	}
	if *budget -= len(children); *budget < 0 {
		return nil, errors.New("the caller has too many entries")
	}
	for _, c := range children {
		switch tag := c.Tag(); {
		case tag == dwarf.TagCallSite || tag == tagGNUCallSite:
			at, ok := c.Address(attrCallReturnPC)
			if !ok && tag == tagGNUCallSite {
				at, ok = c.Address(dwarf.AttrLowpc)
			}
			if ok && at == ret && !c.Flag(dwarf.AttrCallTailCall) && !c.Flag(attrGNUTailCall) {
				return c, nil
			}
		case isBlock(tag) || tag == dwarf.TagInlinedSubroutine:
			if found, err := f.siteIn(c, ret, budget, deeper-1); found != nil || err != nil {
				return found, err
			}
		}
	}
	return nil, nil
}

var errOtherCallee = errors.New("the caller called another function, which jumped here or is another instance")

// isOf says whether a call is of the frame's function, and not of one that jumped here.
func (f *Frame) isOf(site *dwarfline.Entry, caller *Frame) error {
	for _, attr := range []dwarf.Attr{dwarf.AttrCallOrigin, dwarf.AttrAbstractOrigin} {
		to, err := site.Refers(attr)
		switch {
		case err != nil:
			return err
		case to == nil:
			continue
		case sameOrigin(to, f.function) || sameSymbol(to, f.function):
			return nil
		}
		return errOtherCallee
	}
	begin, known := f.function.Begin()
	for _, attr := range []dwarf.Attr{dwarf.AttrCallTarget, attrGNUCallTarget} {
		code, ok, err := site.Block(attr)
		if err != nil || !ok || !known {
			continue
		}
		if to, err := location.Value(caller, site, code); err == nil && to == begin+f.at.Bias {
			return nil
		}
	}
	return errors.New("which function the caller called is not known")
}

// origins are an entry and those that it is an instance or definition of.
func origins(e *dwarfline.Entry) (out []*dwarfline.Entry) {
	for range maxHops {
		out = append(out, e)
		next, err := e.Refers(dwarf.AttrAbstractOrigin)
		if err == nil && next == nil {
			next, err = e.Refers(dwarf.AttrSpecification)
		}
		if err != nil || next == nil {
			break
		}
		e = next
	}
	return out
}

// sameOrigin says whether two entries are of the same function or variable.
func sameOrigin(a, b *dwarfline.Entry) bool {
	known := make(map[dwarfline.Key]bool)
	for _, e := range origins(a) {
		known[e.Key()] = true
	}
	for _, e := range origins(b) {
		if known[e.Key()] {
			return true
		}
	}
	return false
}

// sameSymbol says whether two entries are of the same function by the linker's name, which is
// the name itself where it is not mangled. Functions of one file alone have no such name.
func sameSymbol(a, b *dwarfline.Entry) bool {
	name := symbolOf(a)
	return name != "" && name == symbolOf(b)
}

func symbolOf(e *dwarfline.Entry) string {
	external := false
	name := ""
	for _, o := range origins(e) {
		external = external || o.Flag(dwarf.AttrExternal)
		for _, attr := range []dwarf.Attr{dwarf.AttrLinkageName, dwarf.Attr(0x2007)} {
			if name == "" {
				name = o.Text(attr)
			}
		}
	}
	if !external {
		return ""
	}
	if name == "" {
		name = nameOf(e)
	}
	return name
}
