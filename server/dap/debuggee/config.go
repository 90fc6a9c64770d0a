package debuggee

import (
	"cmp"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/server/pluginhost"
)

// Annotate says how a stack shows where its evidence becomes weaker.
type Annotate string

// The ways to show it.
const (
	AnnotateLabels Annotate = "labels" // rows between frames
	AnnotateNames  Annotate = "names"  // in the frames' names
	AnnotateOff    Annotate = "off"
)

// Config is what launch and attach requests say, as far as clew needs it.
type Config struct {
	mu       sync.Mutex
	settings Settings
	toClient [][2]string // substitutePath, from the debugger's paths to the client's
}

// Settings are those of a session.
type Settings struct {
	Shown
	Strategies StrategyConfig // that the session wants
	Core       string         // the core file that is debugged, "" for none, and
	Executable string         // what it is of
	PlainSteps bool           // steps do not pass through glue
	Syntax     native.Syntax  // of instructions of native code
	Own        bool           // the upstream has started or attached to the program for this session
	// StopOnEntry says that the program stays stopped when the client has configured it.
	StopOnEntry bool
}

// Shown says how stacks are shown.
type Shown struct {
	Depth    int // frames where the client names no number
	Annotate Annotate
	Names    names.Style // in rows
}

// DefaultDepth is Delve's stackTraceDepth.
const DefaultDepth = 50

// DefaultConfig is the configuration without any.
func DefaultConfig() Config {
	return Config{settings: Settings{Shown: Shown{DefaultDepth, AnnotateLabels, names.StyleShort}}}
}

// LaunchArguments are the attributes of launch and attach requests.
type LaunchArguments struct {
	Request         string         `json:"request"` // in a restart: Delve takes the rest only if this is "launch"
	Mode            string         `json:"mode"`
	Program         string         `json:"program"`
	DlvCwd          string         `json:"dlvCwd"`
	CoreFilePath    string         `json:"coreFilePath"`
	ProcessID       int            `json:"processId"`
	OutputMode      string         `json:"outputMode"`
	StackTraceDepth int            `json:"stackTraceDepth"`
	StopOnEntry     bool           `json:"stopOnEntry"`
	SubstitutePath  []substitution `json:"substitutePath"`

	Clew ClewArguments `json:"-"` // is read by itself
}

// Executable is the path of the program, which Delve takes relative to its folder.
func (a *LaunchArguments) Executable() string {
	if a.DlvCwd == "" || a.Program == "" || filepath.IsAbs(a.Program) {
		return a.Program
	}
	return filepath.Join(a.DlvCwd, a.Program)
}

type substitution struct {
	From string `json:"from"` // the client's
	To   string `json:"to"`
}

// ClewArguments is the attribute that is clew's own.
type ClewArguments struct {
	Strategies []string            `json:"strategies"`
	Annotate   Annotate            `json:"annotate"`
	Names      names.Style         `json:"names"`
	Plugins    []pluginhost.Config `json:"plugins"`
	// StepThroughGlue is true where it is missing.
	StepThroughGlue *bool `json:"stepThroughGlue"`
	// Disassembly is the syntax of native code.
	Disassembly native.Syntax `json:"disassembly"`
}

// Set takes the arguments of a launch or attach request.
func (c *Config) Set(args *LaunchArguments) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.settings
	s.Core, s.Executable, s.Own, s.StopOnEntry = "", "", args.Mode != "remote", args.StopOnEntry
	if args.Mode == "core" {
		s.Core, s.Executable = args.CoreFilePath, args.Program
	}
	own := &args.Clew
	s.Depth = cmp.Or(max(args.StackTraceDepth, 0), s.Depth)
	s.Annotate, s.Names = cmp.Or(own.Annotate, s.Annotate), cmp.Or(own.Names, s.Names)
	if len(own.Strategies) > 0 {
		s.Strategies.Names = own.Strategies
	}
	s.Syntax = cmp.Or(own.Disassembly, s.Syntax)
	if own.StepThroughGlue != nil {
		s.PlainSteps = !*own.StepThroughGlue
	}
	if len(own.Plugins) > 0 {
		s.Strategies.Plugins = own.Plugins
	}
	if len(args.SubstitutePath) > 0 {
		c.toClient = nil
		for _, s := range args.SubstitutePath {
			c.toClient = append(c.toClient, [2]string{s.To, s.From})
		}
	}
}

// SetStopOnEntry takes that setting of a restart.
func (c *Config) SetStopOnEntry(stop bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settings.StopOnEntry = stop
}

// Get returns the settings.
func (c *Config) Get() Settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settings
}

// ClientPath is a path as the client knows it.
func (c *Config) ClientPath(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return delve.SubstitutePath(path, c.toClient)
}

// Source describes a source file that debugging information of an image names, nil for none. One that is not found has no path, or an
// editor opens a page that says there is no such file; it is shown, and passed over where an editor looks for a frame to open.
func (c *Config) Source(file, image string) *dap.Source {
	path := c.ClientPath(file)
	if found, ok := native.FindSource(file, image); ok && !native.IsAbsolute(path) {
		path = c.ClientPath(found)
	}
	switch {
	case path == "":
		return nil
	case !native.IsAbsolute(path):
		return &dap.Source{Name: filepath.Base(path), Origin: path + " is not found; substitutePath can say where it is", PresentationHint: "deemphasize"}
	}
	return &dap.Source{Name: filepath.Base(path), Path: path}
}

// ServerPath is a path of the client's as the debugger knows it.
func (c *Config) ServerPath(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	rules := make([][2]string, len(c.toClient))
	for i, rule := range c.toClient {
		rules[i] = [2]string{rule[1], rule[0]}
	}
	return delve.SubstitutePath(path, rules)
}

// Learn applies a console command that Delve has carried out. It returns whether frames
// are shown differently now.
func (c *Config) Learn(command string) (changed bool) {
	if found := internals.SetPaths.FindStringSubmatch(command); found != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.toClient = delve.EditSubstitutePath(c.toClient, found[1])
		return true
	}
	found := internals.SetDepth.FindStringSubmatch(command)
	if found == nil {
		return false
	}
	if n, err := strconv.Atoi(found[1]); err == nil && n > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.settings.Depth = n
	}
	return false
}
