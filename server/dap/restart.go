package dap

import (
	"context"
	"encoding/json"

	"github.com/clewdbg/clew/server/dapwire"
)

// onRestart may bring new launch arguments, one level deeper.
func (l *launcher) onRestart(_ context.Context, m *dapwire.Message) error {
	var args struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if m.Decode("arguments", &args) == nil && len(args.Arguments) > 0 {
		launch, err := l.readLaunch(args.Arguments)
		if err != nil {
			return invalid(m, err)
		}
		if launch.Program != "" {
			l.config.Set(&launch)
		}
		if launch.Request == "launch" {
			l.config.SetStopOnEntry(launch.StopOnEntry)
		}
	}
	l.keepBinary(m, args.Arguments)
	l.guard.restarting()
	l.run.resume(m, nil)
	return nil
}

// keepBinary has a program that Delve has not built started again as it is. Delve would try to build it, fail, and
// end the session, unless the request says otherwise: few editors do, and some send no arguments at that level.
func (l *launcher) keepBinary(m *dapwire.Message, launch json.RawMessage) {
	if l.existing == nil {
		return
	}
	if len(launch) == 0 {
		launch = l.existing
	}
	nested, err := dapwire.ParseObject(launch)
	if err != nil {
		return
	}
	if _, said := nested.Get("rebuild"); said {
		return
	}
	nested.Set("request", []byte(`"launch"`))
	nested.Set("rebuild", []byte("false"))
	args, err := dapwire.ParseObject([]byte("{}"))
	if err == nil {
		args.Set("arguments", nested.Bytes())
		m.Set("arguments", args.Bytes())
	}
}
