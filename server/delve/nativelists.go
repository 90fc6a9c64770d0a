package delve

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/unwind"
)

// stoppedCode is the native code of a program that stands still.
func (s *Session) stoppedCode() (*native.Code, error) {
	group, unlock, err := s.Stopped()
	if err != nil {
		return nil, err
	}
	defer unlock()
	m := s.loaded(group.Selected)
	if m == nil {
		return nil, held.ErrNoLocation
	}
	return native.Of(m), nil
}

// maxListed bounds a list of functions.
const maxListed = 1 << 17

// NativeFunctions lists the names of native functions that a pattern matches, sorted.
func (s *Session) NativeFunctions(pattern *regexp.Regexp) ([]string, error) {
	code, err := s.stoppedCode()
	if err != nil {
		return nil, err
	}
	found, _ := code.Matching(pattern, maxListed)
	out := make([]string, 0, len(found))
	for i := range found {
		if pattern.MatchString(found[i].Name) { // else its signature has the match
			out = append(out, found[i].Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// NativeSources lists the source files of native code.
func (s *Session) NativeSources() ([]string, error) {
	code, err := s.stoppedCode()
	if err != nil {
		return nil, err
	}
	return code.Sources(), nil
}

// Disassemble returns the instructions of native code, up to end, or of the whole function for 0. The error wraps [ErrNoLocation] for other code.
func (s *Session) Disassemble(start, end uint64, syntax native.Syntax) ([]native.Instruction, error) {
	code, err := s.stoppedCode()
	if err != nil {
		return nil, err
	}
	if !code.IsNative(start) {
		return nil, fmt.Errorf("%#x: %w", start, held.ErrNoLocation)
	}
	if end == 0 {
		in, ok := codeRange(code, start)
		if !ok {
			return nil, fmt.Errorf("address %#x does not belong to any function", start)
		}
		start, end = in.Start, in.End
	}
	return code.Disassemble(start, end, s.syntax(syntax))
}

// syntax is the usual one where the architecture has no other.
func (s *Session) syntax(wanted native.Syntax) native.Syntax {
	if s.Arch() != unwind.AMD64 {
		return ""
	}
	return wanted
}

// codeRange is the contiguous code of a function around an address.
func codeRange(code *native.Code, addr uint64) (unwind.Range, bool) {
	f, ok := code.FunctionAt(addr)
	for _, r := range f.Ranges {
		if r.Contains(addr) {
			return r, ok
		}
	}
	return unwind.Range{}, false
}

// Bounds on what is disassembled around an address.
const (
	longest = 15 // bytes of an instruction
	padding = 64 // bytes between functions
)

// DisassembleAround returns count instructions of native code, from the one on that is offset instructions behind that at addr. Before and behind the code
// that is known fewer are returned; skipped of those that were asked for come before the first. The error wraps [ErrNoLocation] for other code.
func (s *Session) DisassembleAround(addr uint64, offset, count int, syntax native.Syntax) (found []native.Instruction, skipped int, err error) {
	code, err := s.stoppedCode()
	if err != nil {
		return nil, 0, err
	}
	if !code.IsNative(addr) {
		return nil, 0, fmt.Errorf("%#x: %w", addr, held.ErrNoLocation)
	}
	start := addr
	if in, ok := codeRange(code, addr); ok {
		start = in.Start
	}
	for back := uint64(max(-offset, 0)) * longest; addr-start < back; {
		before, ok := rangeBefore(code, start)
		if !ok {
			break
		}
		start = before.Start
	}
	end := addr + uint64(max(offset+count, 1))*longest
	all, err := code.Disassemble(start, end, s.syntax(syntax))
	if err != nil {
		return nil, 0, err
	}
	at := slices.IndexFunc(all, func(i native.Instruction) bool { return i.Addr == addr })
	if at < 0 {
		return nil, 0, fmt.Errorf("no instruction begins at %#x", addr)
	}
	from, to := at+offset, at+offset+count
	skipped = min(max(-from, 0), count)
	from, to = min(max(from, 0), len(all)), min(max(to, 0), len(all))
	found = all[from:max(from, to)]
	for i := range found {
		if row, ok := code.Row(found[i].Addr); ok && found[i].Line == 0 { // the lines of several functions are not listed at once
			found[i].File, found[i].Line = row.File, row.Line
		}
	}
	return found, skipped, nil
}

// rangeBefore is the function's code that ends where other code begins, or a little before.
func rangeBefore(code *native.Code, start uint64) (unwind.Range, bool) {
	for back := uint64(1); back <= padding && back < start; back++ {
		if r, ok := codeRange(code, start-back); ok && code.IsNative(start-back) {
			return r, true
		}
	}
	return unwind.Range{}, false
}
