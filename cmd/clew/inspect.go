package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/plugins/dwarfcfi"
	"github.com/clewdbg/clew/plugins/sframe"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/inspect"
)

// inspections are the formats that clew can show, best ranked first (R2).
var inspections = []inspect.Format{dwarfcfi.Inspection, sframe.Inspection}

// inspectFlags are the flags of clew inspect.
type inspectFlags struct {
	config string
	table  bool
	lookup string
	format string
}

func inspectCommand() *cobra.Command {
	var f inspectFlags
	c := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show the unwind information that a file has.",
		Long: `Says which unwind information an ELF file has, how much of its code that
covers, and what of it cannot be used. What lies in a separate debug file counts.

With --table every row is shown, as equations: where the caller's frame (CFA),
return address and registers are, for every address from the row's start up to
its end. With --lookup it is the row for one address, of every format that has
one. Addresses are as in the file. With --format json each row is a line.

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
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(decodeFormats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func runInspect(c *cobra.Command, f *inspectFlags, path string) error {
	if !known(decodeFormats, f.format) {
		return usageErrorf("unknown format %q; known: %v", f.format, decodeFormats)
	}
	if f.table && f.lookup != "" {
		return usageErrorf("give --table or --lookup, not both")
	}
	var at uint64
	if f.lookup != "" {
		var err error
		if at, err = strconv.ParseUint(f.lookup, 0, 64); err != nil {
			return usageErrorf("--lookup %q is no address (0x... or decimal)", f.lookup)
		}
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
	i.out, i.json = out, f.format == "json"
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
		return failf("write what was inspected: %v", err)
	}
	problems := i.problems()
	for _, p := range i.file.Problems() { // of other files: no failure
		fmt.Fprintf(c.ErrOrStderr(), "clew: inspect %s: %v\n", path, p)
	}
	for _, p := range problems {
		fmt.Fprintf(c.ErrOrStderr(), "clew: inspect %s: %s\n", path, p)
	}
	if !found {
		return failf("inspect %s: no format has a row for %#x; see clew inspect %s for what there is", path, at, path)
	}
	if len(problems) > 0 {
		return exitWith(exitFailed)
	}
	return nil
}

// inspected is an open file.
type inspected struct {
	path   string
	file   *symbols.File
	image  inspect.Image
	code   unwind.RangeSet
	tables []formatTables
	json   bool
	out    io.Writer
}

// formatTables are what one format has in it.
type formatTables struct {
	name string
	*inspect.Tables
}

func openInspected(path string, debugFolders []string) (*inspected, error) {
	if debugFolders == nil {
		debugFolders = symbols.DefaultDebugFolders
	}
	known, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", path, err)
	}
	f, err := symbols.OpenWithDebug(path, symbols.DebugSearch{Known: known, Beside: filepath.Dir(path), Folders: debugFolders})
	switch {
	case err != nil:
		return nil, fmt.Errorf("inspect: %w; only ELF files can be inspected", err)
	case f.Relocatable():
		return nil, fmt.Errorf("inspect %s: it is not linked, and addresses in it mean nothing yet: link it first", path)
	case f.Arch() == unwind.ArchUnknown:
		return nil, fmt.Errorf("inspect %s: machine %s is not known", path, f.Machine())
	}
	i := &inspected{path: path, file: f, code: rangeSet(f.CodeRanges())}
	i.image = inspect.Image{Arch: f.Arch(), Order: f.Order(), Path: path, Image: unwind.Image{Path: path, BuildID: f.BuildID(), Executable: rangeSet(f.Executable())}}
	for _, format := range inspections {
		image := i.image
		for _, name := range format.Sections {
			if c, ok := f.Section(name); ok {
				s := unwind.Section{Name: name, Data: c.Data}
				if c.Loaded {
					s.Addr = c.Vaddr
				}
				image.Sections = append(image.Sections, s)
			}
		}
		if t := format.Open(&image); t != nil {
			i.tables = append(i.tables, formatTables{format.Name, t})
		}
	}
	return i, nil
}

func rangeSet(ranges []symbols.Range) unwind.RangeSet {
	var out []unwind.Range
	for _, r := range ranges {
		out = append(out, unwind.Range(r))
	}
	return unwind.NewRangeSet(out...)
}

// problems says what of the unwind information cannot be used.
func (i *inspected) problems() (out []string) {
	for _, t := range i.tables {
		for _, p := range t.Problems {
			out = append(out, t.name+": "+p)
		}
	}
	return out
}

// summary says what there is of each format.
func (i *inspected) summary() error {
	report := inspect.Report{File: i.path, ImageReport: inspect.ImageReport{Arch: i.image.Arch.String()}}
	for _, t := range i.tables {
		report.Formats = append(report.Formats, inspect.NewFormatReport(t.name, t.Tables, i.code))
	}
	if i.json {
		return i.line(report)
	}
	fmt.Fprintf(i.out, "%s: %s, %d bytes of code\n", i.path, i.image.Arch, i.code.Size())
	if len(report.Formats) == 0 {
		_, err := fmt.Fprintln(i.out, "no unwind information")
		return err
	}
	w := tabwriter.NewWriter(i.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "format\tversion\tfunctions\trows\tcovered\tproblems")
	for _, f := range report.Formats {
		version, share := f.Version, 0.0
		if version == "" {
			version = "-"
		}
		if f.ExecutableBytes > 0 {
			share = 100 * float64(f.CoveredBytes) / float64(f.ExecutableBytes)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%.1f %%\t%d\n", f.Format, version, f.Functions, f.Rows, share, len(f.Problems))
	}
	return w.Flush()
}

// table shows every row.
func (i *inspected) table() error {
	for _, t := range i.tables {
		last := ""
		for row := range t.Rows {
			if err := i.row(t.name, &row, &last); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookup shows the rows for one address.
func (i *inspected) lookup(at uint64) (found bool, err error) {
	for _, t := range i.tables {
		row, ok := t.Lookup(at)
		if !ok {
			continue
		}
		found = true
		last := ""
		if err := i.row(t.name, &row, &last); err != nil {
			return true, err
		}
	}
	return found, nil
}

// row shows a row. In text, rows of one function come below its name.
func (i *inspected) row(format string, row *inspect.Row, last *string) error {
	function := ""
	if b, ok := i.file.FunctionBounds(row.Start); ok {
		function = b.Name
	}
	if i.json {
		return i.line(inspect.NewRowReport(format, i.image.Arch, function, row))
	}
	if title := format + " " + function; title != *last {
		*last = title
		if _, err := fmt.Fprintf(i.out, "%s:\n", strings.TrimSpace(title)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(i.out, "  %#x-%#x  %s\n", row.Start, row.End, rowText(row))
	return err
}

// rowText writes a row's rules, and what else there is to it.
func rowText(row *inspect.Row) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+"="+value)
		}
	}
	add("cfa", row.CFA)
	add("ra", row.RA)
	add("fp", row.FP)
	for _, s := range row.Saved {
		add(s.Register, s.Rule)
	}
	text := strings.Join(parts, "; ")
	for _, f := range row.Flags {
		text += " " + f
	}
	for _, s := range []struct{ name, value string }{{"encoding", row.Encoding}, {"see", row.Delegate}, {"expression", row.Expression}} {
		if s.value != "" {
			text += " " + s.name + " " + s.value
		}
	}
	return strings.TrimSpace(text)
}

// line writes a value as one line of JSON.
func (i *inspected) line(v any) error {
	enc := json.NewEncoder(i.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
