package main

import (
	"bufio"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/names"
)

// inspectFlags are the flags of clew inspect.
type inspectFlags struct {
	config string
	table  bool
	lookup string
	format string
	names  names.Style
}

func inspectCommand() *cobra.Command {
	var f inspectFlags
	c := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show a file's unwind information.",
		Long: `Says which unwind information an ELF or Mach-O file has, how much of its code
that covers, and which parts cannot be used. Information in a separate debug file
counts too. Of a universal Mach-O file every architecture is shown.

--table shows every row, as equations: where the caller's frame (CFA), return
address and registers are, for every address from the row's start up to its end.
--lookup shows the row for one address, of every format that has one. Addresses are
as in the file. With --format json each row is a line.

Exit codes: 0 done, 1 failed, something cannot be used, or no row for the address
of --lookup, 2 wrong usage.`,
		Example: "  clew inspect libc.so.6\n  clew inspect --table --format json ./server\n  clew inspect --lookup 0x1139 ./server",
		Args:    wantArgs(1, 1, "one FILE"),
		RunE:    func(c *cobra.Command, args []string) error { return runInspect(c, &f, args[0]) },
	}
	fl := c.Flags()
	configFlag(c, &f.config)
	fl.BoolVar(&f.table, "table", false, "show every row")
	fl.StringVar(&f.lookup, "lookup", "", "show the row for this address (0x... or decimal)")
	fl.StringVar(&f.format, "format", "text", "text or json")
	namesFlag(c, &f.names)
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(decodeFormats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// address checks the flags, and returns the address to look up.
func (f *inspectFlags) address() (at uint64, err error) {
	switch {
	case !slices.Contains(decodeFormats, f.format):
		return 0, unknown("format", f.format, decodeFormats)
	case f.lookup == "":
		return 0, nil
	case f.table:
		return 0, usageErrorf("use --table or --lookup, not both")
	}
	if at, err = strconv.ParseUint(f.lookup, 0, 64); err != nil {
		err = usageErrorf("--lookup %q is no address (0x... or decimal)", f.lookup)
	}
	return at, err
}

func runInspect(c *cobra.Command, f *inspectFlags, path string) error {
	at, err := f.address()
	if err != nil {
		return err
	}
	cfg, err := loadConfig(f.config)
	if err != nil {
		return err
	}
	i, err := openInspected(path, cfg.DebugFolders)
	if err != nil {
		return failf("%v", err)
	}
	out := bufio.NewWriter(c.OutOrStdout())
	i.out, i.json, i.names = out, f.format == "json", f.names.On(export.Terminal(c.OutOrStdout()))
	found := true
	switch {
	case f.lookup != "":
		found, err = i.lookup(at)
	case f.table:
		err = i.table()
	default:
		err = i.summary()
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return failf("write the output: %v", err)
	}
	problems, others := i.problems()
	for _, p := range others { // of other files: no failure
		tell(c.ErrOrStderr(), "inspect %s: %v", path, p)
	}
	for _, p := range problems {
		tell(c.ErrOrStderr(), "inspect %s: %s", path, p)
	}
	if !found {
		return failf("inspect %s: no format has a row for %#x; clew inspect %s lists what there is", path, at, path)
	}
	if len(problems) > 0 {
		return exitWith(exitFailed)
	}
	return nil
}
