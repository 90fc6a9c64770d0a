package frames

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/cause"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/unwind"
)

// A fatal signal in code that is not Go's stops the program in the runtime's fatalsignal, by Delve's breakpoint for fatal errors. Delve knows no
// more of it than that; package cause reads what the kernel has given the handler.

// OnExceptionInfo says which signal has ended the program, and what lies at the address that it is about. All else is Delve's: panics
// and fatal errors of Go. Of a thread without a goroutine Delve knows nothing, and its refusal would name a goroutine that
// does not exist.
func (ts *Threads) OnExceptionInfo(ctx context.Context, m *dapwire.Message) error {
	if t, ok := ts.program.Target().(interface{ Gone() error }); ok {
		if err := t.Gone(); err != nil {
			return err // Delve would read registers that are no more
		}
	}
	id := debuggee.RequestedThread(m)
	tid, alone := debuggee.ThreadOf(id)
	var answer *dapwire.Message
	if alone {
		if err := ts.wire.Settle(ctx, m); err != nil {
			return err
		}
	} else {
		var err error
		if answer, err = ts.wire.Up.Ask(ctx, m); err != nil {
			return nil // both connections end
		}
	}
	info, err := ts.signalled(ctx, m.Seq, id)
	switch {
	case err == nil:
		ts.wire.Client.Respond(m, info)
	case alone:
		return fmt.Errorf("thread %d runs no goroutine: nothing is known of an exception", tid)
	default:
		ts.wire.Client.Send(answer)
	}
	return nil
}

// fatalSignal is where the runtime ends the program after a signal.
const fatalSignal = "runtime.fatalsignal"

var errNoSignal = errors.New("the thread is not where a signal has ended the program")

// signalled describes the signal that has ended the program.
func (ts *Threads) signalled(ctx context.Context, request, id int64) (out *dap.ExceptionInfoResponseBody, err error) {
	err = ts.program.AtStop(ctx, request, func(ctx context.Context, v *debuggee.View) error {
		th, _, _, err := v.Resolve(id)
		if err != nil {
			return err
		}
		pc, ok := th.Registers.PC(v.Arch())
		if f := v.Frame(unwind.Code(pc, th.FirstPC)); !ok || f.Function != fatalSignal {
			return errNoSignal
		}
		if err := ts.program.Prepare(ctx, v); err != nil {
			return err
		}
		d := cause.OfThread(ctx, v.Stopped, v.Prepared, th, v.Target.Pid())
		if d == nil || d.Fault == nil {
			return errNoSignal
		}
		out = ts.describe(d)
		return nil
	})
	return out, err
}

// signalFrames is the number of frames that are shown of the stack that died.
const signalFrames = 16

// describe puts a death by a signal into words.
func (ts *Threads) describe(d *cause.Death) *dap.ExceptionInfoResponseBody {
	out := &dap.ExceptionInfoResponseBody{ExceptionId: d.Crash.Signal, Description: d.Crash.Description, BreakMode: "unhandled"}
	out.Details = &dap.ExceptionDetails{TypeName: out.ExceptionId, Message: cmp.Or(d.Crash.Message, out.Description)}
	frames := d.Stack.Frames[*d.Crash.Frame:]
	for i := range frames {
		if frames[i].Function != "" { // the program may have jumped to where no function is
			out.Description += []string{", in ", ", called from "}[min(i, 1)] + frames[i].Function + ts.lineOf(&frames[i], " at ")
			break
		}
	}
	if d.Crash.Message != "" {
		out.Description += ": " + d.Crash.Message
	}
	var text strings.Builder
	for i := range frames[:min(len(frames), signalFrames)] {
		fmt.Fprintf(&text, "%#x in %s%s\n", frames[i].PC.Raw(), cmp.Or(frames[i].Function, "?"), ts.lineOf(&frames[i], "\n\tat "))
	}
	out.Details.StackTrace = text.String()
	return out
}

// lineOf returns a frame's file and line, after some text; "" where they are not known.
func (ts *Threads) lineOf(f *unwind.Frame, before string) string {
	if f.File == "" {
		return ""
	}
	return fmt.Sprintf("%s%s:%d", before, ts.program.Config.ClientPath(f.File), f.Line)
}
