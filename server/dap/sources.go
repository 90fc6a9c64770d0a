package dap

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/server/stop"
)

// sourced is a target that knows the files that its program was built from.
type sourced interface {
	Sources() []string
	CodeLines(file string, first, last int) []int
}

// sources answers requests about the files that the program was built from, which Delve has not. They need a
// program in this process.
type sources struct {
	wire    *wire.Bridge
	program *debuggee.Program
}

var errNoSources = errors.New("the program's files are not known here")

// target returns the program while it stands still.
func (s *sources) target() (sourced, error) {
	if _, stopped := s.program.State.At(); !stopped {
		return nil, stop.ErrRunning
	}
	t, ok := s.program.Target().(sourced)
	if !ok {
		return nil, errNoSources
	}
	return t, nil
}

// onLoadedSources lists the files that are on a disk: those of cgo's glue and of
// distributions' libraries are nowhere.
func (s *sources) onLoadedSources(_ context.Context, m *dapwire.Message) error {
	t, err := s.target()
	if err != nil {
		return err
	}
	body := dap.LoadedSourcesResponseBody{Sources: []dap.Source{}}
	for _, file := range t.Sources() {
		if path := s.program.Config.ClientPath(file); native.IsAbsolute(path) {
			body.Sources = append(body.Sources, dap.Source{Name: filepath.Base(path), Path: path})
		}
	}
	s.wire.Client.Respond(m, body)
	return nil
}

// maxLines bounds the lines of one request.
const maxLines = 1 << 16

// onBreakpointLocations lists the lines that have code.
func (s *sources) onBreakpointLocations(_ context.Context, m *dapwire.Message) error {
	var args dap.BreakpointLocationsArguments
	if err := m.Decode("arguments", &args); err != nil {
		return err
	}
	body := dap.BreakpointLocationsResponseBody{Breakpoints: []dap.BreakpointLocation{}}
	t, err := s.target()
	if err != nil {
		return err
	}
	last := min(max(args.Line, args.EndLine), args.Line+maxLines)
	for _, file := range t.Sources() {
		if s.program.Config.ClientPath(file) != args.Source.Path {
			continue
		}
		for _, line := range t.CodeLines(file, max(args.Line, 1), last) {
			body.Breakpoints = append(body.Breakpoints, dap.BreakpointLocation{Line: line})
		}
	}
	s.wire.Client.Respond(m, body)
	return nil
}
