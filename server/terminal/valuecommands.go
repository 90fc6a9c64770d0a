package terminal

import (
	"errors"
	"fmt"
	"net/rpc"
	"strings"

	delveterminal "github.com/go-delve/delve/pkg/terminal"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/delve/internals"
)

const ptypeHelp = `Prints the definition of a type of C, C++ or Rust, or of an expression's type.

	ptype <type or expression>

See also: "help whatis".`

// addValueCommands adds ptype, and has set understand what is no Go: p->field and file::name.
func addValueCommands(t *delveterminal.Term, client *rpc2.RPCClient, server *rpc.Client) error {
	err := internals.AddCommand(t, "ptype", ptypeHelp, func(scope api.EvalScope, args string, _ func(string) error) error {
		if args == "" {
			return errors.New("not enough arguments")
		}
		var out defineOut
		if err := server.Call("RPCServer.DefineType", defineIn{args, scope}, &out); err != nil {
			return err
		}
		fmt.Printf("type = %s\n", strings.Join(out.Lines, "\n"))
		return nil
	})
	if err != nil {
		return err
	}
	return internals.WrapCommand(t, "set", func(scope api.EvalScope, args string, delves func() error) error {
		place, value, ok := assignment(args)
		if !ok || !strings.Contains(place, "->") && !strings.Contains(place, "::") {
			return delves()
		}
		err := client.SetVariable(scope, place, value)
		if err != nil && !strings.HasPrefix(err.Error(), nativeFrame) { // a frame of Go's
			return delves()
		}
		return err
	})
}

// assignment splits "p->field = 3".
func assignment(text string) (place, value string, ok bool) {
	for i := 1; i+1 < len(text); i++ {
		if text[i] == '=' && text[i+1] != '=' && !strings.ContainsRune("=!<>", rune(text[i-1])) {
			return strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:]), true
		}
	}
	return "", "", false
}
