package frames

import (
	"bytes"
	"context"
	"strconv"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/stop"
)

// Most stacks are Go's from end to end. Go's tables and Delve, which goes by
// DWARF, then say the same, and Delve has walked the stack already: its answer
// goes out as it is, after a comparison, frame by frame from the innermost one
// on. That takes no second walk of Delve's for CFAs, no plugin, and no JSON to be
// read and written again, so that such a stack costs hardly more than with Delve
// alone.
//
// Any difference, a frame outside of Go's tables, or a page whose beginning was not
// compared yet leads to the whole way. What may go wrong: see [stop.Stopped.Go].
// Test: integration/dap TestGoStacks.

// goStackOf returns the stack of a thread by Go's tables, with at least so many
// frames if it has them; nil where it holds other code, or is not whole.
func (v *view) goStackOf(ctx context.Context, th reading.Thread, frames int) (*goStack, error) {
	found, err := v.Go(ctx, th, frames)
	if found == nil || err != nil {
		return nil, err
	}
	key := stop.KeyOf(&th)
	g := v.goStacks[key]
	if g == nil || g.found != found {
		next := &goStack{assembled: assembled{found: found, stack: found.Stack, labels: make(map[int]int)}}
		if g != nil {
			next.compared = g.compared
		}
		g = next
		v.goStacks[key] = g
	}
	return g, nil
}

// confirm compares a page of Delve's with the stack. It returns false where they
// differ, or where what comes before the page was not compared.
func (g *goStack) confirm(start, levels int, page []delveFrame) bool {
	if start > g.compared || !g.found.Same(start, start+levels, len(page), func(i int) uint64 { return page[i].pc }) {
		return false
	}
	g.compared = max(g.compared, start+len(page))
	return true
}

// answerGoStack answers with Delve's own page where the stack is Go's only. It
// changes the answer in place: the total is exact once the end was reached.
func (s *Stacks) answerGoStack(ctx context.Context, v *view, want Page, answer *dapwire.Message) (done bool, err error) {
	depth := s.program.Config.Get().Depth
	levels := want.Levels
	if levels <= 0 {
		levels = depth
	}
	start := max(want.StartFrame, 0)
	th, _, known, err := v.Resolve(want.ThreadID)
	if err != nil || !known || start+levels < start || start+levels > MaxRows {
		return false, nil // the whole way says why
	}
	g, err := v.goStackOf(ctx, th, start+levels)
	if g == nil || err != nil {
		return false, err
	}
	raw, _ := answer.Get("body")
	frames, ok := framesIn(raw)
	if !ok || !g.confirm(start, levels, frames) {
		return false, nil
	}
	body, ok := withTotal(raw, g.total(depth))
	if ok {
		s.ids.remember(v.At.Epoch, frames, &g.assembled, start)
		answer.Set("body", body)
	}
	return ok, nil
}

// total is the number of frames that the client is told of: beyond a limit there
// may be another page.
func (g *goStack) total(depth int) int {
	if g.stack.DepthLimited {
		return len(g.stack.Frames) + depth
	}
	return len(g.stack.Frames)
}

// withTotal replaces totalFrames, the last field of a body as Delve writes it.
func withTotal(body []byte, total int) ([]byte, bool) {
	if len(body) == 0 || body[len(body)-1] != '}' {
		return nil, false
	}
	i := bytes.LastIndex(body, fieldTotal)
	if i < 0 {
		return nil, false
	}
	rest := body[i+len(fieldTotal) : len(body)-1]
	if _, n := leadingInt(rest); n == 0 || n != len(rest) {
		return nil, false
	}
	out := make([]byte, 0, len(body)+8)
	out = append(out, body[:i+len(fieldTotal)]...)
	return append(strconv.AppendInt(out, int64(total), 10), '}'), true
}
