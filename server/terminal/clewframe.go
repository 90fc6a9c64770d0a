package terminal

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/locspec"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/unwind"
)

var (
	errNoWatch   = errors.New("no watchpoint from a frame that Delve does not have in its stack; name what to watch by its address")
	errNoChannel = errors.New("no channel from a frame that Delve does not have in its stack; go to another frame")
)

// NoVariablesError says why a frame that only clew knows has no variables.
type NoVariablesError struct {
	Frame int
	Why   string
}

// Error names the frame and the reason.
func (e *NoVariablesError) Error() string {
	return fmt.Sprintf("frame %d is not in Delve's own stack, and has no variables here: %s", e.Frame, e.Why)
}

func (r *clewFrame) frame() *unwind.Frame { return &r.stack.Frames[r.index] }

func (r *clewFrame) none(format string, args ...any) error {
	return &NoVariablesError{Frame: r.index, Why: fmt.Sprintf(format, args...)}
}

// lookup is the address for the frame's function and line (R9).
func (r *clewFrame) lookup() uint64 { return uint64(r.frame().PC.Lookup(r.stack.Arch)) }

// registers are the frame's, as Delve has them: those that the walk recovered.
func (r *clewFrame) registers() (*op.DwarfRegisters, error) {
	a := r.stack.Arch
	if a != unwind.AMD64 && a != unwind.ARM64 {
		return nil, r.none("its registers are not known by Delve's numbers")
	}
	known, err := r.server.stacks.Registers(r.stack, r.index)
	if err != nil {
		return nil, err
	}
	lr := uint64(a.LR())
	if a.LR() == unwind.NoRegister {
		lr = 0 // as Delve has it on this architecture
	}
	regs := op.NewDwarfRegisters(0, nil, binary.LittleEndian, uint64(a.PC()), uint64(a.SP()), uint64(a.FP()), lr)
	for reg, value := range known.All() {
		regs.AddReg(uint64(reg), op.DwarfRegisterFromUint64(value))
	}
	regs.CFA = int64(r.frame().CFA)
	return regs, nil
}

// locked calls do with Delve's target.
func (r *clewFrame) locked(do func(t *proc.Target) error) error {
	group, unlock := r.server.dbg.LockTargetGroup()
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return err
	}
	return do(t)
}

// within calls do in Delve's scope of the frame. Delve evaluates in any frame whose
// registers it gets, if DWARF describes the function. A panic of its DWARF code, which
// does not survive corrupt tables, becomes an error.
func (r *clewFrame) within(do func(*proc.Target, *proc.EvalScope) error) error {
	regs, err := r.registers()
	if err != nil {
		return err
	}
	return r.locked(func(t *proc.Target) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = r.none("Delve fails: %v", p)
			}
		}()
		scope, err := r.scope(t, regs)
		if err != nil {
			return err
		}
		return do(t, scope)
	})
}

func (r *clewFrame) scope(t *proc.Target, regs *op.DwarfRegisters) (*proc.EvalScope, error) {
	f, bi := r.frame(), t.BinInfo()
	file, line, fn := bi.PCToLine(r.lookup())
	image := bi.PCToImage(r.lookup())
	switch {
	case f.Trust <= unwind.TrustScan:
		return nil, r.none("it was only scanned for, and their places would be guesses")
	case fn == nil || image == nil || image.Stripped():
		return nil, r.none("there is no DWARF for %s", r.name())
	case f.CFA == 0:
		return nil, r.none("its CFA is not known (%s)", r.stack.Reason)
	case f.TailCall:
		return nil, r.none("it has jumped to the function before: its frame is gone")
	case f.Inlined:
		return nil, r.none("it is an inlined call; go one frame up")
	}
	regs.StaticBase = image.StaticBase
	subprogram := entryOf(image, fn.Entry)
	if subprogram == nil {
		return nil, r.none("there is no DWARF for %s", r.name())
	}
	base, _, _, err := bi.Location(subprogram, dwarf.AttrFrameBase, r.lookup(), *regs, t.Memory())
	if err != nil {
		return nil, r.none("where the frame of %s begins is not known: %v", r.name(), err)
	}
	regs.FrameBase = base
	current := proc.Location{PC: f.PC.Raw(), File: file, Line: line, Fn: fn}
	scope := proc.FrameToScope(t, t.Memory(), nil, 0, proc.Stackframe{Current: current, Call: current, Regs: *regs, SystemStack: true})
	scope.PC = r.lookup()
	return scope, nil
}

// entryOf returns the DWARF entry of the function that begins at an address, or nil.
func entryOf(image *proc.Image, entry uint64) *dwarf.Entry {
	reader := image.DwarfReader()
	if reader == nil {
		return nil
	}
	if _, err := reader.SeekPC(entry - image.StaticBase); err != nil {
		return nil
	}
	for {
		e, err := reader.Next()
		if err != nil || e == nil || e.Tag == dwarf.TagCompileUnit {
			return nil
		}
		if e.Tag != dwarf.TagSubprogram {
			continue
		}
		if low, ok := e.Val(dwarf.AttrLowpc).(uint64); ok && low+image.StaticBase == entry {
			return e
		}
	}
}

func (r *clewFrame) name() string {
	if name := r.server.nameOf(r.frame()); name != "" {
		return name
	}
	return fmt.Sprintf("the code at %#x", r.frame().PC.Raw())
}

// location is the frame's location as Delve's interface has it.
func (r *clewFrame) location() api.Location {
	return r.server.inWords(api.Location{PC: r.lookup(), PCs: []uint64{r.lookup()}}, r.frame())
}

// find finds a location in the frame's scope, described as Delve does.
func (r *clewFrame) find(t *proc.Target, spec locspec.LocationSpec, scope *proc.EvalScope, arg *rpc2.FindLocationIn) ([]api.Location, string, error) {
	locs, subst, err := spec.Find(t, nil, scope, arg.Loc, arg.IncludeNonExecutableLines, arg.SubstitutePathRules)
	for i := range locs {
		if locs[i].PC == 0 {
			continue
		}
		file, line, fn := scope.BinInfo.PCToLine(locs[i].PC)
		locs[i].File, locs[i].Line, locs[i].Function = file, line, api.ConvertFunction(fn)
		for range locs[i].PCs {
			locs[i].PCPids = append(locs[i].PCPids, t.Pid())
		}
	}
	return locs, subst, err
}
