package scenario

import "github.com/clewdbg/clew/server/dapwire"

// The differences that are meant, in sessions without native code:
//
//   - initialize: clewVersion says which clew it is. supportsClew is true, and so are
//     supportsCancelRequest, which is for clew's own requests (Delve's are refused by
//     Delve), supportsCompletionsRequest, for clew's console commands and for
//     expressions, and what
//     loadedSources, breakpointLocations and modules need.
//   - modules, setExpression, stepInTargets: dlv has none. readMemory reads at any address that clew has referred to.
//   - variables: those of clients that show memory refer to theirs.
//   - loadedSources, breakpointLocations: dlv has neither.
//   - evaluate: `clew COMMAND` in the console is clew's.
//   - scopes: there is one more, Unwind.
//   - stackTrace: totalFrames is exact where dlv guesses (it is compared in
//     integration/dap). The handler of a signal and the interrupted code are all
//     there, of which dlv leaves out some (TestCoreFile).
//   - setInstructionBreakpoints, at an address where no code is: the message names
//     the reason, where dlv has the kernel's error; and where memory is there that
//     is no code, clew refuses what dlv would write (integration/stepping/places).
//   - continue, next, stepIn, stepOut: a step whose end would be a place that is not
//     the caller's is refused or comes to the right end (integration/stepping/places).
//   - completions: dlv has none; clew proposes its console commands, and nothing
//     for any other text.
//
// With native code stacks and lists of threads differ as well, which is what
// clew is for: see integration/dap.

// intended removes the intended differences from a message of clew's.
func intended(m *dapwire.Message, o object) {
	dlvs(m, o)
	b, _ := o["body"].(object)
	switch m.Command {
	case "initialize":
		if version, _ := b["clewVersion"].(string); b["supportsClew"] == true && version != "" {
			delete(b, "supportsClew")
			delete(b, "clewVersion")
			delete(b, "additionalModuleColumns")
			delete(b, "completionTriggerCharacters")
		}
		for _, key := range []string{"supportsCancelRequest", "supportsCompletionsRequest", "supportsLoadedSourcesRequest", "supportsBreakpointLocationsRequest", "supportsModulesRequest", "supportsSetExpression", "supportsStepInTargetsRequest"} {
			if b[key] == true {
				delete(b, key) // dlv leaves out false values
			}
		}
	case "setInstructionBreakpoints":
		for _, bp := range b["breakpoints"].([]any) {
			if o := bp.(object); o["message"] == "no breakpoint is written at ADDRESS: it lies outside every executable mapping" {
				o["message"] = "input/output error"
			}
		}
	case "scopes":
		if list, ok := b["scopes"].([]any); ok && len(list) > 0 {
			if last := list[len(list)-1].(object); last["name"] == "Unwind" {
				b["scopes"] = list[:len(list)-1]
			}
		}
	}
}

// dlvs removes from a message of dlv's the parts that clew knows better.
func dlvs(m *dapwire.Message, o object) {
	b, _ := o["body"].(object)
	switch m.Command {
	case "stackTrace":
		delete(b, "totalFrames")
	case "loadedSources", "breakpointLocations", "modules", "setExpression", "stepInTargets":
		for _, key := range []string{"success", "message", "body"} {
			delete(o, key)
		}
	}
	if m.Event == "stopped" && b["reason"] == "pause" {
		delete(b, "threadId") // whichever thread comes first
	}
}
