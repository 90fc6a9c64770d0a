package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/server/pluginhost"
	"github.com/clewdbg/clew/server/values/show"
)

// config is clew.json. Every field may be left out; unknown ones are errors that
// name them, because a misspelt setting is worse than none.
type config struct {
	// Strategies are the strategies to use, best ranked first.
	Strategies []string `json:"strategies"`
	// Plugins are third parties' strategies.
	Plugins []pluginhost.Config `json:"plugins"`
	// WalkTimeout bounds one round trip to a plugin: "250ms".
	WalkTimeout duration `json:"walkTimeout"`
	// StackTimeout bounds the time that a debug session spends on one request of an
	// editor's; then Delve's own answer goes out: "15s".
	StackTimeout duration `json:"stackTimeout"`
	// MaxMessage bounds a message of the Debug Adapter Protocol, in bytes or as text:
	// "256MiB".
	MaxMessage size `json:"maxMessage"`
	// DebugFolders are where separate debug files are looked for, instead of
	// /usr/lib/debug.
	DebugFolders []string `json:"debugFolders"`
	// StepThroughGlue, which is true where it is missing, has steps of a terminal's pass
	// through the glue between Go and C. An editor's configuration says so itself.
	StepThroughGlue *bool `json:"stepThroughGlue"`
	// Disassembly is how a terminal writes instructions of native code on amd64: att, the default, or intel.
	Disassembly native.Syntax `json:"disassembly"`
	// Own names code that listings count as the user's own, beside the main module's: see clew stack --own.
	Own []string `json:"own"`
	// Formatters say how values of types of the user's own are shown.
	Formatters []show.Formatter `json:"formatters"`
	// FileLimits raise or lower what the sections of files may hold when they are read.
	FileLimits elffile.Limits `json:"fileLimits"`
}

// duration is a time.Duration as text.
type duration time.Duration

// UnmarshalText reads "250ms".
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf("invalid duration %q; want one above 0, like \"250ms\"", text)
	}
	*d = duration(v)
	return nil
}

// size is a number of bytes, or text with a unit.
type size int

// minMessage is the least bound of a message: editors' ordinary requests and
// Delve's capabilities are shorter.
const minMessage = 64 << 10

