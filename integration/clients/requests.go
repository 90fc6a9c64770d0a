package main

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
	"github.com/google/go-dap"
)

// request is a request of either protocol.
type request struct {
	name      string // in the table
	command   string // of the Debug Adapter Protocol, or a method of JSON-RPC
	arguments any
	// ends says that the session is another one afterwards, or none.
	ends bool
	// waits says what it waits for, "" for nothing. Others do not wait for it.
	waits string
}

// own are clew's own requests of the Debug Adapter Protocol.
var own = []string{"clew/stack", "clew/export", "clew/images", "clew/plugins", "clew/reunwind"}

// endings are the requests of the Debug Adapter Protocol that end a session, or begin another.
var sessionRequests = []string{"initialize", "launch", "attach", "restart", "disconnect", "terminate", "configurationDone"}

// known are facts of a stop that requests name.
type known struct {
	thread, parked int
	frame          int
	pc             string
	file           string
	line           int
}

// dapRequests are all requests of the Debug Adapter Protocol, as the library knows them, and clew's.
func (w *work) dapRequests(at *known) (out []request) {
	var names []string
	for _, key := range reflect.ValueOf(dap.NewCodec()).Elem().FieldByName("requestCtor").MapKeys() {
		names = append(names, key.String())
	}
	slices.Sort(names)
	arguments := w.dapArguments(at)
	for _, name := range append(names, own...) {
		out = append(out, request{name: name, command: name, arguments: arguments[name], ends: slices.Contains(sessionRequests, name)})
	}
	return append(out,
		request{name: "evaluate a call", command: "evaluate", arguments: map[string]any{"expression": "call main.add(1)", "frameId": at.frame}},
		request{name: "evaluate a command", command: "evaluate", arguments: map[string]any{"expression": "dlv config -list", "context": "repl"}},
		request{name: "next, by instruction", command: "next", arguments: map[string]any{"threadId": at.thread, "granularity": "instruction"}},
		request{name: "continue another thread", command: "continue", arguments: map[string]any{"threadId": 1 << 40}},
	)
}

