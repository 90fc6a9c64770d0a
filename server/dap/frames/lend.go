package frames

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// Requests about a frame that only clew knows are Delve's to answer all the same,
// which knows types, values and expressions: the frame is lent to it for the time
// of the request (server/delve, insertframe.go). A frame whose place is only guessed is
// not: values would be, too.

var (
	errLabel     = errors.New("this is a label between frames, and no frame")
	errGuessed   = errors.New("this frame was found by scanning the stack: where its variables are is not known")
	errNoCFA     = errors.New("where this frame begins is not known, and so its variables are not")
	errElsewhere = errors.New("the debugger runs in another process: variables of a frame that it does not know are not to be had")
)

// Lender has Delve answer about frames that only clew knows.
type Lender struct{ session }

// isOwn says that only clew knows the frame.
func (r Ref) isOwn() bool {
	return r.frame >= 0 && r.stack.stack.Frames[r.frame].DelveFrame < 0
}

// lendable says why a frame cannot be lent, nil if it can.
func (r Ref) lendable() error {
	if r.frame < 0 {
		return errLabel
	}
	f := &r.stack.stack.Frames[r.frame]
	switch {
	case weaknessOf(f.Trust) > 1:
		return errGuessed
	case f.CFA == 0:
		return errNoCFA
	}
	return nil
}

// FrameOf finds the frame that a request is about; ok is false where the request
// was refused.
func (l *Lender) FrameOf(m *dapwire.Message, id int, message string) (at stop.Moment, ref Ref, known, ok bool) {
	var args struct {
		FrameID int64 `json:"frameId"`
	}
	if m.Decode("arguments", &args) != nil {
		return at, ref, false, true // for Delve to refuse
	}
	at, stopped := l.program.State.At()
	if !stopped && args.FrameID >= debuggee.FirstID {
		l.wire.Client.Refuse(m, id, message, "debuggee is running")
		return at, ref, false, false
	}
	ref, known, err := l.ids.Find(at, args.FrameID)
	if err != nil {
		l.wire.Client.Refuse(m, id, message, err.Error())
		return at, ref, false, false
	}
	return at, ref, known, true
}

// InFrame has Delve answer a request about a frame that only clew knows. With
// named set, the request is told Delve's name for the frame.
func (l *Lender) InFrame(ctx context.Context, m *dapwire.Message, ref Ref, named bool) (answer *dapwire.Message, err error) {
	if err := ref.lendable(); err != nil {
		return nil, err
	}
	err = l.program.AtStopPaced(ctx, 0, func(ctx context.Context, v *debuggee.View, pace func()) error {
		lender, ok := v.Target.(debuggee.Lender)
		if !ok {
			return errElsewhere
		}
		lent, err := l.lent(ctx, v, ref)
		if err != nil {
			return err
		}
		loan, err := lender.InsertFrame(lent)
		if err != nil {
			return err
		}
		defer loan.Release()
		defer l.keepAt(pace)()
		if named {
			id, err := l.nameLoan(ctx, &loan, lent.Lookup)
			if err != nil {
				return err
			}
			wire.SetArgument(m, "frameId", id)
		}
		answer, err = l.wire.Up.Ask(ctx, m)
		return err
	})
	return answer, err
}

// keepAt lets a piece of work go on for as long as Delve takes: its answer must
// come before the frame is taken back.
func (l *Lender) keepAt(pace func()) (stop func()) {
	pace()
	ticker, done := time.NewTicker(l.program.Patience/4), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				pace()
			case <-done:
				return
			}
		}
	}()
	return func() { ticker.Stop(); close(done) }
}

// nameLoan asks for Delve's ID of a frame that is lent.
func (l *Lender) nameLoan(ctx context.Context, loan *delve.InsertedFrame, lookup uint64) (id int64, err error) {
	answer, err := l.wire.Up.Inject(ctx, stackTraceRequest(Page{ThreadID: loan.Thread, StartFrame: loan.Index, Levels: 1}))
	if err != nil {
		return 0, err
	}
	raw, _ := answer.Get("body")
	frames, ok := framesIn(raw)
	if !answer.Success || !ok || len(frames) != 1 || frames[0].pc != lookup {
		return 0, fmt.Errorf("the debugger does not take the frame: %.200s", answer.Bytes())
	}
	return frames[0].id, nil
}

// lent describes a frame for Delve.
func (l *Lender) lent(ctx context.Context, v *debuggee.View, ref Ref) (*delve.RecoveredFrame, error) {
	th, regs, err := l.recovered(ctx, v, ref)
	if err != nil {
		return nil, err
	}
	return delve.Recovered(&th, v.Arch(), ref.stack.stack.Frames, ref.frame, regs), nil
}

// recovered returns a frame's registers: all that a walk can recover.
func (l *Lender) recovered(ctx context.Context, v *debuggee.View, ref Ref) (th delve.Thread, regs unwind.Registers, err error) {
	if err := l.program.Prepare(ctx, v); err != nil {
		return th, regs, err
	}
	return v.Registers(ctx, v.Prepared, ref.stack.found, ref.frame)
}

// MapReferences returns the variables in an answer of Delve's about an own frame IDs
// of our own, which are refused at another stop, and know their frame.
func (l *Lender) MapReferences(answer *dapwire.Message, at stop.Moment, ref Ref, list string) {
	raw, _ := answer.Get("body")
	body, err := dapwire.ParseObject(raw)
	if err != nil || !answer.Success {
		return
	}
	if list == "" {
		l.mapReference(body, at, ref)
	} else {
		items, _ := body.Get(list)
		elements, err := dapwire.Elements(items)
		if err != nil {
			return
		}
		out := []byte{'['}
		for i, e := range elements {
			if i > 0 {
				out = append(out, ',')
			}
			o, err := dapwire.ParseObject(e)
			if err != nil {
				return
			}
			l.mapReference(o, at, ref)
			out = append(out, o.Bytes()...)
		}
		body.Set(list, append(out, ']'))
	}
	answer.Set("body", body.Bytes())
}

func (l *Lender) mapReference(o *dapwire.Object, at stop.Moment, ref Ref) {
	if n, ok := o.Int("variablesReference"); ok && n > 0 && n < debuggee.FirstID {
		o.Set("variablesReference", fmt.Appendf(nil, "%d", l.ids.MintVars(at.Epoch, Held{Delve: n, Frame: ref})))
	}
}
