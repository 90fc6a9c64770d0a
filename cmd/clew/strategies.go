package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/pluginhost"
	"github.com/clewdbg/clew/unwind/plugin"
)

// servePlugin is the internal command that serves a built-in plugin.
func servePlugin(args []string) int {
	if len(args) == 1 {
		for _, b := range builtins {
			if b.name == args[0] {
				plugin.Serve(newSettling(b.open()))
				return exitDone
			}
		}
	}
	fmt.Fprintf(os.Stderr, "clew: plugin serves one built-in plugin of: %s\n", strings.Join(builtinNames(), ", "))
	return exitUsage
}

func builtinNames() []string {
	var names []string
	for _, b := range builtins {
		names = append(names, b.name)
	}
	return names
}

// walkTimeout bounds one round trip to a plugin in clew's one-shot commands. It
// is longer than a debug session's, where an editor waits: on a busy machine a
// stack that comes late is better than one that is cut off.
const walkTimeout = 2 * time.Second

// strategies are the plugins that one command uses.
type strategies struct {
	host         *pluginhost.Host
	order        []engine.Named
	debugFolders []string // nil: the usual ones
	own          []string // patterns of code that is the user's own
}

// openStrategies makes the plugin host for a list of strategies, best ranked
// first; empty means those of the configuration. No process is started yet.
func openStrategies(configPath string, list []string, notify func(string)) (*strategies, error) {
	c, err := loadConfig(configPath)
	if err != nil {
		return nil, err
	}
	plugins, err := c.ranked(list)
	if err != nil {
		return nil, err
	}
	return c.open(plugins, walkTimeout, notify)
}

// open makes the plugin host. timeout is the time that a round trip may need
// where the configuration says nothing.
func (c *config) open(plugins []pluginhost.Config, timeout time.Duration, notify func(string)) (*strategies, error) {
	if c.WalkTimeout > 0 {
		timeout = time.Duration(c.WalkTimeout)
	}
	host, err := pluginhost.New(pluginhost.Options{Plugins: plugins, WalkTimeout: timeout, OnNotice: notify})
	if err != nil {
		return nil, failf("cannot set up plugins: %v", err)
	}
	s := &strategies{host: host, debugFolders: c.DebugFolders, own: c.Own}
	for _, p := range plugins {
		n := engine.Named{Name: p.Name, Unwinder: host.Plugin(p.Name)}
		if p.Known != nil {
			n.Description = &p.Known.Description
		}
		s.order = append(s.order, n)
	}
	return s, nil
}

func (s *strategies) close() { _ = s.host.Close() }
