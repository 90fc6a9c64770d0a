package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/serve"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/lifeline"
	"github.com/clewdbg/clew/server/pluginhost"
	sessions "github.com/clewdbg/clew/server/terminal"
)

// dapFlags are the flags that clew adds to Delve's dap command.
type dapFlags struct {
	config    string
	stdio     bool
	multi     bool
	sessionFD int // internal: serve the client that is connected there
	joinFD    int // internal: take clients that join it from there
}

// takeOverDAP makes Delve's dap command serve with clew's proxy before Delve's
// session. Its flags, its warnings, its banner and its exit status stay.
func takeOverDAP(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() != "dap" {
			continue
		}
		var f dapFlags
		configFlag(c, &f.config)
		c.Flags().BoolVar(&f.stdio, "stdio", false, "Serve one client on standard input and output. The program's output goes to standard error.")
		c.Flags().BoolVar(&f.multi, "multi", false, "Keep running after a session, and serve several editors at once, each in a process of its own; dlv connect joins the newest session.")
		for name, fd := range map[string]*int{"session-fd": &f.sessionFD, "join-fd": &f.joinFD} {
			c.Flags().IntVar(fd, name, -1, "")
			_ = c.Flags().MarkHidden(name)
		}
		c.Run = func(c *cobra.Command, args []string) { os.Exit(runDAP(c, &f, args)) }
	}
}

// runDAP goes Delve's way through its dap command, messages included.
func runDAP(c *cobra.Command, f *dapFlags, args []string) int {
	flag := func(name string) string { return c.Flag(name).Value.String() }
	on := func(name string) bool { return flag(name) == "true" }
	if err := delvelog.Setup(on("log"), flag("log-output"), flag("log-dest")); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
		return exitFailed
	}
	defer delvelog.Close()
	delvelog.ConfigError()
	if f.sessionFD < 0 {
		warnOfIgnored(c, args)
	}
	cfg := serve.Config{
		Delve:      delve.DAPConfig{Backend: flag("backend"), CheckGoVersion: on("check-go-version"), DisableASLR: on("disable-aslr")},
		Strategies: dapStrategies{f.config},
		Lifeline:   lifeline.Start,
	}
	if config, err := loadConfig(f.config); err == nil { // else opening the strategies says so
		cfg.DebugFolders = config.DebugFolders
		cfg.Patience, cfg.MaxMessage = time.Duration(config.StackTimeout), int(config.MaxMessage)
	}
	if err := serveDAP(c, f, cfg); err != nil {
		fmt.Fprintf(os.Stderr, "clew: %v\n", err)
		return exitFailed
	}
	return exitDone
}

func serveDAP(c *cobra.Command, f *dapFlags, cfg serve.Config) error {
	flag := func(name string) string { return c.Flag(name).Value.String() }
	switch clientAddr := flag("client-addr"); {
	case f.sessionFD >= 0:
		return serveSession(f, cfg)
	case f.stdio:
		conn, err := serve.Stdio()
		if err != nil {
			return err
		}
		return serve.Serve(cfg, conn)
	case clientAddr != "":
		conn, err := serve.Dial(c.Context(), clientAddr)
		if err != nil {
			delvelog.DialError(clientAddr, err)
			return fmt.Errorf("cannot reach the client at %s: %w", clientAddr, err)
		}
		return serve.Serve(cfg, conn)
	}
	listener, err := serve.Listen(flag("listen"))
	if err != nil {
		fmt.Printf("couldn't start listener: %s\n", err)
		return fmt.Errorf("cannot listen at %s", flag("listen"))
	}
	server := serve.Server{Config: cfg, Listener: listener, AnyUser: flag("only-same-user") != "true"}
	if f.multi {
		if server.Multi, err = multiServer(c, f); err != nil {
			return err
		}
	}
	return server.Run()
}

