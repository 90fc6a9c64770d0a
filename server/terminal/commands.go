package terminal

import (
	"cmp"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-delve/delve/pkg/gobuild"
	"github.com/go-delve/delve/service/debugger"
	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/dap"
	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/lifeline"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/server/stop"
)

// flags are the flags of Delve's command line that a session uses.
type flags struct {
	log                              bool
	logOutput, logDest               string
	listen, initFile, buildFlags     string
	workingDir, backend, tty, output string
	headless, acceptMulti            bool
	continueOnStart, nonTerminal     bool
	checkGoVersion, sameUser         bool
	disableASLR, rrCleanup           bool
	apiVersion                       int
	redirects                        []string
	waitFor                          string
	waitForInterval, waitForDuration float64
}

// readFlags reads the flags of a command. Not every command has every flag.
func readFlags(c *cobra.Command) flags {
	text := func(name string) string {
		if f := c.Flag(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	on := func(name string) bool { return text(name) == "true" }
	number := func(name string) float64 {
		v, _ := strconv.ParseFloat(text(name), 64) // it was parsed as one already
		return v
	}
	f := flags{
		log: on("log"), logOutput: text("log-output"), logDest: text("log-dest"),
		listen: text("listen"), initFile: text("init"), buildFlags: text("build-flags"),
		workingDir: text("wd"), backend: text("backend"), tty: text("tty"), output: text("output"),
		headless: on("headless"), acceptMulti: on("accept-multiclient"),
		continueOnStart: on("continue"), nonTerminal: on("allow-non-terminal-interactive"),
		checkGoVersion: on("check-go-version"), sameUser: on("only-same-user"),
		disableASLR: on("disable-aslr"), rrCleanup: c.Flag("rr-cleanup") == nil || on("rr-cleanup"),
		apiVersion: int(number("api-version")),
		waitFor:    text("waitfor"), waitForInterval: number("waitfor-interval"), waitForDuration: number("waitfor-duration"),
	}
	f.redirects, _ = c.Flags().GetStringArray("redirect")
	return f
}

// Options are the options of every session.
type Options struct {
	Stacks  stop.StacksOptions
	Editors dap.Options // for editors that connect to a headless server
	Names   names.Style
	// PlainSteps has steps end in the glue between Go and C too.
	PlainSteps bool
	// Lifeline starts what sees to the program if this process is killed; nil for nothing.
	Lifeline func(client *os.File) (*lifeline.Line, error)
	// Disassembly is the syntax of native code.
	Disassembly native.Syntax
}

// command is one of Delve's commands that debug a program.
type command struct {
	run   func(*session, *cobra.Command, []string) int
	flags string // in addition to allFlags
	far   bool   // another process debugs the program: the command only shows its answers
}

// allFlags are those of every command.
const allFlags = "log log-output log-dest listen init build-flags wd backend headless accept-multiclient " +
	"allow-non-terminal-interactive check-go-version only-same-user disable-aslr api-version redirect"

var commands = map[string]command{
	"debug":   {built(debugger.ExecutingGeneratedFile), "tty output continue rr-cleanup", false},
	"test":    {built(debugger.ExecutingGeneratedTest), "output", false},
	"exec":    {execute, "tty continue rr-cleanup", false},
	"attach":  {attach, "continue waitfor waitfor-interval waitfor-duration", false},
	"core":    {core, "", false},
	"connect": {connect, "", true},
}

// TakeOver makes Delve's commands that debug a program do so with clew's stacks.
// Their flags, messages and exit codes stay. options is called when one of them
// runs. It returns the commands that show clew's own stacks. The error is an [*internals.Error] if Delve lacks one
// of them or of their flags.
func TakeOver(root *cobra.Command, options func() Options) (taken []*cobra.Command, err error) {
	for name, does := range commands {
		i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
		if i < 0 {
			return nil, internals.Changed(internals.EntryCommands, "no command %s", name)
		}
		c := root.Commands()[i]
		for flag := range strings.FieldsSeq(allFlags + " " + does.flags) {
			if c.Flag(flag) == nil {
				return nil, internals.Changed(internals.EntryCommands, "command %s has no flag --%s", name, flag)
			}
		}
		c.Run = func(c *cobra.Command, args []string) {
			s := &session{flags: readFlags(c), options: options()}
			os.Exit(does.run(s, c, args))
		}
		if !does.far {
			taken = append(taken, c)
		}
	}
	return taken, nil
}

// splitArgs splits Delve's arguments from the program's, which come after --.
func splitArgs(c *cobra.Command, args []string) (delves, program []string) {
	if dash := c.ArgsLenAtDash(); dash >= 0 {
		return args[:dash], args[dash:]
	}
	return args, []string{}
}

// built builds a program or a test, and debugs it.
func built(kind debugger.ExecuteKind) func(*session, *cobra.Command, []string) int {
	return func(s *session, c *cobra.Command, args []string) int { return s.built(c, args, kind) }
}

func (s *session) built(c *cobra.Command, args []string, kind debugger.ExecuteKind) int {
	packages, rest := splitArgs(c, args)
	isTest := kind == debugger.ExecutingGeneratedTest
	path, code := s.build(packages, isTest)
	if code != 0 {
		return code
	}
	defer gobuild.Remove(path)
	if isTest && s.flags.workingDir == "" {
		s.flags.workingDir = folderOf(packages)
	}
	s.target = target{kind: kind, process: append([]string{path}, rest...), packages: packages}
	return s.debug()
}

func (s *session) build(packages []string, isTest bool) (path string, code int) {
	name, build := "__debug_bin", gobuild.GoBuild
	if isTest {
		name, build = "debug.test", gobuild.GoTestBuild
	}
	if s.flags.output == "" {
		path = gobuild.DefaultDebugBinaryPath(name)
	} else {
		var err error
		if path, err = filepath.Abs(s.flags.output); err != nil {
			return "", complain("%v\n", err)
		}
	}
	if err := build(path, packages, s.flags.buildFlags); err != nil {
		if s.flags.output == "" {
			gobuild.Remove(path)
		}
		return "", complain("%v\n", err)
	}
	return path, 0
}

// folderOf is the folder of a package, in which its tests run.
func folderOf(packages []string) string {
	out, err := exec.Command("go", append([]string{"list", "--json"}, packages...)...).CombinedOutput()
	var listed struct{ Dir string }
	if err != nil || json.Unmarshal(out, &listed) != nil {
		return "."
	}
	return listed.Dir
}

func execute(s *session, _ *cobra.Command, args []string) int {
	s.target = target{kind: debugger.ExecutingExistingFile, process: args, packages: args}
	return s.debug()
}

func attach(s *session, _ *cobra.Command, args []string) int {
	s.target = target{kind: debugger.ExecutingOther, attach: true}
	if len(args) > 0 {
		var err error
		if s.target.pid, err = strconv.Atoi(args[0]); err != nil {
			return complain("Invalid pid: %s\n", args[0])
		}
		args = args[1:]
	}
	s.target.process, s.target.packages = args, args
	return s.debug()
}

func core(s *session, _ *cobra.Command, args []string) int {
	s.target = target{kind: debugger.ExecutingOther, process: []string{args[0]}, packages: args, core: args[1]}
	return s.debug()
}

// connect shows the answers of a server.
func connect(s *session, _ *cobra.Command, args []string) (code int) {
	f := &s.flags
	if err := delvelog.Setup(f.log, f.logOutput, f.logDest); err != nil {
		return complain("%v\n", err)
	}
	defer delvelog.Close()
	delvelog.ConfigError()
	if args[0] == "" {
		return complain("An empty address was provided. You must provide an address as the first argument.\n")
	}
	protocol, addr := network(args[0])
	conn, err := net.Dial(protocol, addr)
	if err != nil {
		delvelog.DialError(args[0], err)
		return 1
	}
	defer func() {
		if r := recover(); r != nil { // Delve's terminal takes what it is told for true
			code = complain("the server at %s does not answer as a Delve server does: %v\n", args[0], r)
		}
	}()
	return converse(waitForFirst(conn), delveConfig(), f.initFile, false)
}

// debug runs the session.
func (s *session) debug() int {
	s.flags.workingDir = cmp.Or(s.flags.workingDir, ".")
	if s.options.Stacks.Patience <= 0 {
		s.options.Stacks.Patience = stacksPatience
	}
	return s.run()
}