// dapArguments are arguments with which a request is as much work as it can be.
func (w *work) dapArguments(at *known) map[string]any {
	thread := map[string]any{"threadId": at.thread}
	frame := map[string]any{"frameId": at.frame, "expression": "total", "value": "7", "text": "main.", "column": 6}
	out := map[string]any{
		"initialize": map[string]any{"adapterID": "go", "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true},
		"launch":     map[string]any{"mode": "exec", "program": w.program, "stopOnEntry": true},
		"attach":     map[string]any{"mode": "remote", "stopOnEntry": true},
		"restart":    map[string]any{"arguments": map[string]any{"request": "launch", "rebuild": false}},
		"disconnect": map[string]any{"terminateDebuggee": true},
		"cancel":     map[string]any{"requestId": 1},

		"setBreakpoints":            breakpoints(at.file, at.line+1000), // where it stops nothing
		"breakpointLocations":       map[string]any{"source": map[string]any{"path": at.file}, "line": at.line},
		"setFunctionBreakpoints":    map[string]any{"breakpoints": []any{map[string]any{"name": "main.never"}}},
		"setInstructionBreakpoints": map[string]any{"breakpoints": []any{}},
		"setExceptionBreakpoints":   map[string]any{"filters": []any{"panic"}},
		"setDataBreakpoints":        map[string]any{"breakpoints": []any{}},
		"dataBreakpointInfo":        map[string]any{"variablesReference": 1001, "name": "n"},

		"variables":   map[string]any{"variablesReference": 1001},
		"setVariable": map[string]any{"variablesReference": 1001, "name": "n", "value": "7"},
		"source":      map[string]any{"sourceReference": 1, "source": map[string]any{"path": at.file}},
		"disassemble": map[string]any{"memoryReference": at.pc, "instructionCount": 50},
		"readMemory":  map[string]any{"memoryReference": at.pc, "count": 64},
		"writeMemory": map[string]any{"memoryReference": "0x1", "data": "AA=="},
		"locations":   map[string]any{"locationReference": 1},
		"goto":        map[string]any{"threadId": at.thread, "targetId": 1},
		"gotoTargets": map[string]any{"source": map[string]any{"path": at.file}, "line": at.line},

		"clew/export":   map[string]any{"all": true, "format": "json"},
		"clew/reunwind": map[string]any{"threadId": at.thread, "strategies": []string{"fpwalk"}},
	}
	for _, name := range []string{"continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "pause", "stackTrace", "exceptionInfo", "terminateThreads", "clew/stack"} {
		out[name] = thread
	}
	for _, name := range []string{"scopes", "evaluate", "setExpression", "completions", "stepInTargets", "restartFrame"} {
		out[name] = frame
	}
	return out
}

// What requests of JSON-RPC wait for.
const (
	forStop  = "the stop"
	forEvent = "an event"
)

// rpcRequests are all methods of Delve's JSON-RPC.
func (w *work) rpcRequests(at *known) (out []request) {
	server := reflect.TypeFor[*rpc2.RPCServer]()
	arguments := w.rpcArguments(at)
	for i := range server.NumMethod() {
		m := server.Method(i)
		if m.Type.NumIn() != 3 || m.Name == "Command" || m.Name == "State" {
			continue
		}
		r := request{name: m.Name, command: m.Name, arguments: arguments[m.Name], ends: m.Name == "Detach" || m.Name == "Restart"}
		if r.arguments == nil {
			r.arguments = reflect.New(m.Type.In(1)).Elem().Interface()
		}
		if m.Name == "GetEvents" {
			r.waits = forEvent
		}
		out = append(out, r)
	}
	for _, name := range []string{api.Continue, api.Next, api.Step, api.StepOut, api.StepInstruction, api.Rewind, api.Call, api.Halt, api.SwitchThread, api.SwitchGoroutine} {
		command := api.DebuggerCommand{Name: name}
		switch name {
		case api.Call:
			command.Expr, command.ReturnInfoLoadConfig = "main.add(1)", new(api.LoadConfig)
		case api.SwitchGoroutine:
			command.GoroutineID = int64(at.thread)
		}
		out = append(out, request{name: "Command " + name, command: "Command", arguments: command})
	}
	return append(out,
		request{name: "State", command: "State", arguments: rpc2.StateIn{NonBlocking: true}},
		request{name: "State that waits", command: "State", arguments: rpc2.StateIn{}, waits: forStop},
		request{name: "a method that is not there", command: "NoSuch", arguments: rpc2.StateIn{}},
	)
}

// rpcArguments are arguments with which a method is as much work as it can be; others have none.
func (w *work) rpcArguments(at *known) map[string]any {
	scope := api.EvalScope{GoroutineID: int64(at.thread), Frame: 1}
	never := api.Breakpoint{FunctionName: "main.main", Line: -1, Cond: "false"}
	return map[string]any{
		"AmendBreakpoint":  rpc2.AmendBreakpointIn{Breakpoint: api.Breakpoint{ID: 99}},
		"Ancestors":        rpc2.AncestorsIn{GoroutineID: int64(at.thread), NumAncestors: 3, Depth: 10},
		"CreateBreakpoint": rpc2.CreateBreakpointIn{Breakpoint: never},
		"CreateWatchpoint": rpc2.CreateWatchpointIn{Scope: scope, Expr: "main.nothing", Type: api.WatchWrite},
		"ClearBreakpoint":  rpc2.ClearBreakpointIn{Id: 99},
		"Detach":           rpc2.DetachIn{Kill: true},
		"Disassemble":      rpc2.DisassembleIn{Scope: scope, StartPC: at.address()},
		"DumpStart":        rpc2.DumpStartIn{Destination: filepath.Join(w.folder, "no", "such", "folder")},
		"Eval":             rpc2.EvalIn{Scope: scope, Expr: "main.total"},
		"ExamineMemory":    rpc2.ExamineMemoryIn{Address: at.address(), Length: 64},
		"FindLocation":     rpc2.FindLocationIn{Scope: api.EvalScope{GoroutineID: -1}, Loc: "main.add"},
		"GetBreakpoint":    rpc2.GetBreakpointIn{Id: 99},
		"ListFunctionArgs": rpc2.ListFunctionArgsIn{Scope: scope},
		"ListGoroutines":   rpc2.ListGoroutinesIn{Count: 100},
		"ListLocalVars":    rpc2.ListLocalVarsIn{Scope: scope},
		"ListPackageVars":  rpc2.ListPackageVarsIn{Filter: "main"},
		"ListRegisters":    rpc2.ListRegistersIn{Scope: &scope},
		"ListTypes":        rpc2.ListTypesIn{Filter: "main"},
		"ListFunctions":    rpc2.ListFunctionsIn{Filter: "main"},
		"Set":              rpc2.SetIn{Scope: api.EvalScope{GoroutineID: -1}, Symbol: "main.total", Value: "7"},
		"Stacktrace":       rpc2.StacktraceIn{Id: int64(at.thread), Depth: 20},
		"ToggleBreakpoint": rpc2.ToggleBreakpointIn{Id: 99},
		"TypeInfo":         rpc2.TypeInfoIn{Name: "int"},

		"FunctionReturnLocations": rpc2.FunctionReturnLocationsIn{FnName: "main.add"},
	}
}

// resumes says that a request lets the program run.
func resumes(r *request) bool {
	command, ok := r.arguments.(api.DebuggerCommand)
	return ok && !slices.Contains([]string{api.Halt, api.SwitchThread, api.SwitchGoroutine}, command.Name) ||
		strings.HasPrefix(r.command, "step") && r.command != "stepInTargets" || slices.Contains([]string{"next", "continue", "reverseContinue"}, r.command)
}
