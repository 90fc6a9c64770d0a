package delve

import (
	"slices"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/internal/codemap"
)

// strippedLines finds the lines of Go code and the functions of native code in images without DWARF, in which Delve finds none.
type strippedLines struct {
	of      *program
	symbols *codemap.Map // of all images; nil until they are known
}

// WithoutLines says that an image has Go code and no DWARF: Delve finds no lines in it.
func (s *strippedLines) WithoutLines() bool {
	group, unlock, err := s.of.stopped()
	if err != nil {
		return false
	}
	defer unlock()
	return slices.ContainsFunc(group.Selected.BinInfo().Images, func(img *proc.Image) bool { return img.IsGo && img.Stripped() })
}

// LineAddrs returns where the code of a source line begins in images without DWARF, in which
// Delve finds no lines. It needs to know what is mapped ([Session.KnowMap]).
func (s *strippedLines) LineAddrs(file string, line int) (out []uint64) {
	if s.symbols == nil {
		return nil
	}
	group, unlock, err := s.of.stopped()
	if err != nil {
		return nil
	}
	defer unlock()
	t := group.Selected
	bi := t.BinInfo()
	for _, addr := range s.symbols.LineAddrs(file, line) {
		fn := bi.PCToFunc(addr)
		if img := bi.PCToImage(addr); fn == nil || img == nil || !img.Stripped() {
			continue
		}
		if addr == fn.Entry { // behind the check of the stack's size, as Delve does
			addr, _ = proc.FirstPCAfterPrologue(t, fn, true)
		}
		out = append(out, addr)
	}
	return out
}

// PlaceLines adds to what Delve has found for a location the addresses of lines without
// DWARF.
func (s *strippedLines) PlaceLines(found []api.Location) {
	for i := range found {
		l := &found[i]
		if l.PC != 0 || l.File == "" {
			continue
		}
		if l.PCs = s.LineAddrs(l.File, l.Line); len(l.PCs) > 0 {
			l.PC, l.PCPids = l.PCs[0], s.pids(l.PCs)
		}
	}
}

// LocateFunction finds a function by the symbols of all images that are loaded. It needs to know what is mapped
// ([Session.KnowMap]).
func (s *strippedLines) LocateFunction(name string) (found []api.Location) {
	if s.symbols == nil || name == "" { // Mach-O images have functions without a name
		return nil
	}
	if addrs := s.symbols.Find(name); len(addrs) > 0 {
		found = []api.Location{{PC: addrs[0], PCs: addrs, PCPids: s.pids(addrs)}}
	}
	return found
}

// LocateLine finds the addresses of a FILE:LINE in images without DWARF.
func (s *strippedLines) LocateLine(loc string) (addrs []uint64) {
	found, err := s.of.door.FindLocation(loc, true)
	if err != nil {
		return nil
	}
	s.PlaceLines(found)
	for i := range found {
		addrs = append(addrs, found[i].PCs...)
	}
	return addrs
}

// BreakAtLine sets the breakpoint that an editor wants at a line, where that is in an image
// without DWARF. Delve's DAP session then finds it by its name, and gives it its condition.
// path is the file as the editor names it.
func (s *strippedLines) BreakAtLine(path, file string, line, column int) {
	s.breakAt(internals.SourceBreakpoint(path, line, column), s.LineAddrs(file, line))
}

// BreakAtFunction sets the breakpoint that an editor wants at a function, where Delve finds none with that name and
// a symbol has it. Delve's DAP session then finds it by its name, and gives it its condition.
func (s *strippedLines) BreakAtFunction(name string) {
	if found, err := s.of.door.FindLocation(name, false); err == nil && len(found) > 0 {
		return
	}
	for _, l := range s.LocateFunction(name) {
		s.breakAt(internals.FunctionBreakpoint(name), l.PCs)
	}
}

// breakAt sets a breakpoint, unless it is there already.
func (s *strippedLines) breakAt(name string, addrs []uint64) {
	if len(addrs) > 0 {
		_, _ = s.of.door.CreateBreakpoint(&api.Breakpoint{Name: name, Addrs: addrs, AddrPid: s.pids(addrs)})
	}
}

// pids names this process for each address.
func (s *strippedLines) pids(addrs []uint64) []int {
	return slices.Repeat([]int{s.of.Pid()}, len(addrs))
}
