package terminal

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/native"
)

// lister is a program whose native code clew lists.
type lister interface {
	NativeFunctions(*regexp.Regexp) ([]string, error)
	NativeSources() ([]string, error)
	Disassemble(start, end uint64, syntax native.Syntax) ([]native.Instruction, error)
}

// lister returns the program, if clew knows its native code at this stop. The caller holds the gate.
func (s scopes) lister() (lister, bool) {
	d, ok := s.session.(lister)
	return d, ok && s.readable() && s.stacks.Read() == nil
}

// ofC is how Delve's names of functions of other languages than Go begin.
const ofC = "C."

// functions lists Go's functions as Delve does, and native ones by their own names.
func (s scopes) functions(arg rpc2.ListFunctionsIn, out *rpc2.ListFunctionsOut) error {
	if err := s.rpc.ListFunctions(arg, out); err != nil {
		return err
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	d, ok := s.lister()
	pattern, err := regexp.Compile(arg.Filter)
	if !ok || err != nil || arg.FollowCalls > 0 {
		return nil
	}
	natives, err := d.NativeFunctions(pattern)
	if err != nil {
		return nil
	}
	out.Funcs = merged(slices.DeleteFunc(out.Funcs, func(name string) bool { return strings.HasPrefix(name, ofC) }), natives)
	return nil
}

// sources lists the files of all code.
func (s scopes) sources(arg rpc2.ListSourcesIn, out *rpc2.ListSourcesOut) error {
	if err := s.rpc.ListSources(arg, out); err != nil {
		return err
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	d, ok := s.lister()
	pattern, err := regexp.Compile(arg.Filter)
	if !ok || err != nil {
		return nil
	}
	natives, err := d.NativeSources()
	if err != nil {
		return nil
	}
	out.Sources = merged(out.Sources, slices.DeleteFunc(natives, func(file string) bool { return !pattern.MatchString(file) }))
	return nil
}

// merged are two lists as one, sorted.
func merged(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// disassemble writes native code in its own syntax, and Go code as Delve does.
func (s scopes) disassemble(arg rpc2.DisassembleIn, out *rpc2.DisassembleOut) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	d, ok := s.lister()
	if !ok {
		return s.rpc.Disassemble(arg, out)
	}
	found, err := d.Disassemble(arg.StartPC, arg.EndPC, s.syntaxOf(arg.Flavour))
	if errors.Is(err, held.ErrNoLocation) {
		return s.rpc.Disassemble(arg, out)
	}
	if err != nil {
		return err
	}
	breaks := make(map[uint64]bool)
	for _, b := range s.dbg.Breakpoints(true) {
		for _, addr := range b.Addrs {
			breaks[addr] = true
		}
	}
	at := s.pcOf(arg.Scope)
	for i := range found {
		one := &found[i]
		instr := api.AsmInstruction{
			Loc: api.Location{PC: one.Addr, File: one.File, Line: one.Line}, Text: one.Text, Bytes: one.Bytes, Breakpoint: breaks[one.Addr], AtPC: one.Addr == at,
		}
		if one.Function != "" {
			instr.Loc.Function = &api.Function{Name_: one.Function}
		}
		if one.Target != 0 {
			instr.DestLoc = &api.Location{PC: one.Target}
		}
		out.Disassemble = append(out.Disassemble, instr)
	}
	return nil
}

// pcOf is where a scope's goroutine or thread stands, 0 if that is not known.
func (s scopes) pcOf(scope api.EvalScope) uint64 {
	stack, _, err := s.stack(&rpc2.StacktraceIn{Id: scope.GoroutineID, Depth: 1})
	if err != nil || stack == nil || len(stack.Frames) == 0 {
		return 0
	}
	return stack.Frames[0].PC.Raw()
}

// syntaxOf is the syntax for native code. Delve's terminal asks for Intel's where its user has set nothing: only what is set counts here.
func (s *server) syntaxOf(asked api.AssemblyFlavour) native.Syntax {
	if asked == api.IntelFlavour && s.flavor() == native.Intel {
		return native.Intel
	}
	return native.ATT
}
