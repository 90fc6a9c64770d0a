package terminal

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-delve/delve/pkg/config"
	"github.com/go-delve/delve/pkg/logflags"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/debugger"
	"github.com/go-delve/delve/service/rpc2"
	"golang.org/x/term"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/delve/interpose"
	"github.com/clewdbg/clew/server/lifeline"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/server/stop"
)

// target is the program of a session.
type target struct {
	kind     debugger.ExecuteKind
	process  []string // the executable and its arguments
	packages []string // as Delve's restart builds them again
	pid      int
	core     string
	attach   bool // the terminal asks at the end whether to kill the process
}

// session is one debug session, with the order of events, the messages and the exit
// codes of dlv's commands.
type session struct {
	flags   flags
	target  target
	options Options
}

// run returns the exit code.
func (s *session) run() int {
	f := &s.flags
	if err := delvelog.Setup(f.log, f.logOutput, f.logDest); err != nil {
		return complain("%v\n", err)
	}
	defer delvelog.Close()
	delvelog.ConfigError()
	redirects, code := s.check()
	if code != 0 {
		return code
	}
	listener, client, err := s.listen()
	if err != nil {
		fmt.Printf("couldn't start listener: %s\n", err)
		return 1
	}
	defer listener.Close()
	if f.apiVersion != 1 && f.apiVersion != 2 {
		fmt.Printf("Unknown API version: %d\n", f.apiVersion)
		return 1
	}
	conf := delveConfig()
	p := &port{editors: s.options.Editors, config: &service.Config{
		Listener: listener, ProcessArgs: s.target.process, AcceptMulti: f.acceptMulti, APIVersion: 2,
		CheckLocalConnUser: f.sameUser && f.headless, Debugger: s.debuggerConfig(conf, redirects),
	}}
	if p.config.Debugger.Foreground {
		logflags.WriteAPIListeningMessage(listener.Addr())
	}
	var signals <-chan os.Signal
	if f.headless {
		signals = delve.EndSignals() // one that comes while the program is started ends it, too
	}
	guard := lifeline.NewGuard(s.options.Lifeline, nil)
	interpose.UseGuard(guard)
	if err := p.start(); err != nil {
		guard.Release()
		return s.notStarted(err)
	}
	srv := s.serverOf(p)
	srv.flavor = func() native.Syntax {
		if set := conf.DisassembleFlavor; set != nil && *set == "intel" { // the terminal's command "config" changes it
			return native.Intel
		}
		return s.options.Disassembly
	}
	defer srv.close()
	srv.attach()
	p.server = srv
	go p.accept()
	if !f.headless {
		srv.tellDeath(os.Stderr)
		front := lifeline.BehindFront()
		go func() {
			<-front
			_ = p.close() // nobody is there to be told
			os.Exit(1)
		}()
		code := converse(client, conf, f.initFile, s.target.attach)
		select {
		case <-front: // it has ended the conversation, too: nothing may end this process before it has let go of the program
			select {}
		default:
			return code
		}
	}
	if f.continueOnStart {
		resumeOnce(listener.Addr())
	}
	select {
	case <-signals:
	case <-p.ended:
	}
	if err := p.close(); err != nil {
		fmt.Println(err)
	}
	p.flush()
	return 0
}

// serverOf returns what answers requests about the program.
func (s *session) serverOf(p *port) *server {
	image := ""
	if len(s.target.process) > 0 {
		image = s.target.process[0]
	}
	return s.options.newServer(p.dbg, p.config, s.names(), s.target.core, image)
}

// newServer returns what answers requests about a program. core is "" for a process; image is the core file's.
func (o *Options) newServer(dbg *debugger.Debugger, config *service.Config, style names.Style, core, image string) *server {
	srv := &server{
		dbg: dbg, process: dbg, rpc: rpc2.NewServer(config, dbg),
		stacks: stop.NewStacks(o.Stacks, interpose.Moment), debugFolders: o.Editors.DebugFolders, names: style,
		plainSteps: o.PlainSteps, core: core, image: image, flavor: func() native.Syntax { return o.Disassembly },
	}
	srv.recorded.Recorded, srv.recorded.TraceDirectory = dbg.Recorded()
	srv.delve, srv.open = delvesOwn{srv.rpc, dbg}, srv.openHere
	return srv
}

// names returns how names of functions are shown: by default, short to the user of this
// terminal, whole to other clients.
func (s *session) names() names.Style {
	return s.options.Names.On(!s.flags.headless && term.IsTerminal(int(os.Stdout.Fd())))
}

// complain writes to standard error and returns the exit code.
func complain(format string, args ...any) int {
	fmt.Fprintf(os.Stderr, format, args...)
	return 1
}

