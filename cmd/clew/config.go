package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/pluginhost"
)

// config is clew.json. Every field may be left out; unknown ones are errors that
// name them, because a misspelt setting is worse than none.
type config struct {
	// Strategies are the strategies to use, best ranked first.
	Strategies []string `json:"strategies"`
	// Plugins are third parties' strategies.
	Plugins []pluginConfig `json:"plugins"`
	// WalkTimeout bounds one round trip to a plugin: "250ms".
	WalkTimeout duration `json:"walkTimeout"`
	// StackTimeout bounds what a debug session does for one request of an editor's;
	// then Delve's own answer goes out: "15s".
	StackTimeout duration `json:"stackTimeout"`
	// DebugFolders are where separate debug files are looked for, instead of
	// /usr/lib/debug.
	DebugFolders []string `json:"debugFolders"`
}

// pluginConfig names a third party's plugin. It is run only if its contents have
// that checksum.
type pluginConfig struct {
	Name   string   `json:"name"`
	Path   string   `json:"path"` // absolute; not searched for
	SHA256 string   `json:"sha256"`
	Args   []string `json:"args"`
	// Rank is its place among the strategies, 1 for the first; 0 is the first
	// too, since such plugins cover little and know it well.
	Rank int `json:"rank"`
}

// duration is a time.Duration as text.
type duration time.Duration

// UnmarshalText reads "250ms".
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is no duration above 0, like \"250ms\"", text)
	}
	*d = duration(v)
	return nil
}

// configFlag adds --clew-config.
func configFlag(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "clew-config", "", "configuration file (default: clew/clew.json in the user's configuration folder)")
	_ = c.MarkFlagFilename("clew-config", "json")
}

// loadConfig reads the configuration file at path, or the user's own, which need
// not be there.
func loadConfig(path string) (config, error) {
	named := path != ""
	if !named {
		dir, err := os.UserConfigDir()
		if err != nil {
			return config{}, nil // no home: no configuration
		}
		path = filepath.Join(dir, "clew", "clew.json")
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && !named {
		return config{}, nil
	}
	if err != nil {
		return config{}, failf("read the configuration: %v", err)
	}
	c, err := parseConfig(data)
	if err != nil {
		return config{}, failf("configuration %s: %v", path, err)
	}
	return c, nil
}

func parseConfig(data []byte) (config, error) {
	var c config
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return config{}, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return config{}, errors.New("there is something after the end of the configuration")
	}
	for i, folder := range c.DebugFolders {
		if !filepath.IsAbs(folder) {
			return config{}, fmt.Errorf("debugFolders[%d]: %q is no absolute path", i, folder)
		}
	}
	for i, p := range c.Plugins {
		switch {
		case known(builtinNames(), p.Name):
			return config{}, fmt.Errorf("plugins[%d]: %q is the name of a built-in strategy", i, p.Name)
		case p.Path == "":
			return config{}, fmt.Errorf("plugins[%d]: %q has no path", i, p.Name)
		case p.Rank < 0:
			return config{}, fmt.Errorf("plugins[%d]: rank %d is negative", i, p.Rank)
		}
	}
	return c, nil
}

// ranked gives the plugins to use, best first: the strategies that are listed
// (on the command line, else in the configuration), or all. A third party's
// plugin that the list does not name has its rank, unless the list is the
// command line's.
func (c *config) ranked(list []string) ([]pluginhost.Config, error) {
	third := map[string]pluginhost.Config{}
	for _, p := range c.Plugins {
		third[p.Name] = pluginhost.Config{Name: p.Name, Path: p.Path, SHA256: p.SHA256, Args: p.Args}
	}
	only := len(list) > 0
	if !only {
		list = c.Strategies
	}
	if len(list) == 0 {
		list = builtinNames()
	}
	var out []pluginhost.Config
	seen := map[string]bool{}
	for _, name := range list {
		p, isThird := third[name]
		switch {
		case seen[name]:
			return nil, usageErrorf("strategy %q is named twice", name)
		case !isThird && !known(builtinNames(), name):
			return nil, usageErrorf("unknown strategy %q; known: %s", name, strings.Join(c.names(), ", "))
		case !isThird:
			p = pluginhost.Config{Name: name}
		}
		seen[name] = true
		out = append(out, p)
	}
	for _, p := range c.Plugins {
		if seen[p.Name] || only {
			continue
		}
		at := min(max(p.Rank-1, 0), len(out))
		out = append(out[:at], append([]pluginhost.Config{third[p.Name]}, out[at:]...)...)
	}
	for i := range out {
		out[i].Rank = i
	}
	return out, nil
}

// names are all strategies that can be named.
func (c *config) names() []string {
	names := builtinNames()
	for _, p := range c.Plugins {
		names = append(names, p.Name)
	}
	return names
}
