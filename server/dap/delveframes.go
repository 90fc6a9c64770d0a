package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/clewdbg/clew/server/dapwire"
)

// delveFrame is a frame as Delve's session gives it: its ID is a handle of that
// session, valid until the next stop, and the way to its variables.
type delveFrame struct {
	raw  json.RawMessage
	id   int64
	name string
	pc   uint64
}

// take keeps the frames of an answer of Delve's, whose first frame has the index
// start in Delve's stack of that thread. Delve makes new IDs each time, and the
// old ones stay valid: the client sees the first one again and again.
func (v *view) take(thread int64, start int, answer *dapwire.Message) {
	var body stackTraceBody
	if answer.Decode("body", &body) != nil {
		return
	}
	frames := v.delve[thread]
	if frames == nil {
		frames = make(map[int]delveFrame)
		v.delve[thread] = frames
	}
	for i, raw := range body.StackFrames {
		o, err := dapwire.ParseObject(raw)
		if err != nil {
			continue
		}
		id, ok := o.Int("id")
		pc, err := strconv.ParseUint(o.Text("instructionPointerReference"), 0, 64)
		n := max(start, 0) + i
		if _, have := frames[n]; ok && err == nil && !have {
			frames[n] = delveFrame{raw: raw, id: id, name: o.Text("name"), pc: pc}
		}
	}
}

// fetch has Delve give the frames that rows need and that were not given yet.
func (p *Proxy) fetch(ctx context.Context, v *view, a *assembled, thread int64, rows []row) error {
	low, high := -1, -1
	for i := range rows {
		if rows[i].label != "" {
			continue
		}
		n := a.stack.Frames[rows[i].frame].DelveFrame
		if _, ok := v.delve[thread][n]; n < 0 || ok {
			continue
		}
		if low < 0 || n < low {
			low = n
		}
		high = max(high, n)
	}
	if low < 0 {
		return nil
	}
	answer, err := p.up.inject(ctx, "stackTrace", page{ThreadID: thread, StartFrame: low, Levels: high - low + 1})
	if err != nil {
		return err
	}
	if !answer.Success {
		return fmt.Errorf("no frames %d to %d from Delve: %s", low, high, answer.Text("message"))
	}
	v.take(thread, low, answer)
	return nil
}
