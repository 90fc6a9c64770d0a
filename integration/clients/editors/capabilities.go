package editors

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
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
	client, end, err := connect(name, w.adapters[name])
	if err != nil {
		return nil, err
	}
	defer end()
	var answer map[string]any
	if err := client.Ask("initialize", dap.InitializeRequestArguments{ClientID: "vscode", AdapterID: "go", PathFormat: "path", LinesStartAt1: true, ColumnsStartAt1: true, SupportsMemoryReferences: true}, &answer); err != nil {
		return nil, err
	}
	for key, value := range answer {
		if offer, ok := strings.CutPrefix(key, "supports"); ok && value == true {
			out = append(out, offer)
		}
	}
	return out, nil
}

// connect starts an adapter: the one at a path listens, others speak on standard input and output: Debian's newest.
func connect(name, path string) (*dapwiretest.Client, func(), error) {
	if path != "" {
		client, server, err := dapwiretest.Start(exec.Command(path, "dap", "--listen", "127.0.0.1:0"))
		if err != nil {
			return nil, nil, err
		}
		return client, server.Kill, nil
	}
	for version := 25; version > 13; version-- {
		path, err := exec.LookPath(fmt.Sprintf("%s-%d", name, version))
		if err != nil {
			continue
		}
		cmd := exec.Command(path)
		client, err := dapwiretest.StartPipe(cmd)
		return client, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, err
	}
	return nil, nil, fmt.Errorf("no %s-VERSION in PATH (Debian: lldb-19)", name)
}
