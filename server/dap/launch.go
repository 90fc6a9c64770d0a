package dap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
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

// config is what launch and attach requests say, as far as clew needs it.
type config struct {
	mu         sync.Mutex
	depth      int // frames where the client names no number
	annotate   Annotate
	strategies StrategyConfig
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
	CoreFilePath    string         `json:"coreFilePath"`
	ProcessID       int            `json:"processId"`
	OutputMode      string         `json:"outputMode"`
	StackTraceDepth int            `json:"stackTraceDepth"`
	SubstitutePath  []substitution `json:"substitutePath"`

	clew clewArguments // is read by itself: see readClew
}

type substitution struct {
	From string `json:"from"` // the client's
	To   string `json:"to"`
}

// clewArguments is the attribute that is clew's own.
type clewArguments struct {
	Strategies []string                `json:"strategies"`
	Annotate   Annotate                `json:"annotate"`
	Plugins    []pluginhost.ThirdParty `json:"plugins"`
}

// readClew reads clew's own attribute. An error names what is wrong in it.
func (p *Proxy) readClew(raw json.RawMessage) (args clewArguments, err error) {
	if len(raw) > 0 {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&args); err != nil {
			return args, keyError(err)
		}
	}
	switch args.Annotate {
	case "", AnnotateLabels, AnnotateNames, AnnotateOff:
	default:
		return args, fmt.Errorf("clew.annotate is %q, not labels, names or off", args.Annotate)
	}
	if p.opts.Strategies != nil && len(args.Strategies)+len(args.Plugins) > 0 {
		if err := p.opts.Strategies.Check(StrategyConfig{Names: args.Strategies, Plugins: args.Plugins}); err != nil {
			return args, fmt.Errorf("clew.%w", err)
		}
	}
	return args, nil
}

// keyError names the key that JSON could not be read at.
func keyError(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: %s where %v is wanted", strings.TrimSuffix("clew."+wrong.Field, "."), wrong.Value, wrong.Type)
	}
	return fmt.Errorf("clew: %s", strings.TrimPrefix(err.Error(), "json: "))
}

func (p *Proxy) onLaunch(_ context.Context, m *dapwire.Message) {
	args, ok := p.learn(m)
	if !ok {
		return
	}
	if args.OutputMode == "remote" && (args.Mode == "core" || args.Mode == "replay") {
		// Nobody writes there: Delve would wait for the end of it, and the session not
		// end. Test: integration/dap TestCoreEnds.
		setArgument(m, "outputMode", "local")
	}
	if core, executable := p.config.coreFile(); core != "" && p.opts.Remote == nil {
		// What else is wrong with a core file is for Delve to say.
		if err, other := errors.AsType[*corefile.OtherBuildError](corefile.CheckExecutable(core, executable)); other {
			p.refuse(m, errLaunch, "Failed to launch", err.Error())
			return
		}
	}
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
		Arguments json.RawMessage `json:"arguments"`
	}
	if m.Decode("arguments", &args) == nil && len(args.Arguments) > 0 {
		launch, err := p.readLaunch(args.Arguments)
		if err != nil {
			p.refuse(m, errMalformed, "Failed to restart", "invalid debug configuration - "+err.Error())
			return
		}
		if launch.Program != "" {
			p.config.set(&launch)
		}
	}
	if p.opts.Guard != nil {
		p.guarded(p.opts.Guard.Restart())
	}
	p.resume(m, nil)
}

// learn reads the arguments of a request.
func (p *Proxy) learn(m *dapwire.Message) (args launchArguments, ok bool) {
	raw, _ := m.Get("arguments")
	args, err := p.readLaunch(raw)
	if err != nil {
		p.refuse(m, errMalformed, "Failed to "+m.Command, "invalid debug configuration - "+err.Error())
		return args, false
	}
	p.config.set(&args)
	return args, true
}

// readLaunch reads launch arguments. What is malformed is for Delve to refuse,
// apart from clew's own attribute.
func (p *Proxy) readLaunch(raw json.RawMessage) (args launchArguments, err error) {
	if len(raw) == 0 {
		return args, nil
	}
	_ = json.Unmarshal(raw, &args)
	var own struct {
		Clew json.RawMessage `json:"clew"`
	}
	if json.Unmarshal(raw, &own) == nil {
		args.clew, err = p.readClew(own.Clew)
	}
	return args, err
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
	if args.clew.Annotate != "" {
		c.annotate = args.clew.Annotate
	}
	if len(args.clew.Strategies) > 0 {
		c.strategies.Names = args.clew.Strategies
	}
	if len(args.clew.Plugins) > 0 {
		c.strategies.Plugins = args.clew.Plugins
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
func (c *config) get() (depth int, annotate Annotate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.depth, c.annotate
}

// wishes says which strategies the session wants.
func (c *config) wishes() StrategyConfig {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.strategies
}

// clientPath is a path as the client knows it.
func (c *config) clientPath(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return delve.SubstitutePath(path, c.toClient)
}

var setPaths = regexp.MustCompile(`^\s*dlv\s+config\s+substitutePath(?:\s+(.*))?$`)

var setDepth = regexp.MustCompile(`^\s*dlv\s+config\s+stackTraceDepth\s+(\d+)\s*$`)

// hear learns from a console command that Delve has carried out. It says whether
// frames look different now.
func (c *config) hear(command string) (changed bool) {
	if found := setPaths.FindStringSubmatch(command); found != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.toClient = delve.EditSubstitutePath(c.toClient, found[1])
		return true
	}
	found := setDepth.FindStringSubmatch(command)
	if found == nil {
		return false
	}
	if n, err := strconv.Atoi(found[1]); err == nil && n > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.depth = n
	}
	return false
}