// check refuses combinations of flags, and warns of those that are ignored. It
// returns where the program's standard files go.
func (s *session) check() (redirects [3]string, code int) {
	f := &s.flags
	if f.headless {
		code = f.checkHeadless()
	} else {
		code = f.checkInteractive()
	}
	if code != 0 {
		return redirects, code
	}
	if len(f.redirects) > 0 && f.tty != "" {
		return redirects, complain("Can not use -r and --tty together\n")
	}
	redirects, err := parseRedirects(f.redirects)
	if err != nil {
		return redirects, complain("%v\n", err)
	}
	return redirects, 0
}

func (f *flags) checkHeadless() int {
	if f.initFile != "" {
		fmt.Fprint(os.Stderr, "Warning: init file ignored with --headless\n")
	}
	if f.continueOnStart && !f.acceptMulti {
		return complain("Error: --continue requires --accept-multiclient\n")
	}
	return 0
}

func (f *flags) checkInteractive() int {
	if f.continueOnStart {
		return complain("Error: --continue only works with --headless; use an init file\n")
	}
	if f.acceptMulti {
		fmt.Fprint(os.Stderr, "Warning accept-multi: ignored\n")
		f.acceptMulti = false
	}
	return f.checkTerminal()
}

// checkTerminal refuses an interactive session without a terminal.
func (f *flags) checkTerminal() int {
	if f.nonTerminal {
		return 0
	}
	for _, file := range []struct {
		name string
		*os.File
	}{{"Stdin", os.Stdin}, {"Stdout", os.Stdout}, {"Stderr", os.Stderr}} {
		if file.File != nil && !term.IsTerminal(int(file.Fd())) {
			return complain("%s is not a terminal, use '-r' to specify redirects for the target process or --allow-non-terminal-interactive=true if you really want to specify a redirect for Delve\n", file.name)
		}
	}
	return 0
}

// parseRedirects reads "stdout:PATH"; without a name it is standard input's.
func parseRedirects(list []string) (out [3]string, err error) {
	names := [3]string{"stdin", "stdout", "stderr"}
	for _, path := range list {
		which := 0
		for i, name := range names {
			if rest, ok := strings.CutPrefix(path, name+":"); ok {
				which, path = i, rest
				break
			}
		}
		if out[which] != "" {
			return out, fmt.Errorf("redirect error: %s redirected twice", names[which])
		}
		out[which] = path
	}
	return out, nil
}

// listen returns the listener of a headless server, or one that has accepted the
// terminal of this process already.
func (s *session) listen() (net.Listener, net.Conn, error) {
	if !s.flags.headless {
		listener, client := service.ListenerPipe()
		return listener, client, nil
	}
	listener, err := net.Listen(network(s.flags.listen))
	return listener, nil, err
}

// network splits an address of Delve's: "unix:PATH", or one of TCP.
func network(addr string) (string, string) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return "unix", path
	}
	return "tcp", addr
}

func delveConfig() *config.Config {
	conf, err := config.LoadConfig()
	if err != nil || conf == nil {
		conf = &config.Config{} // the error was logged
	}
	return conf
}

func (s *session) debuggerConfig(conf *config.Config, redirects [3]string) debugger.Config {
	f := &s.flags
	return debugger.Config{
		AttachPid: s.target.pid, CoreFile: s.target.core, ExecuteKind: s.target.kind, Packages: s.target.packages,
		WorkingDir: f.workingDir, Backend: f.backend, Foreground: f.headless && f.tty == "", BuildFlags: f.buildFlags,
		DebugInfoDirectories: conf.DebugInfoDirectories, CheckGoVersion: f.checkGoVersion, DisableASLR: f.disableASLR,
		TTY: f.tty, Stdin: redirects[0], Stdout: proc.OutputRedirect{Path: redirects[1]}, Stderr: proc.OutputRedirect{Path: redirects[2]},
		RrDelOnDetach: f.rrCleanup,
		AttachWaitFor: f.waitFor, AttachWaitForInterval: f.waitForInterval, AttachWaitForDuration: f.waitForDuration,
	}
}

// notStarted reports why there is no program to debug.
func (s *session) notStarted(err error) int {
	if errors.Is(err, api.ErrNotExecutable) {
		switch s.target.kind {
		case debugger.ExecutingGeneratedFile:
			return complain("Can not debug non-main package\n")
		case debugger.ExecutingExistingFile:
			return complain("%s is not executable\n", s.target.process[0])
		}
	}
	return complain("%v\n", err)
}

// resumeOnce resumes the program, as a client that disconnects at once.
func resumeOnce(addr net.Addr) {
	conn, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		delvelog.DialError(addr.String(), err)
		return
	}
	_ = rpc2.NewClientFromConn(conn).Disconnect(true) // that it fails shows at the next client
}

// stacksPatience bounds a request if the configuration sets no bound: a terminal's
// user waits longer than an editor.
const stacksPatience = 30 * time.Second
