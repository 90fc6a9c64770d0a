package internals

import (
	"cmp"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/go-delve/delve/pkg/terminal"
	"github.com/go-delve/delve/service/api"
)

// EntryTerminalCommands is the entry of the terminal's list of commands.
const EntryTerminalCommands = "terminal-commands"

var commandEntries = []Entry{{
	Name: EntryTerminalCommands, Where: "pkg/terminal/terminal.go, Term.cmds; pkg/terminal/command.go, Commands.Register: the form of its function; Commands.cmds",
	Breaks: "a terminal lacks the commands that are clew's alone, and cannot write p->field",
	Proof:  "Check", check: func() error { return firstError(terminalCommands.check, checkCommandFunc, checkCommandList) },
}}

var terminalCommands = fieldOf[terminal.Term, *terminal.Commands]("cmds")

// register is how a command is added. The type of its function has no name outside of Delve.
var register = reflect.ValueOf((*terminal.Commands).Register)

func checkCommandFunc() error {
	f := register.Type().In(2)
	if f.Kind() != reflect.Func || f.NumIn() != 3 || f.In(1).Kind() != reflect.Struct || f.In(2).Kind() != reflect.String || f.NumOut() != 1 || f.Out(0) != reflect.TypeFor[error]() {
		return fmt.Errorf("a command is a %v", f)
	}
	return nil
}

// checkCommandList: a command has its names and its function, and a call its frame.
func checkCommandList() error {
	list, err := lookUp(reflect.TypeFor[terminal.Commands](), "cmds", nil)
	if err != nil || list.Type.Kind() != reflect.Slice {
		return cmp.Or(err, fmt.Errorf("the list of commands is a %v", list.Type))
	}
	_, names := lookUp(list.Type.Elem(), "aliases", reflect.TypeFor[[]string]())
	_, function := lookUp(list.Type.Elem(), "cmdFn", register.Type().In(2))
	_, scope := lookUp(register.Type().In(2).In(1), "Scope", reflect.TypeFor[api.EvalScope]())
	return cmp.Or(names, function, scope)
}

// WrapCommand has run carry out a command of Delve's, which gets the frame that the command is about, and Delve's own.
func WrapCommand(t *terminal.Term, name string, run func(scope api.EvalScope, args string, delves func() error) error) error {
	held, err := terminalCommands.get(t)
	if err != nil {
		return err
	}
	list := reflect.ValueOf(*held).Elem().FieldByName("cmds")
	for i := range list.Len() {
		if names := list.Index(i).FieldByName("aliases"); names.Len() == 0 || names.Index(0).String() != name {
			continue
		}
		f := list.Index(i).FieldByName("cmdFn")
		function := reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
		delves := reflect.New(f.Type()).Elem()
		delves.Set(function)
		function.Set(reflect.MakeFunc(f.Type(), func(in []reflect.Value) []reflect.Value {
			scope, _ := in[1].FieldByName("Scope").Interface().(api.EvalScope)
			err := run(scope, in[2].String(), func() error {
				err, _ := delves.Call(in)[0].Interface().(error)
				return err
			})
			return []reflect.Value{reflect.ValueOf(&err).Elem()}
		}))
		return nil
	}
	return Changed(EntryTerminalCommands, "there is no command %s", name)
}

// AddCommand adds a command to a terminal, which gets the frame that it is about and what stands behind its name; call carries out another command.
func AddCommand(t *terminal.Term, name, help string, run func(scope api.EvalScope, args string, call func(line string) error) error) error {
	held, err := terminalCommands.get(t)
	if err != nil {
		return err
	}
	commands := *held
	call := func(line string) error { return commands.Call(line, t) }
	f := reflect.MakeFunc(register.Type().In(2), func(in []reflect.Value) []reflect.Value {
		scope, _ := in[1].FieldByName("Scope").Interface().(api.EvalScope)
		err := run(scope, in[2].String(), call)
		return []reflect.Value{reflect.ValueOf(&err).Elem()}
	})
	register.Call([]reflect.Value{reflect.ValueOf(commands), reflect.ValueOf(name), f, reflect.ValueOf(help)})
	return nil
}
