// Command clew is Delve with a stack you can trust: everything dlv does, and
// stacks of Go programs with native code that say how each frame was found.
package main

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	_ "github.com/clewdbg/clew/cmd/clew/early" // takes over processes that only wait
	"github.com/clewdbg/clew/internal/crashguard"
	"github.com/clewdbg/clew/server/debuginfod"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/executable"
)

func main() { os.Exit(run(os.Args[1:])) }

// run dispatches. The internal commands come first and load nothing: a
// plugin starts within milliseconds.
func run(args []string) int {
	if filepath.Base(os.Args[0]) == debuginfod.ProgramName {
		return debuginfod.Find(args, os.Stdout, os.Stderr)
	}
	collectLate()
	if len(args) > 0 {
		switch args[0] {
		case "plugin":
			return servePlugin(args[1:])
		case crashguard.Command:
			if len(args) > 1 && args[1] == crashguard.WorkStage {
				return takeCrash(args[1:])
			}
		case loadCommand:
			return loadExecutable(args[1:])
		case demoProgram:
			runDemoProgram()
			return exitDone
		}
	}
	executable.Loader = loaderCommand
	if err := checkAddressSpace(); err != nil {
		tell(os.Stderr, "%v", err)
		return exitFailed
	}
	if err := debuginfod.StandIn(); err != nil {
		tell(os.Stderr, "Delve may wait for debuginfod servers: %v", err)
	}
	root, err := commandTree()
	if err != nil {
		tell(os.Stderr, "%v", err)
		return exitFailed
	}
	if !isClewCommand(root, args) {
		// Delve's commands end the process themselves when they fail. Flags of theirs that are wrong end it
		// with 0, as dlv does; a command that does not exist is wrong usage.
		if delve.RunCommandLine(root, args); unknownCommand(root, args) {
			return exitUsage
		}
		return exitDone
	}
	ctx, stop := untilInterrupted()
	defer stop()
	// When a reader goes away (head), clew cleans up like after any error. Notify and not Ignore, which programs that we start would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	root.SetArgs(args)
	code, err := exitCode(root.ExecuteContext(ctx))
	if readerGone(err) {
		return exitDone
	}
	if err != nil {
		tell(os.Stderr, "%v", err)
	}
	return code
}

// readerGone reports whether the reader of a command's output has closed it: "clew stack --pid 4711 | head" is no failure.
func readerGone(err error) bool {
	return err != nil && (errors.Is(err, syscall.EPIPE) || strings.Contains(err.Error(), "write "+os.Stdout.Name()+": "+syscall.EPIPE.Error()))
}

// ownCommands are those that Delve does not have; the build tag manpages adds one.
var ownCommands = []func() *cobra.Command{demoCommand, stackCommand, diffCommand, unwindCommand, decodeCommand, encodeCommand, inspectCommand, proxyCommand, pluginsCommand, crashCommand, crashMonitorCommand}

// commandTree is clew's command line: Delve's commands with clew's stacks, and clew's own
// beside them, so that help and completion know all of them.
func commandTree() (*cobra.Command, error) {
	root := delve.CommandTree()
	root.Use = "clew"
	root.Short = "Delve with a stack you can trust."
	root.Long = "clew is Delve with a stack you can trust: every dlv command, and stacks of Go programs\n" +
		"with native code that say for each frame how it was found and how far to trust it.\n\n" + strings.ReplaceAll(root.Long, "`dlv ", "`clew ")
	root.AddGroup(&cobra.Group{ID: groupID, Title: "Clew's own commands:"})
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return errors.New(flagProblem(c, err)) })
	for _, command := range ownCommands {
		c := command()
		setUsage(c)
		root.AddCommand(c)
	}
	takeOverDAP(root)
	completeDelves(root)
	return root, errors.Join(takeOverSessions(root), takeOverVersion(root))
}

func isClewCommand(root *cobra.Command, args []string) bool {
	return len(args) > 0 && slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.GroupID == groupID && c.Name() == args[0] })
}

func unknownCommand(root *cobra.Command, args []string) bool {
	_, _, err := root.Find(args)
	return err != nil
}

// wantArgs refuses a wrong number of arguments as wrong usage.
func wantArgs(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usageErrorf("%s takes %s; see %s --help", c.CommandPath(), what, c.CommandPath())
		}
		return nil
	}
}
