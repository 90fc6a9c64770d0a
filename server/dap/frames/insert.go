package frames

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// Delve answers requests about a frame that only clew knows, too, because it knows types,
// values and expressions: the frame is inserted into Delve's stack for the time of the
// request (server/delve, insertframe.go). A frame whose place is guessed is not inserted:
// its values would be guesses too.

// ErrRunning is Delve's refusal while the program runs.
var ErrRunning = errors.New(internals.RunningText)

var (
	errLabel     = errors.New("this is a label between frames, not a frame")
	errElsewhere = errors.New("the debugger runs in another process: it cannot show variables of a frame that it does not know")
)

// Inserter has Delve answer about frames that only clew knows.
type Inserter struct{ session }

// isClews reports whether only clew knows the frame.
func (r Ref) isClews() bool {
	return r.frame >= 0 && r.stack.stack.Frames[r.frame].DelveFrame < 0
}

// insertable returns why a frame cannot be inserted, nil if it can.
func (r Ref) insertable() error {
	if r.frame < 0 {
		return errLabel
	}
	if err := stop.Variables(&r.stack.stack.Frames[r.frame]); err != nil {
		return fmt.Errorf("this frame has no variables here: %w", err)
	}
	return nil
}

// FrameOf finds the frame that a request is about. Unknown frames are for Delve to refuse.
func (l *Inserter) FrameOf(m *dapwire.Message) (at stop.Moment, ref Ref, known bool, err error) {
	var args dap.ScopesArguments
	if m.Decode("arguments", &args) != nil {
		return at, ref, false, nil
	}
	at, stopped := l.program.State.At()
	if !stopped && args.FrameId >= debuggee.FirstID {
		return at, ref, false, ErrRunning
	}
	ref, known, err = l.ids.Find(at, int64(args.FrameId))
	return at, ref, known, err
}

// InFrame has Delve answer a request about a frame that only clew knows. With
// named set, the request is told Delve's name for the frame.
func (l *Inserter) InFrame(ctx context.Context, m *dapwire.Message, ref Ref, named bool) (answer *dapwire.Message, err error) {
	if err := ref.insertable(); err != nil {
		return nil, err
	}
	err = l.program.AtStop(ctx, 0, func(ctx context.Context, v *debuggee.View) error {
		inserter, ok := v.Target.(debuggee.Inserter)
		if !ok {
			return errElsewhere
		}
		recovered, err := l.describe(ctx, v, ref)
		if err != nil {
			return err
		}
		inserted, err := inserter.InsertFrame(recovered)
		if err != nil {
			return err
		}
		defer inserted.Release()
		defer l.keepAt(v.Pace)()
		if named {
			id, err := l.idOf(ctx, &inserted, recovered.Lookup)
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
func (l *Inserter) keepAt(pace func()) (stop func()) {
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

// idOf asks Delve for the ID of an inserted frame.
func (l *Inserter) idOf(ctx context.Context, inserted *reading.InsertedFrame, lookup uint64) (id int64, err error) {
	answer, err := l.wire.Up.Inject(ctx, stackTraceRequest(Page{ThreadID: inserted.Thread, StartFrame: inserted.Index, Levels: 1}))
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

// describe describes a frame for Delve.
func (l *Inserter) describe(ctx context.Context, v *debuggee.View, ref Ref) (*reading.RecoveredFrame, error) {
	th, regs, err := l.recovered(ctx, v, ref)
	if err != nil {
		return nil, err
	}
	return reading.Recovered(&th, v.Arch(), ref.stack.stack.Frames, ref.frame, regs), nil
}

// recovered returns a frame's registers: all that a walk can recover.
func (l *Inserter) recovered(ctx context.Context, v *debuggee.View, ref Ref) (th reading.Thread, regs unwind.Registers, err error) {
	if err := l.program.Prepare(ctx, v); err != nil {
		return th, regs, err
	}
	return v.Registers(ctx, v.Prepared, ref.stack.found, ref.frame)
}

// MapReferences replaces the references in Delve's answer about an inserted frame by
// clew's own: they are refused at another stop, and know their frame.
func (l *Inserter) MapReferences(answer *dapwire.Message, at stop.Moment, ref Ref, list string) {
	raw, _ := answer.Get("body")
	body, err := dapwire.ParseObject(raw)
	if err != nil || !answer.Success {
		return
	}
	if list == "" {
		l.mapReference(body, at, ref)
	} else {
		var elements []json.RawMessage
		if items, _ := body.Get(list); json.Unmarshal(items, &elements) != nil {
			return
		}
		for i, e := range elements {
			o, err := dapwire.ParseObject(e)
			if err != nil {
				return
			}
			l.mapReference(o, at, ref)
			elements[i] = o.Bytes()
		}
		out, err := json.Marshal(elements)
		if err != nil {
			return
		}
		body.Set(list, out)
	}
	answer.Set("body", body.Bytes())
}

func (l *Inserter) mapReference(o *dapwire.Object, at stop.Moment, ref Ref) {
	if n, ok := o.Int("variablesReference"); ok && n > 0 && n < debuggee.FirstID {
		o.Set("variablesReference", fmt.Appendf(nil, "%d", l.ids.MintVars(at.Epoch, Held{Delve: n, Frame: ref})))
	}
}
