package editors

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-dap"
)

// adapters are those whose capabilities are compared, in the order of the table.
var adapters = []string{"dlv", "lldb-dap", "clew"}

// codeLLDB is what CodeLLDB offers, by its source (adapter/codelldb/src/debug_session.rs, make_capabilities, at commit 7c71bafd).
// Debian does not have it.
var codeLLDB = []string{
	"CancelRequest", "CompletionsRequest", "ConditionalBreakpoints", "ConfigurationDoneRequest", "DataBreakpointBytes", "DataBreakpoints",
	"DelayedStackTraceLoading", "DisassembleRequest", "EvaluateForHovers", "ExceptionFilterOptions", "ExceptionInfoRequest", "FunctionBreakpoints",
	"GotoTargetsRequest", "HitConditionalBreakpoints", "InstructionBreakpoints", "LogPoints", "ReadMemoryRequest", "SetVariable",
	"SteppingGranularity", "WriteMemoryRequest",
}

// capabilities prints what adapters offer to an editor in their answer to initialize.
func capabilities(w *work) (string, error) {
	offered := make(map[string]map[string]bool) // adapters, by capability
	var names []string
	for _, name := range adapters {
		list, err := w.offers(name)
		if err != nil {
			fmt.Printf("LEFT OUT: %s: %v\n", name, err)
			continue
		}
		names = append(names, name)
		for _, one := range list {
			if offered[one] == nil {
				offered[one] = make(map[string]bool)
			}
			offered[one][name] = true
		}
	}
	for _, one := range codeLLDB {
		if offered[one] == nil {
			offered[one] = make(map[string]bool)
		}
		offered[one]["CodeLLDB"] = true
	}
	names = slices.Insert(names, max(len(names)-1, 0), "CodeLLDB")
	var out strings.Builder
	fmt.Fprintf(&out, "| offered in `initialize` | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, one := range slices.Sorted(maps.Keys(offered)) {
		fmt.Fprintf(&out, "| %s |", one)
		for _, name := range names {
			fmt.Fprintf(&out, " %s |", map[bool]string{true: "yes"}[offered[one][name]])
		}
		out.WriteString("\n")
	}
	if !slices.Contains(names, "clew") {
		return "", fmt.Errorf("clew does not answer")
	}
	return out.String(), nil
}

// offers returns what an adapter offers.
func (w *work) offers(name string) (out []string, err error) {
	var conn io.ReadWriter
	var end func()
	if path := w.adapters[name]; path != "" {
		conn, end, err = dial(path)
	} else {
		conn, end, err = pipe(name)
	}
	if err != nil {
		return nil, err
	}
	defer end()
	initialize := &dap.InitializeRequest{
		Request:   dap.Request{ProtocolMessage: dap.ProtocolMessage{Seq: 1, Type: "request"}, Command: "initialize"},
		Arguments: dap.InitializeRequestArguments{ClientID: "vscode", AdapterID: "go", PathFormat: "path", LinesStartAt1: true, ColumnsStartAt1: true, SupportsMemoryReferences: true},
	}
	if err := dap.WriteProtocolMessage(conn, initialize); err != nil {
		return nil, err
	}
	content, err := dap.ReadBaseMessage(bufio.NewReader(conn))
	if err != nil {
		return nil, err
	}
	var answer struct{ Body map[string]any }
	if err := json.Unmarshal(content, &answer); err != nil {
		return nil, err
	}
	for key, value := range answer.Body {
		if offer, ok := strings.CutPrefix(key, "supports"); ok && value == true {
			out = append(out, offer)
		}
	}
	return out, nil
}

var banner = regexp.MustCompile(`listening at: (\S+)`)

// dial starts an adapter that listens.
func dial(path string) (io.ReadWriter, func(), error) {
	cmd := exec.Command(path, "dap", "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, nil, err
	}
	end := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	line, err := bufio.NewReader(out).ReadString('\n')
	m := banner.FindStringSubmatch(line)
	if m == nil {
		end()
		return nil, nil, fmt.Errorf("%s announces no address: %q: %w", path, line, cmp.Or(err, io.EOF))
	}
	conn, err := net.DialTimeout("tcp", m[1], 10*time.Second)
	if err != nil {
		end()
		return nil, nil, err
	}
	return conn, func() { _ = conn.Close(); end() }, nil
}

// pipe starts an adapter that speaks on standard input and output: Debian's newest.
func pipe(name string) (io.ReadWriter, func(), error) {
	for version := 25; version > 13; version-- {
		path, err := exec.LookPath(fmt.Sprintf("%s-%d", name, version))
		if err != nil {
			continue
		}
		cmd := exec.Command(path)
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, nil, err
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		return struct {
			io.Reader
			io.Writer
		}{out, in}, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, err
	}
	return nil, nil, fmt.Errorf("no %s-VERSION in PATH (Debian: lldb-19)", name)
}
