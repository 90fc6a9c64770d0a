package frames

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/stop"
)

// take keeps the frames of an answer of Delve's, whose first frame has the index
// start in Delve's stack of that thread. Delve makes new IDs each time, and the
// old ones stay valid: the client sees the first one again and again.
func (v *view) take(thread int64, start int, answer *dapwire.Message) {
	raw, _ := answer.Get("body")
	read, ok := framesIn(raw)
	if !ok {
		return
	}
	frames := v.delve[thread]
	if frames == nil {
		frames = make(map[int]delveFrame, len(read))
		v.delve[thread] = frames
	}
	for i, f := range read {
		n := max(start, 0) + i
		if _, have := frames[n]; !have {
			frames[n] = f
		}
	}
}

// The fields of a frame as Delve writes them.
var (
	frameStart = []byte(internals.FrameStart)
	fieldPC    = []byte(internals.FramePC)
	fieldTotal = []byte(internals.TotalFrames)
)

// framesIn finds the frames in a stackTrace body as Delve writes it, in one pass
// over its bytes: a deep stack has millions of them. It returns false for a body of
// any other form.
func framesIn(body []byte) (out []delveFrame, ok bool) {
	end := bytes.LastIndex(body, fieldTotal) - 1 // the bracket before it
	if end < 0 || body[end] != ']' {
		return nil, false
	}
	for at := bytes.Index(body[:end], frameStart); at >= 0; {
		next, stop := -1, end
		if j := bytes.Index(body[at+1:end], frameStart); j >= 0 {
			next = at + 1 + j
			stop = next - 1 // the comma
		}
		f := delveFrame{raw: body[at:stop:stop]}
		var digits int
		f.id, digits = leadingInt(f.raw[len(frameStart):])
		k := bytes.Index(f.raw, fieldPC)
		if digits == 0 || k < 0 || f.raw[len(f.raw)-1] != '}' || next >= 0 && body[stop] != ',' {
			return nil, false
		}
		if f.pc, ok = leadingHex(f.raw[k+len(fieldPC):]); !ok {
			return nil, false
		}
		out = append(out, f)
		at = next
	}
	return out, true
}

// leadingInt reads the decimal digits that text begins with.
func leadingInt(b []byte) (v int64, digits int) {
	for digits < len(b) && digits < 18 && b[digits] >= '0' && b[digits] <= '9' {
		v = v*10 + int64(b[digits]-'0')
		digits++
	}
	return v, digits
}

// leadingHex reads the hexadecimal digits up to a quotation mark.
func leadingHex(b []byte) (v uint64, ok bool) {
	end := bytes.IndexByte(b[:min(len(b), 17)], '"')
	if end < 0 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[:end]), 16, 64)
	return v, err == nil
}

// fetch asks Delve for the frames that rows need and that it has not sent yet.
func (s *Stacks) fetch(ctx context.Context, v *view, a *assembled, thread int64, rows []row) error {
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
	answer, err := s.wire.Up.Inject(ctx, stackTraceRequest(Page{ThreadID: thread, StartFrame: low, Levels: high - low + 1}))
	if err != nil {
		return err
	}
	if !answer.Success {
		return fmt.Errorf("no frames %d to %d from Delve: %s", low, high, answer.Text("message"))
	}
	v.take(thread, low, answer)
	return nil
}

// askStack asks Delve for the page that a request is about, of which the first
// frame in the answer has the index from: of a page that may be too much for
// Delve, as far as there are frames.
func (s *Stacks) askStack(ctx context.Context, m *dapwire.Message, want Page) (answer *dapwire.Message, from int, err error) {
	start := min(max(want.StartFrame, 0), MaxRows)
	end := max(s.framesOf(want), start+1)
	if end <= stop.FirstClaims {
		answer, err = s.wire.Up.Ask(ctx, m)
		return answer, start, err
	}
	for limit := stop.FirstClaims; ; limit *= 2 {
		upTo := min(end, limit)
		from = min(start, upTo-1) // beyond the limit: is there a frame right before it?
		wire.SetArgument(m, "startFrame", int64(from))
		wire.SetArgument(m, "levels", int64(upTo-from))
		answer, err = s.wire.Up.Ask(ctx, m)
		if err != nil || !answer.Success || upTo == end {
			return answer, from, err
		}
		raw, _ := answer.Get("body")
		if frames, ok := framesIn(raw); !ok || len(frames) < upTo-from {
			return answer, from, nil
		}
	}
}
