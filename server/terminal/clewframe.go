package terminal

import (
	"errors"
	"fmt"

	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

var (
	errNoWatch   = errors.New("no watchpoint from a frame that Delve does not have in its stack; name what to watch by its address")
	errNoChannel = errors.New("no channel from a frame that Delve does not have in its stack; go to another frame")
)

// clewFrame is a frame that only clew knows.
type clewFrame struct {
	server *server
	stack  *stop.Stack
	index  int
}

func (r *clewFrame) frame() *unwind.Frame { return &r.stack.Frames[r.index] }

// none says why the frame has no variables.
func (r *clewFrame) none(format string, args ...any) error {
	return fmt.Errorf("frame %d is not in Delve's own stack, and has no variables here: %w", r.index, fmt.Errorf(format, args...))
}

// lookup is the address for the frame's function and line (R9).
func (r *clewFrame) lookup() uint64 { return uint64(r.frame().PC.Lookup(r.stack.Arch)) }

// registers are the frame's: those that the walk recovered.
func (r *clewFrame) registers() (unwind.Registers, error) {
	if a := r.stack.Arch; a != unwind.AMD64 && a != unwind.ARM64 {
		return unwind.Registers{}, r.none("its registers are not known by Delve's numbers")
	}
	return r.server.stacks.Registers(r.stack, r.index)
}

// inserted has Delve answer a request about the frame, which is in its stack for that
// time ([reading.Reader.InsertFrame]). A panic of its DWARF code, which does not survive
// corrupt tables, becomes an error.
func (r *clewFrame) inserted(scope *api.EvalScope, byDelve func() error) (err error) {
	session, ok := r.server.session.(*delve.Session)
	if !ok {
		return r.none("clew recovers them in sessions of its own, not before a Delve server")
	}
	if err := r.variables(session); err != nil {
		return err
	}
	regs, err := r.registers()
	if err != nil {
		return err
	}
	frame, err := session.InsertFrame(reading.Recovered(&r.stack.Thread, r.stack.Arch, r.stack.Frames, r.index, regs))
	if err != nil {
		return r.none("%v", err)
	}
	defer func() {
		frame.Release()
		if p := recover(); p != nil {
			err = r.none("Delve fails: %v", p)
		}
	}()
	scope.GoroutineID, scope.Frame = frame.Thread, frame.Index
	return byDelve()
}

// variables says why the frame has no variables, nil if it may have some.
func (r *clewFrame) variables(session *delve.Session) error {
	if err := stop.Variables(r.frame()); err != nil {
		return r.none("%w", err)
	}
	if !session.Described(r.lookup()) {
		return r.none("there is no DWARF for %s", r.name())
	}
	return nil
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
