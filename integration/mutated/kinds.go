package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// kind is a way of giving clew damaged input.
type kind struct {
	name   string
	inputs []input
	// run hands the damaged input to a command, which may write below folder.
	run func(folder string, in input, damaged []byte) outcome
}

// kinds lists them all.
func (p *prepared) kinds() []kind {
	file := func(name string, inputs []input, args ...string) kind {
		return kind{name, inputs, func(folder string, in input, damaged []byte) outcome {
			path := filepath.Join(folder, in.name)
			if err := os.WriteFile(path, damaged, 0o755); err != nil {
				return outcome{failure: err.Error()}
			}
			return run(nil, os.Environ(), append(args, path)...)
		}}
	}
	return []kind{
		file("`inspect`", p.binaries, "inspect"),
		file("`inspect --table`", p.binaries, "inspect", "--table", "--format", "json"),
		file("`decode`", p.written, "decode"),
		file("`encode`", p.decoded, "encode", "--to", "cbf", "-o", os.DevNull),
		{"`unwind`, snapshot", p.snapshots, p.unwindText},
		{"`unwind`, image", p.native, p.unwindImage},
		{"`stack --core`, core", p.core, func(folder string, _ input, damaged []byte) outcome {
			return p.stackCore(folder, damaged, p.path, "/")
		}},
		{"`stack --core`, executable", p.executable, func(folder string, _ input, damaged []byte) outcome {
			path := filepath.Join(folder, "exe")
			if err := os.WriteFile(path, damaged, 0o755); err != nil {
				return outcome{failure: err.Error()}
			}
			return p.stackCore(folder, nil, path, "/")
		}},
		{"`stack --core`, library", p.native, p.stackLibrary},
		{"`dap --stdio`", p.dap, func(_ string, _ input, damaged []byte) outcome {
			return run(bytes.NewReader(damaged), p.env, "dap", "--stdio")
		}},
		{"`exec --headless`", p.rpc, p.headless},
		{"`stack --connect`", p.answers, p.connect},
	}
}

// unwindText unwinds a damaged snapshot, whose images are where it was made.
func (p *prepared) unwindText(folder string, _ input, damaged []byte) outcome {
	return run(bytes.NewReader(damaged), os.Environ(), "unwind", "--root", "/", "-")
}

// unwindImage unwinds a good snapshot through a damaged library.
func (p *prepared) unwindImage(folder string, _ input, damaged []byte) outcome {
	if err := below(folder, p.library, damaged); err != nil {
		return outcome{failure: err.Error()}
	}
	return run(bytes.NewReader(p.snapshots[0].data), os.Environ(), "unwind", "--root", folder, "-")
}

// stackLibrary shows the stacks of a core file, one library of which is damaged.
func (p *prepared) stackLibrary(folder string, _ input, damaged []byte) outcome {
	if err := below(folder, p.library, damaged); err != nil {
		return outcome{failure: err.Error()}
	}
	return p.stackCore(folder, nil, p.path, folder)
}

// below writes a file to its path below a root.
func below(root, path string, data []byte) error {
	at := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, data, 0o755)
}

// stackCore shows the stacks of a core file, the good one without damage.
func (p *prepared) stackCore(folder string, damaged []byte, exe, root string) outcome {
	core := p.corePath
	if damaged != nil {
		core = filepath.Join(folder, "core")
		if err := os.WriteFile(core, damaged, 0o600); err != nil {
			return outcome{failure: err.Error()}
		}
	}
	return run(nil, os.Environ(), "stack", "--core", core, "--sysroot", root, "--format", "json", exe)
}

// headless sends a damaged session of JSON-RPC, and ends the server by the signal that ends it.
func (p *prepared) headless(folder string, _ input, damaged []byte) outcome {
	at := filepath.Join(folder, "s")
	_ = os.Remove(at)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		conn, err := waitFor(ctx, at)
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		for line := range bytes.Lines(damaged) {
			if _, err := conn.Write(line); err != nil {
				return
			}
		}
		sendDetach(ctx, at)
	}()
	o := run(nil, p.env, "exec", "--headless", "--accept-multiclient", "-l", "unix:"+at, p.path, "--", "plain", "int3")
	cancel()
	return o
}

// sendDetach ends a server by a client of its own, as the damaged one may not have done so.
func sendDetach(ctx context.Context, at string) {
	conn, err := waitFor(ctx, at)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, `{"method":"RPCServer.Command","params":[{"name":"halt"}],"id":1}`+"\n"+
		`{"method":"RPCServer.Detach","params":[{"Kill":true}],"id":2}`+"\n")
	_, _ = io.Copy(io.Discard, conn)
}

