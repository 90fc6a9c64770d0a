package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/dap"
	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/lifeline"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/stop"
	sessions "github.com/clewdbg/clew/server/terminal"
)

// takeOverSessions makes Delve's commands that debug a program show clew's
// stacks.
func takeOverSessions(root *cobra.Command) error {
	var style names.Style
	taken, err := sessions.TakeOver(root, func() sessions.Options { return sessionOptions(style, "") })
	for _, c := range taken {
		namesFlag(c, &style)
	}
	return err
}

// sessionOptions are those of an interactive or headless session. Such
// commands take all of dlv's flags, and --names: the configuration is the user's
// own, or the one at a path. One that cannot be read is told of when the first stack is assembled.
func sessionOptions(style names.Style, configPath string) sessions.Options {
	o := sessions.Options{Names: style, Lifeline: lifeline.Start, Editors: dap.Options{Strategies: dapStrategies{configPath}}, Stacks: stop.StacksOptions{
		Strategies: func() ([]engine.Named, func(), error) {
			s, err := openStrategies(configPath, nil, func(text string) { delvelog.RPC("%s", text) })
			if err != nil {
				return nil, nil, err
			}
			return s.order, s.close, nil
		},
		Log:    delvelog.RPC,
		Notify: func(text string) { tell(os.Stderr, "%s", text) },
	}}
	if config, err := loadConfig(configPath); err == nil {
		o.Stacks.Patience = time.Duration(config.StackTimeout)
		o.Disassembly = config.Disassembly
		o.PlainSteps = config.StepThroughGlue != nil && !*config.StepThroughGlue
		o.Editors.DebugFolders, o.Editors.Patience, o.Editors.MaxMessage = config.DebugFolders, o.Stacks.Patience, int(config.MaxMessage)
	}
	return o
}
