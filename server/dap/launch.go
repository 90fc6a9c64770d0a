package dap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/executable"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// launcher handles the requests at the start of a session.
type launcher struct {
	wire       *wire.Bridge
	config     *debuggee.Config
	run        *running
	guard      *programGuard
	strategies debuggee.StrategySource // may be nil
	remote     bool                    // the program is reached through a Delve server
	startAhead func(executable string) // see [debuggee.Program.StartAhead]
	existing   json.RawMessage         // what launched a program that Delve has not built; nil for others
}

// readClew reads clew's own attribute. An error names what is wrong in it.
func (l *launcher) readClew(raw json.RawMessage) (args debuggee.ClewArguments, err error) {
	if len(raw) > 0 {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&args); err != nil {
			return args, keyError(err)
		}
	}
	switch args.Annotate {
	case "", debuggee.AnnotateLabels, debuggee.AnnotateNames, debuggee.AnnotateOff:
	default:
		return args, fmt.Errorf("clew.annotate is %q, not labels, names or off", args.Annotate)
	}
	if !args.Disassembly.ForUsers() {
		return args, fmt.Errorf("clew.disassembly is %q, not att or intel", args.Disassembly)
	}
	if err := args.Names.Set(string(args.Names)); err != nil {
		return args, fmt.Errorf("clew.names: %w", err)
	}
	if l.strategies != nil && len(args.Strategies)+len(args.Plugins) > 0 {
		if err := l.strategies.Check(debuggee.StrategyConfig{Names: args.Strategies, Plugins: args.Plugins}); err != nil {
			return args, fmt.Errorf("clew.%w", err)
		}
	}
	return args, nil
}

// keyError names the key that JSON could not be read at.
func keyError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: %s where %v is wanted", strings.TrimSuffix("clew."+wrong.Field, "."), wrong.Value, wrong.Type)
	}
	return fmt.Errorf("clew: %s", strings.TrimPrefix(err.Error(), "json: "))
}

func (l *launcher) onLaunch(_ context.Context, m *dapwire.Message) error {
	args, err := l.read(m)
	if err != nil {
		return err
	}
	if args.OutputMode == "remote" && (args.Mode == "core" || args.Mode == "replay") {
		// No program writes there: Delve would wait for the end of its output, and the session
		// would not end. Test: integration/dap TestCoreEnds.
		wire.SetArgument(m, "outputMode", "local")
	}
	if s := l.config.Get(); s.Core != "" && !l.remote {
		if err := corefile.Check(s.Core); err != nil {
			return &wire.Refusal{ID: wire.LaunchFailed, Message: "Failed to launch", Details: err.Error()}
		}
		// What else is wrong with a core file is for Delve to say.
		if err, other := errors.AsType[*corefile.OtherBuildError](corefile.CheckExecutable(s.Core, s.Executable)); other {
			return &wire.Refusal{ID: wire.LaunchFailed, Message: "Failed to launch", Details: err.Error()}
		}
	}
	if (args.Mode == "exec" || args.Mode == "core") && !l.remote {
		if err := executable.MayOpen(args.Executable()); err != nil {
			return &wire.Refusal{ID: wire.LaunchFailed, Message: "Failed to launch", Details: err.Error()}
		}
	}
	if args.Mode == "core" && !l.remote {
		if err := executable.TryLoad(args.Executable(), nil); err != nil {
			return &wire.Refusal{ID: wire.LaunchFailed, Message: "Failed to launch", Details: err.Error()}
		}
	}
	if args.Mode == "exec" || args.Mode == "core" {
		l.startAhead(args.Executable())
	}
	if args.Mode == "exec" {
		l.existing, _ = m.Get("arguments")
	}
	l.wire.Up.Forward(m, nil)
	return nil
}

func (l *launcher) onAttach(_ context.Context, m *dapwire.Message) error {
	args, err := l.read(m)
	if err != nil {
		return err
	}
	l.guard.attaching(args.ProcessID)
	l.startAhead(procfs.Path(args.ProcessID, "exe"))
	l.wire.Up.Forward(m, nil)
	return nil
}

// invalid refuses a configuration in Delve's words.
func invalid(m *dapwire.Message, err error) error {
	return &wire.Refusal{ID: wire.Malformed, Message: "Failed to " + m.Command, Details: "invalid debug configuration - " + err.Error()}
}

// read reads the arguments of a request.
func (l *launcher) read(m *dapwire.Message) (debuggee.LaunchArguments, error) {
	raw, _ := m.Get("arguments")
	args, err := l.readLaunch(raw)
	if err != nil {
		return args, invalid(m, err)
	}
	l.config.Set(&args)
	return args, nil
}

// readLaunch reads launch arguments. What is malformed is for Delve to refuse,
// apart from clew's own attribute.
func (l *launcher) readLaunch(raw json.RawMessage) (args debuggee.LaunchArguments, err error) {
	if len(raw) == 0 {
		return args, nil
	}
	_ = json.Unmarshal(raw, &args)
	var own struct {
		Clew json.RawMessage `json:"clew"`
	}
	if json.Unmarshal(raw, &own) == nil {
		args.Clew, err = l.readClew(own.Clew)
	}
	return args, err
}