// UnmarshalJSON reads 1048576 or "1MiB".
func (s *size) UnmarshalJSON(data []byte) error {
	number, unit := strings.Trim(string(data), `"`), 1
	for name, bytes := range map[string]int{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if n, ok := strings.CutSuffix(number, name); ok {
			number, unit = n, bytes
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || n < 0 || n > math.MaxInt32/unit || n*unit < minMessage {
		return fmt.Errorf("maxMessage: invalid size %s; want 64 KiB to 2 GiB, like \"256MiB\"", data)
	}
	*s = size(n * unit)
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
	data, err := readConfig(path)
	if errors.Is(err, os.ErrNotExist) && !named {
		return config{}, nil
	}
	if err != nil && !named { // with another user's HOME: what the user has not asked for does not end a command
		complainOnce("the configuration is not used: %v", err)
		return config{}, nil
	}
	if err != nil {
		return config{}, failf("read the configuration: %v", err)
	}
	c, err := parseConfig(data)
	if err != nil {
		return config{}, failf("configuration %s: %v", path, err)
	}
	elffile.SetLimits(c.FileLimits)
	show.Use(c.Formatters)
	return c, nil
}

// complained is whether the user knows that there is no configuration: some commands read it twice.
var complained sync.Once

func complainOnce(format string, a ...any) {
	complained.Do(func() { tell(os.Stderr, format, a...) })
}

// readConfig reads a configuration file, whatever the path leads to.
func readConfig(path string) ([]byte, error) {
	f, info, err := elffile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 1 << 20 // bytes
	if info.Size() > most {
		return nil, fmt.Errorf("%s has more than %d MiB", path, most>>20)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// configProblem is an error of a configuration's JSON in words that name no Go type.
func configProblem(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON, at byte %d: %w", syntax.Offset, err)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		value, itself, _ := strings.Cut(wrong.Value, " ") // "number -1"
		return fmt.Errorf("%s: want %s, not %s", cmp.Or(wrong.Field, "all of it"), wants(wrong.Type), cmp.Or(itself, valueNames[value], value))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends before the end of the configuration; the shortest one is {}")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// valueNames are encoding/json's words for values.
var valueNames = map[string]string{"array": "a list", "object": "an object", "bool": "true or false", "string": "text", "number": "a number"}

// twice looks for a field that an object has twice, as encoding/json compares names. Of such encoding/json takes the last.
func twice(dec *json.Decoder) error {
	token, err := dec.Token()
	if err != nil || token != json.Delim('{') && token != json.Delim('[') {
		return err
	}
	seen := map[string]bool{}
	for dec.More() {
		if token == json.Delim('{') {
			field, err := dec.Token()
			if err != nil {
				return err
			}
			name := strings.ToLower(fmt.Sprint(field))
			if seen[name] {
				return fmt.Errorf("field %q is there twice", field)
			}
			seen[name] = true
		}
		if err := twice(dec); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// wants says in JSON's words what a value of that type is read from.
func wants(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[duration]():
		return `text like "250ms"`
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Struct:
		return "an object"
	}
	return "a whole number from 0 on"
}

func parseConfig(data []byte) (config, error) {
	var c config
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return config{}, configProblem(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return config{}, errors.New("there is something after the end of the configuration")
	}
	if err := twice(json.NewDecoder(bytes.NewReader(data))); err != nil {
		return config{}, err
	}
	for i, folder := range c.DebugFolders {
		if !filepath.IsAbs(folder) {
			return config{}, fmt.Errorf("debugFolders[%d]: %q is not an absolute path", i, folder)
		}
	}
	if !c.Disassembly.ForUsers() {
		return config{}, fmt.Errorf("disassembly: %q is not att or intel", c.Disassembly)
	}
	if err := show.Check(c.Formatters); err != nil {
		return config{}, err
	}
	if err := pluginhost.CheckThirdParties(c.Plugins, builtinNames()); err != nil {
		return config{}, err
	}
	return c, nil
}

// ranked returns the plugins to use, best first: the strategies that are listed
// (on the command line, else in the configuration), or all. A third party's
// plugin that the list does not name has its rank, unless the list is the
// command line's.
func (c *config) ranked(list []string) ([]pluginhost.Config, error) {
	unlisted := c.Plugins
	if len(list) > 0 {
		unlisted = nil
	} else {
		list = c.Strategies
	}
	return c.rank(list, unlisted)
}

// rankedFor returns the plugins for a debug session: those of the configuration,
// and those that the session names itself.
func (c *config) rankedFor(s debuggee.StrategyConfig) ([]pluginhost.Config, error) {
	all := *c
	all.Plugins = slices.DeleteFunc(slices.Clone(c.Plugins), func(p pluginhost.Config) bool {
		return slices.ContainsFunc(s.Plugins, func(plugin pluginhost.Config) bool { return plugin.Name == p.Name })
	})
	all.Plugins = append(all.Plugins, s.Plugins...)
	switch {
	case len(s.Names) == 0:
		return all.ranked(nil)
	case s.Only:
		return all.ranked(s.Names)
	}
	return all.rank(s.Names, s.Plugins)
}

// rank returns the plugins of a list, or all built-in ones if it is empty, and at
// their ranks the unlisted ones that the list does not name.
func (c *config) rank(list []string, unlisted []pluginhost.Config) ([]pluginhost.Config, error) {
	third := map[string]pluginhost.Config{}
	for _, p := range c.Plugins {
		third[p.Name] = p
	}
	if len(list) == 0 {
		list = builtinNames()
	}
	var out []pluginhost.Config
	for i, name := range list {
		p, known := third[name]
		if !known {
			p, known = builtinPlugin(name)
		}
		switch {
		case slices.Contains(list[:i], name):
			return nil, usageErrorf("strategy %q is named twice", name)
		case !known:
			return nil, unknown("strategy", name, c.names())
		}
		out = append(out, p)
	}
	for _, p := range unlisted {
		if !slices.Contains(list, p.Name) {
			out = slices.Insert(out, min(max(p.Rank-1, 0), len(out)), third[p.Name])
		}
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
