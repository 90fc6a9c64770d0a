package frames

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/unwind"
)

// A fatal signal in code that is not Go's stops the program in the runtime's fatalsignal, by Delve's breakpoint for fatal errors. Delve knows no
// more of it than that: here the siginfo that the kernel has given the handler is read by Delve's own expressions, in that function.

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
func (ts *Threads) signalled(ctx context.Context, request, id int64) (*dap.ExceptionInfoResponseBody, error) {
	var delveID int64
	err := ts.program.AtStop(ctx, request, func(_ context.Context, v *debuggee.View) error {
		th, known, _, err := v.Resolve(id)
		if err != nil {
			return err
		}
		pc, ok := th.Registers.PC(v.Arch())
		if f := v.Frame(unwind.Code(pc, th.FirstPC)); !ok || f.Function != fatalSignal {
			return errNoSignal
		}
		delveID = known
		return nil
	})
	if err != nil {
		return nil, err
	}
	f, saved, err := ts.siginfo(ctx, delveID)
	if err != nil {
		ts.wire.Log("exceptionInfo: %v", err)
		return nil, err
	}
	var out *dap.ExceptionInfoResponseBody
	err = ts.program.AtStop(ctx, request, func(ctx context.Context, v *debuggee.View) (err error) {
		f.access = accessOf(v, f.address, saved)
		out, err = ts.describeFault(ctx, v, id, f)
		return err
	})
	return out, err
}

// siginfo has Delve read what the kernel has told the handler; saved is the address of the registers that it has saved.
func (ts *Threads) siginfo(ctx context.Context, thread int64) (f *fault, saved uint64, err error) {
	var stack dap.StackTraceResponseBody
	err = ts.ask(ctx, &dap.StackTraceRequest{
		Request: dap.Request{Command: "stackTrace"}, Arguments: dap.StackTraceArguments{ThreadId: int(thread), Levels: 1},
	}, &stack)
	if err != nil {
		return nil, 0, err
	}
	if len(stack.StackFrames) == 0 {
		return nil, 0, errNoSignal
	}
	var values [4]uint64
	for i, expression := range []string{"c.info.si_signo", "c.info.si_code", "c.info.si_addr", "c.ctxt"} {
		var result dap.EvaluateResponseBody
		err := ts.ask(ctx, &dap.EvaluateRequest{
			Request: dap.Request{Command: "evaluate"}, Arguments: dap.EvaluateArguments{Expression: expression, FrameId: stack.StackFrames[0].Id, Context: "watch"},
		}, &result)
		if err != nil {
			return nil, 0, err
		}
		if values[i], err = parseNumber(result.Result); err != nil {
			return nil, 0, err
		}
	}
	return &fault{signal: syscall.Signal(values[0]), code: int64(values[1]), address: values[2]}, values[3], nil
}

// parseNumber reads a number or an unsafe.Pointer as Delve writes it: "8 = 0x8", "unsafe.Pointer(0x8)".
func parseNumber(text string) (uint64, error) {
	text, _, _ = strings.Cut(text, " = ")
	text = strings.TrimSuffix(strings.TrimPrefix(text, "unsafe.Pointer("), ")")
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return uint64(n), nil
	}
	return strconv.ParseUint(text, 0, 64)
}

// ask has Delve answer a request of clew's own.
func (ts *Threads) ask(ctx context.Context, request dap.RequestMessage, body any) error {
	answer, err := ts.wire.Up.Inject(ctx, request)
	if err != nil {
		return err
	}
	if !answer.Success {
		return fmt.Errorf("%s: %s", request.GetRequest().Command, answer.Bytes())
	}
	return answer.Decode("body", body)
}

// signalFrames is the number of frames in which the interrupted function is searched: those of the handler come before it.
const signalFrames = 16

// describeFault puts what is known of a signal into words.
func (ts *Threads) describeFault(ctx context.Context, v *debuggee.View, id int64, f *fault) (*dap.ExceptionInfoResponseBody, error) {
	th, _, _, err := v.Resolve(id)
	if err != nil {
		return nil, err
	}
	there := "nothing is known of what lies there"
	if m, ok := v.View.(interface{ Maps() []imagemap.Mapping }); ok {
		threads, err := v.Threads()
		if err != nil {
			threads = []reading.Thread{th}
		}
		there = whatLies(f.address, m.Maps(), threads)
	}
	out := &dap.ExceptionInfoResponseBody{ExceptionId: f.name(), Description: f.describe(v.Target.Pid(), there), BreakMode: "unhandled"}
	out.Details = &dap.ExceptionDetails{TypeName: out.ExceptionId, Message: out.Description}
	if err := ts.program.Prepare(ctx, v); err != nil {
		return out, nil
	}
	stack, err := v.Whole(ctx, v.Prepared, th, signalFrames)
	if err != nil {
		return out, nil
	}
	first := 1
	for first < len(stack.Frames) && stack.Frames[first].PC.Kind() != unwind.KindInstruction {
		first++
	}
	frames := stack.Frames[min(first, len(stack.Frames)):]
	for i := range frames {
		if frames[i].Function != "" { // the program may have jumped to where no function is
			out.Description += []string{", in ", ", called from "}[min(i, 1)] + frames[i].Function + ts.lineOf(&frames[i], " at ")
			break
		}
	}
	var text strings.Builder
	for i := range frames {
		fmt.Fprintf(&text, "%#x in %s%s\n", frames[i].PC.Raw(), cmp.Or(frames[i].Function, "?"), ts.lineOf(&frames[i], "\n\tat "))
	}
	out.Details.StackTrace = text.String()
	return out, nil
}

// lineOf returns a frame's file and line, after some text; "" where they are not known.
func (ts *Threads) lineOf(f *unwind.Frame, before string) string {
	if f.File == "" {
		return ""
	}
	return fmt.Sprintf("%s%s:%d", before, ts.program.Config.ClientPath(f.File), f.Line)
}
