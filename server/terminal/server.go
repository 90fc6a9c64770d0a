package terminal

import (
	"sync"
	"sync/atomic"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/debugger"
	"github.com/go-delve/delve/service/rpc2"
	"github.com/go-delve/delve/service/rpccommon"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/stop"
)

// process is the part of Delve's debugger that says whether there is a stop.
type process interface {
	IsRunning() bool
	ProcessPid() int
}

// delveMethods are the methods of Delve's server that clew replaces, for the requests
// that clew leaves to Delve.
type delveMethods interface {
	Stacktrace(rpc2.StacktraceIn, *rpc2.StacktraceOut) error
	Command(api.DebuggerCommand, service.RPCCallback)
	State(rpc2.StateIn, service.RPCCallback)
	CancelNext(rpc2.CancelNextIn, *rpc2.CancelNextOut) error
	Restart(rpc2.RestartIn, service.RPCCallback)
	Eval(rpc2.EvalIn, *rpc2.EvalOut) error
	Set(rpc2.SetIn, *rpc2.SetOut) error
	ListLocalVars(rpc2.ListLocalVarsIn, *rpc2.ListLocalVarsOut) error
	ListFunctionArgs(rpc2.ListFunctionArgsIn, *rpc2.ListFunctionArgsOut) error
	ListRegisters(rpc2.ListRegistersIn, *rpc2.ListRegistersOut) error
	FindLocation(rpc2.FindLocationIn, *rpc2.FindLocationOut) error
	CreateWatchpoint(rpc2.CreateWatchpointIn, *rpc2.CreateWatchpointOut) error
	SetExecutionPoint(rpc2.SetExecutionPointIn, *rpc2.SetExecutionPointOut) error
	ListGoroutines(rpc2.ListGoroutinesIn, *rpc2.ListGoroutinesOut) error
}

// server answers the requests of Delve's interface that rest on a stack.
type server struct {
	dbg          *debugger.Debugger
	process      process      // dbg
	delve        delveMethods // the methods that were replaced
	stacks       *stop.Stacks
	debugFolders []string // with separate debug files
	names        names.Style
	plainSteps   bool   // steps do not pass through glue
	core         string // "" for a process
	image        string // of the core file
	// changes counts what clients have written into the program.
	changes atomic.Uint64

	// gate is held by each request that reads the program, and by commands for as long
	// as the program may run: a request never sees two stops.
	gate    sync.Mutex
	session *delve.Session // nil where clew cannot read the program
	pid     int            // the session's process
	file    *corefile.File
}

// methods are the replacements of Delve's methods, by name.
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
		"RPCServer.SetExecutionPoint": s.setExecutionPoint,
		"RPCServer.ListGoroutines":    in.goroutines,
	}
}

// overlay replaces methods of Delve's server, which runs and serves no client yet.
func (s *server) overlay(impl *rpccommon.ServerImpl) (err error) {
	dbg, methods, err := internals.Server(impl, s.methods())
	s.dbg, s.process, s.delve = dbg, dbg, methods
	return err
}

// attach takes the program that Delve has now. Where clew cannot read it, Delve
// answers alone.
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
	s.stacks.Watch(session, s.withDebugFiles(process))
	s.session, s.pid = session, session.Pid()
}

// withDebugFiles tells a process where separate debug files are, and returns it.
func (s *server) withDebugFiles(process *live.Process) *live.Process {
	process.FindDebugFiles(s.debugFolders)
	return process
}

// readable reports whether clew can read the program: it stands still. Where Delve
// has followed the program into another, that one is attached first. The caller
// holds the gate; an editor may have resumed the program all the same.
func (s *server) readable() bool {
	if s.session == nil || s.process.IsRunning() {
		return false
	}
	if pid := s.process.ProcessPid(); pid != s.pid {
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
