package dap

import (
	"regexp"

	"github.com/clewdbg/clew/server/dapwire"
)

var consoleCommand = regexp.MustCompile(`^\s*dlv\s+\S+`)

// isConsoleCommand says that Delve takes an expression for a command of its
// console.
func isConsoleCommand(expression string) bool { return consoleCommand.MatchString(expression) }

var call = regexp.MustCompile(`^\s*call\s+\S+`)

// calls says that Delve takes an expression for one that lets the program run a
// function, or assigns. All others only read.
func calls(expression string) bool { return call.MatchString(expression) }

// withoutFrame takes a frame that Delve does not know out of a request.
func (p *Proxy) withoutFrame(m *dapwire.Message, frame int64) {
	if frame < FirstID {
		return
	}
	raw, _ := m.Get("arguments")
	if args, err := dapwire.ParseObject(raw); err == nil {
		args.Set("frameId", []byte("0"))
		m.Set("arguments", args.Bytes())
	}
}
