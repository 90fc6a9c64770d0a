package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/internal/unwind/inspect"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// inspected is an open file.
type inspected struct {
	path   string
	images []*inspectedImage // more than one in universal Mach-O files
	json   bool
	names  names.Style // in text
	out    io.Writer
}

// inspectedImage is the image of one architecture.
type inspectedImage struct {
	file   *symbols.File
	arch   unwind.Arch
	code   unwind.RangeSet
	tables []formatTables
}

// formatTables are the tables that it has in one format.
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
	files, err := symbols.Slices(path, symbols.DebugSearch{Known: known, Beside: filepath.Dir(path), Folders: debugFolders})
	if err != nil {
		hint := "; only ELF and Mach-O files can be inspected"
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			hint = ""
		}
		return nil, fmt.Errorf("inspect: %w%s", err, hint)
	}
	i := &inspected{path: path}
	for _, f := range files {
		switch {
		case f.Relocatable():
			return nil, fmt.Errorf("inspect %s: it is not linked, and addresses in it mean nothing yet: link it first", path)
		case f.Arch() == unwind.ArchUnknown:
			return nil, fmt.Errorf("inspect %s: machine %s is not known", path, f.Machine())
		}
		i.images = append(i.images, openImage(path, f))
	}
	return i, nil
}

func openImage(path string, f *symbols.File) *inspectedImage {
	i := &inspectedImage{file: f, arch: f.Arch(), code: unwind.NewRangeSet(f.CodeRanges()...)}
	described := inspect.Image{Arch: i.arch, Order: f.Order(), Path: path, Image: unwind.Image{
		Base: f.Base(), Path: path, BuildID: f.BuildID(), Executable: unwind.NewRangeSet(f.Executable()...),
	}}
	for _, b := range builtins {
		format := b.inspection
		if format == nil {
			continue
		}
		image := described
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
	return i
}

// problems lists the parts of the unwind information that cannot be used, and the
// faults of files that belong to this one.
func (i *inspected) problems() (own []string, others []error) {
	for _, image := range i.images {
		for _, err := range image.file.Problems() {
			if bad := new(symbols.SectionError); errors.As(err, &bad) {
				own = append(own, bad.Detail())
			} else {
				others = append(others, err)
			}
		}
		for _, t := range image.tables {
			for _, p := range t.Problems {
				if len(i.images) > 1 {
					p = image.arch.String() + ": " + p
				}
				own = append(own, t.name+": "+p)
			}
		}
	}
	return own, others
}

// summary counts the entries of each format.
func (i *inspected) summary() error {
	report := inspect.Report{File: i.path}
	for _, image := range i.images {
		report.Images = append(report.Images, image.report())
	}
	if len(report.Images) == 1 {
		report.ImageReport, report.Images = report.Images[0], nil
	}
	if i.json {
		return i.line(report)
	}
	for _, image := range i.images {
		if err := i.text(image); err != nil {
			return err
		}
	}
	return nil
}

func (i *inspectedImage) report() inspect.ImageReport {
	out := inspect.ImageReport{Arch: i.arch.String(), Formats: []inspect.FormatReport{}}
	for _, t := range i.tables {
		out.Formats = append(out.Formats, inspect.NewFormatReport(t.name, t.Tables, i.code))
	}
	return out
}

// text writes the summary of an image for people.
func (i *inspected) text(image *inspectedImage) error {
	fmt.Fprintf(i.out, "%s: %s, %d bytes of code\n", printable.Text(i.path), image.arch, image.code.Size())
	formats := image.report().Formats
	if len(formats) == 0 {
		_, err := fmt.Fprintln(i.out, "no unwind information")
		return err
	}
	w := tabwriter.NewWriter(i.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "format\tversion\tfunctions\trows\tcovered\tproblems")
	for _, f := range formats {
		version, share := cmp.Or(f.Version, "-"), 0.0
		if f.ExecutableBytes > 0 {
			share = 100 * float64(f.CoveredBytes) / float64(f.ExecutableBytes)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%.1f %%\t%d\n", f.Format, version, f.Functions, f.Rows, share, len(f.Problems))
	}
	return w.Flush()
}

// table shows every row.
func (i *inspected) table() error {
	for _, image := range i.images {
		for _, t := range image.tables {
			last := ""
			for row := range t.Rows {
				if err := i.row(image, t.name, &row, &last); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// lookup shows the rows for one address.
func (i *inspected) lookup(at uint64) (found bool, err error) {
	for _, image := range i.images {
		for _, t := range image.tables {
			row, ok := t.Lookup(at)
			if !ok {
				continue
			}
			found = true
			last := ""
			if err := i.row(image, t.name, &row, &last); err != nil {
				return true, err
			}
		}
	}
	return found, nil
}

// row shows a row. In text, rows of one function come below its name.
func (i *inspected) row(image *inspectedImage, format string, row *inspect.Row, last *string) error {
	function := ""
	if b, ok := image.file.FunctionBounds(row.Start); ok {
		function = b.Name
	}
	if i.json {
		return i.line(inspect.NewRowReport(format, image.arch, function, row))
	}
	title := strings.TrimSpace(format + " " + printable.Text(i.names.Show(function)))
	if len(i.images) > 1 {
		title = image.arch.String() + " " + title
	}
	if title != *last {
		*last = title
		if _, err := fmt.Fprintf(i.out, "%s:\n", title); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(i.out, "  %#x-%#x  %s\n", row.Start, row.End, rowText(row))
	return err
}

// rowText writes a row's rules and remarks.
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
		add(s.Register, s.Value)
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
	text, err := stackjson.Marshal(v)
	if err == nil {
		_, err = i.out.Write(append(text, '\n'))
	}
	return err
}
