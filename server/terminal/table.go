package terminal

import (
	"cmp"

	"github.com/go-delve/delve/pkg/version"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// table lists the methods of Delve's interface: which are clew's, and what each needs of the
// program.
func (c *rpcClient) table() map[string]any {
	d, in := c.rpc, scopes{c.server}
	return map[string]any{
		// At any time.
		"GetVersion":                c.getVersion,
		"SetApiVersion":             setAPIVersion,
		"IsMulticlient":             d.IsMulticlient,
		"ProcessPid":                c.processPid,
		"AttachedToExistingProcess": d.AttachedToExistingProcess,
		"Recorded":                  c.isRecorded,
		"GetBufferedTracepoints":    d.GetBufferedTracepoints,
		"CancelDownloads":           d.CancelDownloads,
		"DebugInfoDirectories":      d.DebugInfoDirectories,
		"DumpWait":                  d.DumpWait,
		"DumpCancel":                d.DumpCancel,
		"StopRecording":             d.StopRecording,
		"GetEvents":                 c.getEvents,
		"State":                     c.state,

		// What changes the state.
		"Command": c.command,
		"Restart": c.restart,
		"Detach":  c.detach,

		// Breakpoints, while the program runs too.
		"CreateBreakpoint":     c.createBreakpoint,
		"AmendBreakpoint":      c.amendBreakpoint,
		"ToggleBreakpoint":     c.toggleBreakpoint,
		"ClearBreakpoint":      c.clearBreakpoint,
		"CreateEBPFTracepoint": aside(c, "create tracepoint", d.CreateEBPFTracepoint),
		"ListBreakpoints":      aside(c, "list breakpoints", c.listBreakpoints),
		"GetBreakpoint":        aside(c, "get breakpoint", c.getBreakpoint),

		// What changes the stopped program.
		"Set":               changes(c, "set", in.set),
		"SetExecutionPoint": changes(c, "set execution point", c.setExecutionPoint),
		"CancelNext":        changes(c, "cancel next", c.cancelNext),
		"FollowExec":        changes(c, "follow exec", d.FollowExec),
		"ClearCheckpoint":   changes(c, "clear checkpoint", d.ClearCheckpoint),
		"Checkpoint":        changes(c, "checkpoint", d.Checkpoint),

		// What reads it.
		"Stacktrace":               reads(c, "stacktrace", c.stacktrace),
		"Eval":                     reads(c, "eval", in.eval),
		"ListLocalVars":            reads(c, "locals", in.locals),
		"ListFunctionArgs":         reads(c, "arguments", in.arguments),
		"ListRegisters":            reads(c, "registers", in.registers),
		"FindLocation":             reads(c, "find location", in.findLocation),
		"CreateWatchpoint":         reads(c, "watch", in.watch),
		"ListGoroutines":           reads(c, "goroutines", in.goroutines),
		"Ancestors":                reads(c, "ancestors", d.Ancestors),
		"BuildID":                  reads(c, "build ID", d.BuildID),
		"Disassemble":              reads(c, "disassemble", in.disassemble),
		"DownloadLibraryDebugInfo": c.download,
		"DumpStart":                c.dumpStart,
		"ExamineMemory":            reads(c, "examine memory", d.ExamineMemory),
		"FollowExecEnabled":        reads(c, "follow exec", d.FollowExecEnabled),
		"FunctionReturnLocations":  reads(c, "return locations", d.FunctionReturnLocations),
		"GetThread":                reads(c, "thread", d.GetThread),
		"GuessSubstitutePath":      reads(c, "guess paths", d.GuessSubstitutePath),
		"LastModified":             reads(c, "last modified", d.LastModified),
		"ListCheckpoints":          reads(c, "checkpoints", d.ListCheckpoints),
		"ListDynamicLibraries":     reads(c, "libraries", d.ListDynamicLibraries),
		"ListFunctions":            reads(c, "functions", in.functions),
		"ListPackageVars":          reads(c, "package variables", in.packageVars),
		"ListPackagesBuildInfo":    reads(c, "packages", d.ListPackagesBuildInfo),
		"ListSources":              reads(c, "sources", in.sources),
		"ListTargets":              reads(c, "targets", d.ListTargets),
		"ListThreads":              reads(c, "threads", d.ListThreads),
		"ListTypes":                reads(c, "types", d.ListTypes),
		"TypeInfo":                 reads(c, "type", in.typeInfo),
	}
}

// method is one that is answered at once.
type method[In, Out any] func(In, *Out) error

// reads has a method read the stopped program.
func reads[In, Out any](c *rpcClient, name string, f method[In, Out]) method[In, Out] {
	return func(arg In, out *Out) error {
		done, err := c.member.Use(c.ctx, name)
		if err != nil {
			return err
		}
		defer done()
		return f(arg, out)
	}
}

// changes has a method change the stopped program, and tells the others.
func changes[In, Out any](c *rpcClient, name string, f method[In, Out]) method[In, Out] {
	return func(arg In, out *Out) error {
		done, err := c.member.Change(c.ctx, name)
		if err != nil {
			return err
		}
		defer c.tellInvalidated()
		defer done()
		return f(arg, out)
	}
}

// aside has a method done that can wait for no stop.
func aside[In, Out any](c *rpcClient, name string, f method[In, Out]) method[In, Out] {
	return func(arg In, out *Out) error {
		var failed error
		work := func() {
			defer func() {
				if p := recover(); p != nil {
					failed = panicked(p)
				}
			}()
			failed = f(arg, out)
		}
		if refused := c.member.Aside(c.ctx, name, work); refused != nil {
			return refused
		}
		return failed
	}
}

// versionOut also says whether the server is clew's, as the answer to an editor's initialize does.
type versionOut struct {
	api.GetVersionOut
	SupportsClew bool `json:"supportsClew"`
}

// getVersion says which Delve this is.
func (c *rpcClient) getVersion(_ api.GetVersionIn, out *versionOut) error {
	out.SupportsClew = true
	out.DelveVersion = version.DelveVersion.String()
	out.APIVersion = c.config.APIVersion
	if done, err := c.member.Use(c.ctx, "version"); err == nil {
		defer done()
		err := c.dbg.GetVersion(&out.GetVersionOut)
		out.TargetGoVersion = cmp.Or(out.TargetGoVersion, goVersion(c.server))
		return err
	}
	return nil // what the program was built with is not known while it runs, as in Delve
}

// isRecorded says whether this is a core file or a recording, while the program runs too.
func (c *rpcClient) isRecorded(_ rpc2.RecordedIn, out *rpc2.RecordedOut) error {
	*out = c.recorded
	return nil
}

func setAPIVersion(arg api.SetAPIVersionIn, _ *api.SetAPIVersionOut) error {
	if arg.APIVersion != 2 {
		return errAPIVersion
	}
	return nil
}

// processPid returns the program's ID, while it runs too.
func (c *rpcClient) processPid(_ rpc2.ProcessPidIn, out *rpc2.ProcessPidOut) error {
	if done, err := c.member.Use(c.ctx, "process ID"); err == nil {
		defer done()
		return c.rpc.ProcessPid(rpc2.ProcessPidIn{}, out)
	}
	out.Pid = c.processID()
	return nil
}
