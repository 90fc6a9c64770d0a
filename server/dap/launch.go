package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
)

// Annotate says how a stack shows where its evidence becomes weaker.
type Annotate string

// The ways to show it.
const (
	AnnotateLabels Annotate = "labels" // rows between frames
	AnnotateNames  Annotate = "names"  // in the frames' names
	AnnotateOff    Annotate = "off"
)

// config is what launch and attach requests say, as far as clew needs it.
type config struct {
	mu         sync.Mutex
	depth      int // frames where the client names no number
	annotate   Annotate
	strategies []string
	toClient   [][2]string // substitutePath, from the debugger's paths to the client's
	core       string      // the core file, "" for none, and
	executable string      // what it is of
}

// defaultDepth is Delve's stackTraceDepth.
const defaultDepth = 50

func defaultConfig() config { return config{depth: defaultDepth, annotate: AnnotateLabels} }

// launchArguments are the attributes of launch and attach requests.
type launchArguments struct {
	Mode            string         `json:"mode"`
	Program         string         `json:"program"`
	NoDebug         bool           `json:"noDebug"`
	CoreFilePath    string         `json:"coreFilePath"`
	ProcessID       int            `json:"processId"`
	StackTraceDepth int            `json:"stackTraceDepth"`
	SubstitutePath  []substitution `json:"substitutePath"`
	Clew            clewArguments  `json:"clew"`
}

type substitution struct {
	From string `json:"from"` // the client's
	To   string `json:"to"`
}

// clewArguments is the attribute that is clew's own.
type clewArguments struct {
	Strategies []string `json:"strategies"`
	Annotate   Annotate `json:"annotate"`
}

func (p *Proxy) onLaunch(_ context.Context, m *dapwire.Message) {
	args, ok := p.learn(m)
	if !ok {
		return
	}
	p.guardLaunch(args)
	p.pass(m, nil)
}

func (p *Proxy) onAttach(_ context.Context, m *dapwire.Message) {
	args, ok := p.learn(m)
	if !ok {
		return
	}
	p.guardAttach(args)
	p.pass(m, nil)
}

// onRestart may bring new launch arguments, one level deeper.
func (p *Proxy) onRestart(_ context.Context, m *dapwire.Message) {
	var args struct {
		Arguments launchArguments `json:"arguments"`
	}
	if m.Decode("arguments", &args) == nil && args.Arguments.Program != "" {
		p.config.set(&args.Arguments)
	}
	p.resume(m, nil)
}

// learn reads the arguments of a request. What is malformed is for Delve to
// refuse, apart from clew's own attribute.
func (p *Proxy) learn(m *dapwire.Message) (args launchArguments, ok bool) {
	if err := m.Decode("arguments", &args); err != nil {
		var raw struct {
			Clew json.RawMessage `json:"clew"`
		}
		if m.Decode("arguments", &raw) == nil && raw.Clew != nil && json.Unmarshal(raw.Clew, &args.Clew) != nil {
			p.refuse(m, errMalformed, "Failed to "+m.Command, fmt.Sprintf("invalid debug configuration - attribute clew: %v", err))
			return args, false
		}
	}
	switch args.Clew.Annotate {
	case "", AnnotateLabels, AnnotateNames, AnnotateOff:
	default:
		p.refuse(m, errMalformed, "Failed to "+m.Command,
			fmt.Sprintf("invalid debug configuration - clew.annotate is %q, not labels, names or off", args.Clew.Annotate))
		return args, false
	}
	p.config.set(&args)
	return args, true
}

func (c *config) set(args *launchArguments) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.core, c.executable = "", ""
	if args.Mode == "core" {
		c.core, c.executable = args.CoreFilePath, args.Program
	}
	if args.StackTraceDepth > 0 {
		c.depth = args.StackTraceDepth
	}
	if args.Clew.Annotate != "" {
		c.annotate = args.Clew.Annotate
	}
	if len(args.Clew.Strategies) > 0 {
		c.strategies = args.Clew.Strategies
	}
	if len(args.SubstitutePath) > 0 {
		c.toClient = nil
		for _, s := range args.SubstitutePath {
			c.toClient = append(c.toClient, [2]string{s.To, s.From})
		}
	}
}

// coreFile gives the core file that is debugged, if one is.
func (c *config) coreFile() (core, executable string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core, c.executable
}

// get gives the values of this moment.
func (c *config) get() (depth int, annotate Annotate, strategies []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.depth, c.annotate, c.strategies
}

// clientPath is a path as the client knows it.
func (c *config) clientPath(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return delve.SubstitutePath(path, c.toClient)
}

var setDepth = regexp.MustCompile(`^\s*dlv\s+config\s+stackTraceDepth\s+(\d+)\s*$`)

// hear learns from a console command that Delve has carried out.
func (c *config) hear(command string) {
	found := setDepth.FindStringSubmatch(command)
	if found == nil {
		return
	}
	if n, err := strconv.Atoi(found[1]); err == nil && n > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.depth = n
	}
}