// serveSession serves the client of one session of a server for many.
func serveSession(f *dapFlags, cfg serve.Config) error {
	conn, err := serve.Inherited(f.sessionFD)
	if err != nil {
		return err
	}
	if f.joinFD >= 0 {
		if cfg.Joins, err = serve.InheritedJoins(f.joinFD); err != nil {
			return err
		}
		cfg.Join = func(d *delve.DAP) serve.Joiner { return sessions.Join(d, sessionOptions("", f.config)) }
	}
	return serve.Serve(cfg, conn)
}

// multiServer says how a session's process is started: with the flags that
// matter to it. Its log goes to where the server's goes.
func multiServer(c *cobra.Command, f *dapFlags) (*serve.Multi, error) {
	value := func(name string) string { return "--" + name + "=" + c.Flag(name).Value.String() }
	args := []string{"dap", value("log"), value("log-output"), value("backend"), value("check-go-version"), value("disable-aslr"), value("clew-config")}
	m := &serve.Multi{}
	if dest := c.Flag("log-dest").Value.String(); dest != "" {
		if fd, err := strconv.Atoi(dest); err == nil {
			m.Log, m.LogFD = os.NewFile(uintptr(fd), "log"), fd
		} else if m.Log, err = os.OpenFile(dest, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644); err != nil {
			return nil, fmt.Errorf("log of the sessions: %w", err)
		} else {
			m.LogFD = 3
		}
		args = append(args, "--log-dest="+strconv.Itoa(m.LogFD))
	}
	m.Command = func(session, joins int) []string {
		return append(args[:len(args):len(args)], "--session-fd="+strconv.Itoa(session), "--join-fd="+strconv.Itoa(joins))
	}
	return m, nil
}

// warnOfIgnored warns of flags that Delve's dap command ignores, in its words.
func warnOfIgnored(c *cobra.Command, args []string) {
	warn := func(is bool, text string) {
		if is {
			fmt.Fprintf(os.Stderr, "Warning: %s\n", text)
		}
	}
	value := func(name string) string { return c.Flag(name).Value.String() }
	const request = "; specify via launch/attach request instead"
	warn(c.Flag("headless").Changed, "dap mode is always headless")
	warn(value("accept-multiclient") == "true", "accept-multiclient mode not supported with dap")
	warn(value("init") != "", "init file ignored with dap")
	warn(value("backend") != "default", "backend ignored with dap"+request)
	warn(value("build-flags") != "", "build flags ignored with dap"+request)
	warn(value("wd") != "", "working directory ignored with dap: specify via launch request instead")
	delveArgs := len(args)
	if dash := c.ArgsLenAtDash(); dash >= 0 {
		delveArgs = dash
	}
	warn(delveArgs > 0, "debug arguments ignored with dap"+request)
	warn(len(args) > delveArgs, "program flags ignored with dap"+request)
}

// dapWalkTimeout bounds one round trip to a plugin in a debug session, where an
// editor waits.
const dapWalkTimeout = time.Second

// dapStrategies are the strategies of debug sessions, with the configuration file
// at that path.
type dapStrategies struct{ configPath string }

// Check implements [debuggee.StrategySource]. A configuration file that is wrong is no
// fault of the session's.
func (d dapStrategies) Check(s debuggee.StrategyConfig) error {
	if err := pluginhost.CheckThirdParties(s.Plugins, builtinNames()); err != nil {
		return err
	}
	c, err := loadConfig(d.configPath)
	if err != nil {
		return nil
	}
	if _, err := c.rankedFor(s); err != nil {
		return fmt.Errorf("strategies: %w", err)
	}
	return nil
}

// Open implements [debuggee.StrategySource].
func (d dapStrategies) Open(s debuggee.StrategyConfig) (*debuggee.Strategies, error) {
	c, err := loadConfig(d.configPath)
	if err != nil {
		return nil, err
	}
	plugins, err := c.rankedFor(s)
	if err != nil {
		return nil, err
	}
	opened, err := c.open(plugins, dapWalkTimeout, func(text string) { delvelog.DAP("%s", text) })
	if err != nil {
		return nil, err
	}
	return &debuggee.Strategies{Order: opened.order, Health: opened.host.Health, Close: opened.close}, nil
}
