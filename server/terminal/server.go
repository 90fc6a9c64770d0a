package terminal

import (
	"sync"
	"sync/atomic"

	"github.com/go-delve/delve/service/debugger"
	"github.com/go-delve/delve/service/rpc2"
	"github.com/go-delve/delve/service/rpccommon"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stop"
)

// server answers what clew answers of Delve's interface.
type server struct {
	dbg          *debugger.Debugger
	delve        *rpc2.RPCServer // Delve's own answers
	stacks       *stop.Stacks
	debugFolders []string // where separate debug files are looked for
	core         string   // "" for a process
	image        string   // of the core file
	// changes counts what clients have written into the program.
	changes atomic.Uint64

	// gate is held by who looks at the program, and by commands for as long as the
	// program may run: a look never sees two stops.
	gate    sync.Mutex
	session *delve.Session // nil where Delve is alone
	pid     int            // of its process
	file    *corefile.File
}

// methods are Delve's own methods by name, and what they are replaced by.
func (s *server) methods() map[string]any {
	in := scopes{s}
	return map[string]any{
		"RPCServer.Stacktrace":        s.stacktrace,
		"RPCServer.Command":           s.command,
		"RPCServer.State":             s.state,
		"RPCServer.CancelNext":        s.cancelNext,
		"RPCServer.Restart":           s.restart,
		"RPCServer.Eval":              in.eval,
		"RPCServer.Set":               in.set,
		"RPCServer.ListLocalVars":     in.locals,
		"RPCServer.ListFunctionArgs":  in.arguments,
		"RPCServer.ListRegisters":     in.registers,
		"RPCServer.FindLocation":      in.findLocation,
		"RPCServer.CreateWatchpoint":  in.watch,
		"RPCServer.SetExecutionPoint": s.jump,
		"RPCServer.ListGoroutines":    in.goroutines,
	}
}

// overlay replaces methods of Delve's server, which runs and serves no client yet.
func (s *server) overlay(impl *rpccommon.ServerImpl) (err error) {
	s.dbg, s.delve, err = internals.Server(impl, s.methods())
	return err
}

// attach takes the program that Delve has now. Where clew cannot look at it,
// Delve is alone.
func (s *server) attach() {
	s.session = nil
	session, err := delve.Over(s.dbg)
	if err != nil {
		delve.LogRPCError("stacks and steps are Delve's own: %v", err)
		s.stacks.Watch(nil, nil)
		return
	}
	var process *live.Process
	switch {
	case session.Live():
		process = live.NewProcess(session)
	case s.core != "":
		if s.file == nil {
			if s.file, err = corefile.Open(s.core); err != nil {
				delve.LogRPCError("stacks are Delve's own: %v", err)
				break
			}
		}
		process = live.NewCore(session, s.file, s.image)
	}
	if process == nil {
		s.stacks.Watch(nil, nil)
		return
	}
	s.stacks.Watch(session, s.finding(process))
	s.session, s.pid = session, session.Pid()
}

// finding tells a process where separate debug files are.
func (s *server) finding(process *live.Process) *live.Process {
	process.FindDebugFiles(s.debugFolders)
	return process
}

// looks says that clew can look at the program. Where Delve has followed the
// program into another, it looks at that one. The gate is held; an editor may have
// let the program run all the same.
func (s *server) looks() bool {
	if s.session == nil || s.dbg.IsRunning() {
		return false
	}
	if pid := s.dbg.ProcessPid(); pid != s.pid {
		s.attach()
	}
	return s.session != nil
}

func (s *server) close() {
	s.stacks.Close()
	if s.file != nil {
		_ = s.file.Close() // it was only read
	}
}
