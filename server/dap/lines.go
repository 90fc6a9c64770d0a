package dap

import (
	"context"
	"encoding/json"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/session"
)

// liner is a target with lines that Delve does not find: those of images without DWARF.
type liner interface {
	WithoutLines() bool
	BreakAtLine(path, file string, line, column int)
}

// placeLines sets those of the breakpoints in a file that Delve cannot place. Delve takes them
// for its own from its next request on.
func (s *sharing) placeLines(ctx context.Context, m *dapwire.Message, path string, wanted []session.Wanted) {
	t, ok := s.program.Target().(liner)
	if _, stopped := s.state.At(); !ok || !stopped || path == "" || !t.WithoutLines() {
		return
	}
	err := s.program.AtStop(ctx, m.Seq, func(context.Context, *debuggee.View) error {
		for _, w := range wanted {
			var b breakpointArguments
			if json.Unmarshal(w.Raw, &b) == nil {
				t.BreakAtLine(path, s.config.ServerPath(path), b.Line, b.Column)
			}
		}
		return nil
	})
	if err != nil {
		s.wire.Log("lines: %v", err)
	}
}