// connect answers as a remote server did once, with damage.
func (p *prepared) connect(folder string, _ input, damaged []byte) outcome {
	at := filepath.Join(folder, "s")
	_ = os.Remove(at)
	l, err := net.Listen("unix", at)
	if err != nil {
		return outcome{failure: err.Error()}
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answer(conn, damaged)
		}
	}()
	return run(nil, os.Environ(), "stack", "--connect", "unix:"+at, "--format", "json", "--goroutine", "all")
}

// serverPatience is how long the answering server waits for a request.
const serverPatience = 5 * time.Second

// answer sends a recorded answer for each request, and hangs up after the last, and when no request comes:
// the damaged answer may have been one that the client still waits for.
func answer(conn net.Conn, recorded []byte) {
	defer func() { _ = conn.Close() }()
	requests := json.NewDecoder(conn)
	for line := range bytes.Lines(recorded) {
		var request json.RawMessage
		if conn.SetReadDeadline(time.Now().Add(serverPatience)) != nil {
			return
		}
		if requests.Decode(&request) != nil {
			return
		}
		if _, err := conn.Write(line); err != nil {
			return
		}
	}
}

// message frames a request of DAP.
func message(seq int, command, arguments string) string {
	body := fmt.Sprintf(`{"seq":%d,"type":"request","command":%q,"arguments":%s}`, seq, command, arguments)
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// dapSession is a session of DAP as one text.
func dapSession(program string) string {
	var text strings.Builder
	for i, m := range [][2]string{
		{"initialize", `{"adapterID":"go","linesStartAt1":true,"supportsInvalidatedEvent":true}`},
		{"launch", fmt.Sprintf(`{"mode":"exec","program":%q,"args":["plain","int3"],"stopOnEntry":true}`, program)},
		{"setFunctionBreakpoints", `{"breakpoints":[{"name":"main.main"}]}`},
		{"setBreakpoints", `{"source":{"path":"/x/main.go"},"breakpoints":[{"line":10,"condition":"a == 1"}]}`},
		{"configurationDone", `{}`},
		{"threads", `{}`},
		{"stackTrace", `{"threadId":1,"startFrame":0,"levels":20}`},
		{"scopes", `{"frameId":1000}`},
		{"variables", `{"variablesReference":1001,"start":0,"count":10}`},
		{"evaluate", `{"expression":"clew frame 0","frameId":1000,"context":"repl"}`},
		{"disassemble", `{"memoryReference":"0x401000","instructionOffset":-5,"instructionCount":20}`},
		{"readMemory", `{"memoryReference":"0x401000","offset":0,"count":64}`},
		{"next", `{"threadId":1,"granularity":"instruction"}`},
		{"stepOut", `{"threadId":1}`},
		{"modules", `{"startModule":0,"moduleCount":10}`},
		{"completions", `{"text":"main.","column":6,"frameId":1000}`},
		{"exceptionInfo", `{"threadId":1}`},
		{"disconnect", `{"terminateDebuggee":true}`},
	} {
		text.WriteString(message(i+1, m[0], m[1]))
	}
	return text.String()
}

// rpcSession is a session of JSON-RPC, a request a line.
const rpcSession = `{"method":"RPCServer.SetApiVersion","params":[{"APIVersion":2}],"id":1}
{"method":"RPCServer.State","params":[{"NonBlocking":true}],"id":2}
{"method":"RPCServer.CreateBreakpoint","params":[{"Breakpoint":{"functionName":"main.main"}}],"id":3}
{"method":"RPCServer.Command","params":[{"name":"continue"}],"id":4}
{"method":"RPCServer.Stacktrace","params":[{"Id":-1,"Depth":50,"Full":true,"Cfg":{"FollowPointers":true,"MaxStringLen":64}}],"id":5}
{"method":"RPCServer.ListGoroutines","params":[{"Start":0,"Count":100}],"id":6}
{"method":"RPCServer.ListThreads","params":[{}],"id":7}
{"method":"RPCServer.Eval","params":[{"Scope":{"GoroutineID":-1,"Frame":0},"Expr":"1+1","Cfg":null}],"id":8}
{"method":"RPCServer.Disassemble","params":[{"Scope":{"GoroutineID":-1},"StartPC":4198400,"EndPC":4198464,"Flavour":1}],"id":9}
{"method":"RPCServer.ExamineMemory","params":[{"Address":4198400,"Length":64}],"id":10}
{"method":"RPCServer.Command","params":[{"name":"next"}],"id":11}
{"method":"RPCServer.Detach","params":[{"Kill":true}],"id":12}
`
