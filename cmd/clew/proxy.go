package main

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/proxy"
)

// proxyFlags are the flags of clew proxy.
type proxyFlags struct {
	config   string
	listen   string
	sameUser bool
	log      bool
	logDest  string
}

func proxyCommand() *cobra.Command {
	var f proxyFlags
	c := &cobra.Command{
		Use:   "proxy [--listen ADDR] UPSTREAM",
		Short: "Show clew's stacks of a program behind a running Delve server.",
		Long: `Passes connections on to a Delve server that already runs, here or on another machine,
and shows clew's stacks of its program. UPSTREAM is its address, host:port or unix:PATH.

Clients connect to the proxy instead: "dlv connect", and editors (the Debug
Adapter Protocol; attach with mode "remote"). In front of a headless server
with --accept-multiclient any number of them can connect, and all see clew's stacks. A
headless server without that, and "dlv dap", take one client: "dlv connect" sees
clew's stacks there too, editors see Delve's own, and a line in the debug
console says so.

The first line of standard output is "clew proxy listening at: ADDR". The proxy
ends when the server is gone; clients that still wait for an answer get an error.

It listens on this machine only (--listen says where), for the user that runs it.
On any other address, everybody who can connect controls the program.

Exit codes: 0 the server has ended, 1 failed, 2 wrong usage.`,
		Example: `  dlv exec ./server --headless --accept-multiclient --listen 127.0.0.1:4711
  clew proxy --listen 127.0.0.1:4712 127.0.0.1:4711
  dlv connect 127.0.0.1:4712`,
		Args: wantArgs(1, 1, "one address, of a Delve server"),
		RunE: func(c *cobra.Command, args []string) error { return runProxy(c, &f, args[0]) },
	}
	fl := c.Flags()
	configFlag(c, &f.config)
	fl.StringVarP(&f.listen, "listen", "l", "127.0.0.1:0", "where clients connect: host:port, or unix:PATH")
	fl.BoolVar(&f.sameUser, "only-same-user", true, "take only clients of the user that runs the proxy")
	fl.BoolVar(&f.log, "log", false, "log the proxy's work")
	fl.StringVar(&f.logDest, "log-dest", "", "write the log to this file or file descriptor (default: standard error)")
	return c
}

func runProxy(c *cobra.Command, f *proxyFlags, upstream string) error {
	logged := ""
	if f.log {
		logged = "dap,rpc"
	}
	if err := delvelog.Setup(f.log, logged, f.logDest); err != nil {
		return usageErrorf("%v", err)
	}
	defer delvelog.Close()
	warn := func(format string, a ...any) { tell(c.ErrOrStderr(), format, a...) }
	cfg := proxy.Config{
		Upstream: upstream, Listen: f.listen, AnyUser: !f.sameUser,
		Strategies: dapStrategies{f.config},
		Announce: func(addr net.Addr) {
			if tcp, ok := addr.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
				warn("listening at an address that others can reach: whoever connects controls the program (without --listen, only this machine can)")
			}
			fmt.Fprintf(c.OutOrStdout(), "clew proxy listening at: %s\n", addr)
		},
		Log: delvelog.DAP, Warn: warn,
	}
	config, err := loadConfig(f.config)
	if err != nil {
		return err
	}
	cfg.DebugFolders, cfg.Patience, cfg.MaxMessage = config.DebugFolders, time.Duration(config.StackTimeout), int(config.MaxMessage)
	err = proxy.Run(c.Context(), cfg)
	if gone, ok := errors.AsType[*proxy.GoneError](err); ok {
		warn("%v", gone)
		return nil
	}
	if errors.Is(err, errInterrupted) {
		return nil
	}
	return failf("%v", err)
}
