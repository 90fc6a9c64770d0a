package dwarfcfi

import (
	"encoding/binary"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/unwind"
)

// tables are an image's tables. The first has .eh_frame: it was loaded with the
// program, so it is of this very build.
type tables []*cfi.Table

// open indexes an image's sections.
func open(arch unwind.Arch, in *unwind.Image) (tablewalk.Tables, tablewalk.Problems) {
	return openOrder(arch, nil, in)
}

// openOrder is open of an image with a byte order; nil is the architecture's.
func openOrder(arch unwind.Arch, order binary.ByteOrder, in *unwind.Image) (tables, tablewalk.Problems) {
	ts, problems := tablesOf(arch, order, in)
	for _, t := range ts {
		first, count := t.Problems()
		tablewalk.Add(&problems, t.Section().Name, first, count)
	}
	return ts, problems
}

// tablesOf makes the tables of the sections that the image has.
func tablesOf(arch unwind.Arch, order binary.ByteOrder, in *unwind.Image) (ts tables, problems tablewalk.Problems) {
	section := func(name string) cfi.Section {
		s := in.Section(name)
		return cfi.Section{Name: s.Name, Addr: s.Addr, Data: s.Data}
	}
	opts := cfi.Options{Arch: arch, Order: order, Bias: in.Base, Code: unwind.NewRangeSet(in.Executable...)}
	eh, header := section(sectionEH), section(sectionHeader)
	if segment := section(sectionSegment); len(eh.Data) == 0 && len(segment.Data) > 0 {
		before := section(sectionBefore)
		if before.Addr+uint64(len(before.Data)) != segment.Addr {
			before.Data = nil
		}
		var err error
		if header, eh, err = cfi.SplitSegment(segment.Addr, segment.Data, before.Data, arch, in.Base); err != nil {
			problems = append(problems, err.Error())
		}
		opts.OpenEnded = true
	}
	if machO := section(sectionMachO); len(machO.Data) > 0 {
		opts := opts
		opts.Synchronous = true
		ts = append(ts, cfi.New(machO, opts))
	}
	if len(eh.Data) > 0 {
		opts := opts
		opts.Header = header
		ts = append(ts, cfi.New(eh, opts))
	}
	if debug := section(sectionDebug); len(debug.Data) > 0 {
		debug.Kind = cfi.DebugFrame
		opts.OpenEnded = false
		ts = append(ts, cfi.New(debug, opts))
	}
	return ts, problems
}

// Coverage implements [tablewalk.Tables].
func (ts tables) Coverage() (set unwind.RangeSet) {
	for _, t := range ts {
		set = set.Union(t.Ranges())
	}
	return set
}

// find returns the FDE that counts for an address.
func (ts tables) find(addr uint64) (*cfi.Table, cfi.FDE, bool) {
	for _, t := range ts {
		if f, ok := t.Find(addr); ok {
			return t, f, true
		}
	}
	return nil, cfi.FDE{}, false
}

// Signal implements [tablewalk.Tables].
func (ts tables) Signal(addr uint64) bool {
	_, f, ok := ts.find(addr)
	return ok && f.Signal()
}

// doubtSynchronous goes with a step from between two calls by tables that clang
// made for arm64, or for Apple's systems: they describe the whole prologue at its end and no epilogue.
const doubtSynchronous = "the caller may be wrong or missing: the function's tables tell of no epilogue, and may be right at calls only"

// Rule implements [tablewalk.Tables].
func (ts tables) Rule(addr uint64, kind unwind.PCKind) (*tablewalk.Rule, error) {
	table, fde, ok := ts.find(addr)
	if !ok {
		return nil, nil
	}
	row, err := table.Row(&fde, addr)
	if err != nil {
		return nil, err
	}
	found := &tablewalk.Rule{Rule: row.Rule()}
	if row.Synchronous && kind == unwind.KindInstruction && addr != fde.Start {
		found.Doubt = doubtSynchronous
		found.Settle = func(f *unwind.FunctionCode, regs *unwind.Registers) *tablewalk.Rule {
			return settle(f, &fde, &found.Rule, addr, regs)
		}
	}
	return found, nil
}
