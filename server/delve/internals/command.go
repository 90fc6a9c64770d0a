package internals

import (
	"fmt"
	"reflect"

	"github.com/go-delve/delve/pkg/terminal"
)

// EntryTerminalCommands is the entry of the terminal's list of commands.
const EntryTerminalCommands = "terminal-commands"

var commandEntries = []Entry{{
	Name: EntryTerminalCommands, Where: "pkg/terminal/terminal.go, Term.cmds; pkg/terminal/command.go, Commands.Register: the form of its function",
	Breaks: "a terminal lacks the commands that are clew's alone",
	Proof:  "Check", check: func() error { return firstError(terminalCommands.check, checkCommandFunc) },
}}

var terminalCommands = fieldOf[terminal.Term, *terminal.Commands]("cmds")

// register is how a command is added. The type of its function has no name outside of Delve.
var register = reflect.ValueOf((*terminal.Commands).Register)

func checkCommandFunc() error {
	f := register.Type().In(2)
	if f.Kind() != reflect.Func || f.NumIn() != 3 || f.In(2).Kind() != reflect.String || f.NumOut() != 1 || f.Out(0) != reflect.TypeFor[error]() {
		return fmt.Errorf("a command is a %v", f)
	}
	return nil
}

// AddCommand adds a command to a terminal, which gets what stands behind its name; call carries out another command.
func AddCommand(t *terminal.Term, name, help string, run func(args string, call func(line string) error) error) error {
	held, err := terminalCommands.get(t)
	if err != nil {
		return err
	}
	commands := *held
	call := func(line string) error { return commands.Call(line, t) }
	f := reflect.MakeFunc(register.Type().In(2), func(in []reflect.Value) []reflect.Value {
		err := run(in[2].String(), call)
		return []reflect.Value{reflect.ValueOf(&err).Elem()}
	})
	register.Call([]reflect.Value{reflect.ValueOf(commands), reflect.ValueOf(name), f, reflect.ValueOf(help)})
	return nil
}
