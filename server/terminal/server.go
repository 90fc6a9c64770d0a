package terminal

import (
	"sync"
	"sync/atomic"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/debugger"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
)

// process is the part of Delve's debugger that says whether there is a stop.
type process interface {
	IsRunning() bool
	ProcessPid() int
}

// delveMethods are the methods of Delve's that clew has better ones of, for the requests
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
	process      process // dbg
	rpc          *rpc2.RPCServer
	delve        delveMethods // Delve's own, of those that clew has
	stacks       *stop.Stacks
	recorded     rpc2.RecordedOut // never changes
	debugFolders []string         // with separate debug files
	names        names.Style
	plainSteps   bool   // steps do not pass through glue
	core         string // "" for a process
	image        string // of the core file
	// flavor is how the user of this process wants instructions of native code written.
	flavor func() native.Syntax
	// changes counts what clients have written into the program.
	changes atomic.Uint64
	lastPid atomic.Int64 // as far as clew knows
	dumps   atomic.Int32 // core dumps that are written
	once    once

	// gate is held by each request that reads the program, and by commands for as long
	// as the program may run: a request never sees two stops.
	gate    sync.Mutex
	open    func() (Held, stop.Program, error) // opens the program that Delve has now
	late    bool                               // when it is first needed
	breaks  atomic.Pointer[locator]            // the session, for who does not hold the gate; nil where clew finds no code
	session Held                               // nil where clew cannot read the program
	pid     int                                // the session's process
	file    *corefile.File
}

// Held is a program that Delve holds: a [delve.Session], or one behind a Delve server.
type Held interface {
	stop.Debugger
	Pid() int
	Live() bool     // it is a process
	Stepping() bool // a step was interrupted
	Arm(*stepping.Decision) (armed bool, err error)
	EndStep() error
}

// attach takes the program that Delve has now. Where clew cannot read it, Delve
// answers alone.
func (s *server) attach() {
	session, program, err := s.open()
	s.late = s.late && err != nil && !never(err)
	if err != nil {
		delvelog.RPCError("stacks and steps are Delve's own: %v", err)
		s.session = nil
		s.breaks.Store(nil)
		s.stacks.Watch(nil, nil)
		return
	}
	if d, ok := session.(locator); ok {
		s.breaks.Store(&d)
	}
	s.stacks.Watch(session, program)
	s.session, s.pid = session, session.Pid()
	s.lastPid.Store(int64(s.pid))
}

// openHere opens the program that this process debugs.
func (s *server) openHere() (Held, stop.Program, error) {
	session, err := delve.Over(s.dbg)
	switch {
	case err != nil:
		return nil, nil, err
	case session.Live():
		return session, withDebugFiles(live.NewProcess(session), s.debugFolders), nil
	case s.core == "":
		return nil, nil, live.ErrRecorded
	}
	if s.file == nil {
		if s.file, err = corefile.Open(s.core); err != nil {
			return nil, nil, err
		}
	}
	return session, withDebugFiles(live.NewCore(session, s.file, live.CoreFiles{Executable: s.image}), s.debugFolders), nil
}

// withDebugFiles tells a process where separate debug files are, and returns it.
func withDebugFiles(process *live.Process, folders []string) *live.Process {
	process.FindDebugFiles(folders)
	return process
}

// readable reports whether clew can read the program: it stands still. Where Delve
// has followed the program into another, that one is attached first. The caller
// holds the gate; an editor may have resumed the program all the same.
func (s *server) readable() bool {
	if s.late {
		s.attach()
	}
	if s.session == nil || s.process.IsRunning() {
		return false
	}
	if pid := s.process.ProcessPid(); pid != s.pid {
		s.attach()
	}
	if p, ok := s.session.(interface{ NewRequest() }); ok {
		p.NewRequest()
	}
	return s.session != nil
}

// processID is the program's, as far as clew knows.
func (s *server) processID() int { return int(s.lastPid.Load()) }

func (s *server) close() {
	s.stacks.Close()
	if s.file != nil {
		_ = s.file.Close() // it was only read
	}
}
