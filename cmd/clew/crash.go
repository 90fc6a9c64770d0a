package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/crash"
	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/crashreport"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/names"
)

func crashCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "crash",
		Short: "List, show and symbolize crash reports.",
		Long: `Reads the crash reports of programs that have package crash
(github.com/clewdbg/clew/crash) switched on. A REPORT is the folder of one, or its
report.json; without it, it is the newest in the usual folder.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknown("command", args[0], []string{"list", "show", "symbolize"})
			}
			return usageErrorf("clew crash needs a command: list, show or symbolize; see %s --help", c.CommandPath())
		},
	}
	for _, sub := range []*cobra.Command{crashShowCommand(), crashListCommand(), crashSymbolizeCommand()} {
		setUsage(sub)
		sub.GroupID = ""
		c.AddCommand(sub)
	}
	return c
}

// crashFlags are those of the commands that print a report.
type crashFlags struct {
	format, symbols, output string
	names                   names.Style
}

func (f *crashFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.format, "format", "text", "text or json")
	c.Flags().StringVarP(&f.output, "output", "o", "", "write to this file")
	namesFlag(c, &f.names)
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

func crashShowCommand() *cobra.Command {
	var f crashFlags
	c := &cobra.Command{
		Use:   "show [REPORT]",
		Short: "Print a crash report.",
		Example: `  clew crash show
  clew crash show ~/.local/state/clew/crashes/20260102-150405.000-server-4711.crash`,
		Args: wantArgs(0, 1, "one report"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.add(c)
	return c
}

func crashSymbolizeCommand() *cobra.Command {
	var f crashFlags
	c := &cobra.Command{
		Use:   "symbolize [REPORT] --symbols PLACE",
		Short: "Print a crash report with names and lines by build ID.",
		Example: `  clew crash symbolize report.crash --symbols ./debug
  clew crash symbolize report.crash --symbols debuginfod --format json -o named.json`,
		Args: wantArgs(0, 1, "one report"),
		RunE: func(c *cobra.Command, args []string) error {
			if f.symbols == "" {
				return usageErrorf("clew crash symbolize needs --symbols PLACE; see %s --help", c.CommandPath())
			}
			return f.run(c, args)
		},
	}
	f.add(c)
	symbolsFlag(c, &f.symbols, "take names and lines from this")
	return c
}

// run prints a report.
func (f *crashFlags) run(c *cobra.Command, args []string) error {
	if f.format != "text" && f.format != "json" {
		return unknown("format", f.format, []string{"text", "json"})
	}
	path, err := theReport(args)
	if err != nil {
		return failf("%v", err)
	}
	r, err := crashreport.Read(path)
	if err != nil {
		return failf("read a crash report: %v", err)
	}
	store, err := openSymbols(c.Context(), f.symbols)
	if err != nil {
		return failf("%v", err)
	}
	if store != nil {
		if err := r.Symbolize(store); err != nil {
			return failf("%s: %v", path, err)
		}
		for _, note := range store.Notes() {
			tell(c.ErrOrStderr(), "%s: note: %s", path, note)
		}
	}
	write := func(w io.Writer) error {
		if f.format == "json" {
			text, err := stackjson.Marshal(r)
			if err == nil {
				_, err = w.Write(append(text, '\n'))
			}
			return err
		}
		return r.Page(w, export.TextOptions{Color: export.Color(w), Names: f.names.On(export.Terminal(w))})
	}
	if f.output != "" {
		err = export.WriteFile(f.output, write)
	} else {
		var page bytes.Buffer
		out := c.OutOrStdout()
		if export.Terminal(out) {
			err = write(out)
		} else if err = write(&page); err == nil {
			_, err = page.WriteTo(out)
		}
	}
	if err != nil {
		return failf("%v", err)
	}
	return nil
}

// theReport is the report that is named, else the newest one.
func theReport(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	dir, all, err := reportsIn(nil)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", fmt.Errorf("there is no crash report in %s; name one", dir)
	}
	return all[0], nil
}

// reportsIn lists the reports of a folder, the usual one where none is named.
func reportsIn(args []string) (dir string, all []string, err error) {
	if len(args) > 0 {
		dir = args[0]
	} else if dir = os.Getenv("CLEW_CRASH_DIR"); dir == "" {
		if dir, err = crash.DefaultDir(); err != nil {
			return "", nil, err
		}
	}
	if all, err = crashreport.List(dir); errors.Is(err, fs.ErrNotExist) && len(args) == 0 {
		err = nil // there was no crash yet
	}
	return dir, all, err
}

func crashListCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List crash reports, the newest first.",
		Long: `Lists the crash reports in a folder, the newest first. Without DIR it is
CLEW_CRASH_DIR, else the usual folder, $XDG_STATE_HOME/clew/crashes or
~/.local/state/clew/crashes.`,
		Args: wantArgs(0, 1, "one folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return unknown("format", format, []string{"text", "json"})
			}
			dir, all, err := reportsIn(args)
			if err != nil {
				return failf("%v", err)
			}
			if len(all) == 0 {
				tell(c.ErrOrStderr(), "there is no crash report in %s", dir)
			}
			return listReports(c, all, format)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// listed is a report in a list as JSON.
type listedReport struct {
	Path    string           `json:"path"`
	Program string           `json:"program,omitempty"`
	Pid     int              `json:"pid,omitzero"`
	Crash   *stackjson.Crash `json:"crash,omitempty"`
	Error   string           `json:"error,omitempty"`
}

// listReports writes a line for each report. One that cannot be read has its reason there, and the exit code is 1.
func listReports(c *cobra.Command, all []string, format string) error {
	code := exitDone
	lines := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
	for _, path := range all {
		l := listedReport{Path: path}
		r, err := crashreport.Read(path)
		if err != nil {
			l.Error, code = err.Error(), exitFailed
		} else {
			l.Program, l.Pid, l.Crash = r.Program, r.Pid, r.Crash
		}
		if format == "json" {
			text, err := stackjson.Marshal(&l)
			if err != nil {
				return failf("%v", err)
			}
			if _, err := c.OutOrStdout().Write(append(text, '\n')); err != nil {
				return failf("%v", err)
			}
			continue
		}
		what := l.Error
		if err == nil {
			what = fmt.Sprintf("%s\t%d\t%s", printable.Text(r.Program), r.Pid, inLine(r))
		}
		fmt.Fprintf(lines, "%s\t%s\n", printable.Text(filepath.Base(path)), what)
	}
	if err := lines.Flush(); err != nil {
		return failf("%v", err)
	}
	return exitWith(code)
}

// inLine is a crash in one line: what it was, and where.
func inLine(r *crashreport.Report) string {
	text := export.CrashLine(r.Crash)
	if first, _, _ := strings.Cut(r.Crash.Message, "\n"); first != "" {
		text = printable.Text(first)
	}
	if n := r.Crash.Frame; n != nil && *n < len(r.Stacks[0].Frames) {
		if f := &r.Stacks[0].Frames[*n]; f.Function != "" {
			text += printable.Text(" in " + f.Function)
		}
	}
	return text
}
