package main

import (
	"context"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/inspect"
	"github.com/clewdbg/clew/plugins/compactunwind"
	"github.com/clewdbg/clew/plugins/dwarfcfi"
	"github.com/clewdbg/clew/plugins/fpwalk"
	"github.com/clewdbg/clew/plugins/scan"
	"github.com/clewdbg/clew/plugins/sframe"
	"github.com/clewdbg/clew/server/pluginhost"
	"github.com/clewdbg/clew/unwind"
)

// builtins are the strategies that come with clew, best ranked first (R2). A new
// one is its folder in plugins/ and a line here.
var builtins = []builtin{
	strategy(unwind.StrategyDWARF, dwarfcfi.New, &dwarfcfi.Inspection),
	strategy(unwind.StrategySFrame, sframe.New, &sframe.Inspection),
	strategy(unwind.StrategyCompact, compactunwind.New, &compactunwind.Inspection),
	strategy(unwind.StrategyFP, fpwalk.New, nil),
	strategy(unwind.StrategyScan, scan.New, nil),
}

// builtin is a strategy that comes with clew.
type builtin struct {
	name string
	open func() unwind.Unwinder
	// inspection shows the strategy's tables; nil for one without tables.
	inspection *inspect.Format
}

func strategy[U unwind.Unwinder](name string, open func() U, inspection *inspect.Format) builtin {
	return builtin{name: name, open: func() unwind.Unwinder { return open() }, inspection: inspection}
}

// plugin configures the strategy as a plugin. Its process is started when it is needed.
func (b *builtin) plugin() pluginhost.Config {
	c := pluginhost.Config{Name: b.name}
	if d, err := b.open().Describe(context.Background()); err == nil {
		c.Known = &pluginhost.Known{Description: d}
		if b.inspection != nil {
			c.Known.Tables = b.inspection.Tables
		}
	}
	return c
}

// builtinPlugin configures the built-in strategy of that name as a plugin. It returns false for any other name.
func builtinPlugin(name string) (pluginhost.Config, bool) {
	i := slices.IndexFunc(builtins, func(b builtin) bool { return b.name == name })
	if i < 0 {
		return pluginhost.Config{}, false
	}
	return builtins[i].plugin(), true
}
