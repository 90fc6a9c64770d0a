package export

import (
	"fmt"
	"io"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/unwind"
)

// Format is a form that a [Set] is written in: a row of formats, and a file with
// what writes it. Nothing else knows which formats there are.
type Format struct {
	Name   string // as users name it
	About  string // for the list of them
	Ending string // what files of it are called by

	// Binary: it is no text, and not for a terminal.
	Binary bool
	// Grouped: where a user does not say how, a listing has one of each group of equal stacks.
	Grouped bool
	// Bare: it has no more of a frame than addresses of code and names, so that stacks which are
	// alike may share their frames. A listing in groups may be so where its stacks one by one are not.
	Bare, BareInGroups bool
	// Memory: it needs the memory that was read for the stacks, which is kept only where asked for.
	Memory bool
	// Addresses writes one stack of which nothing but its addresses was kept; nil where a format
	// has more of it.
	Addresses func(path string, arch unwind.Arch, s *unwind.Stack, a *Addresses, images *imagemap.ImageMap) error
	// WallClock writes many listings of one process as one profile; nil where it cannot.
	WallClock func(*WallClock, io.Writer, int) error

	// write writes one piece of text or data. A format of several files has the other two
	// instead: to a path, and for a reader who writes them himself.
	write     func(*Set, io.Writer) error
	writePath func(s *Set, path string) error
	files     func(s *Set, name string) ([]File, error)
}

var formats = []Format{
	{Name: "text", About: "a table, for people", Ending: ".txt", Grouped: true, BareInGroups: true, write: (*Set).text},
	{Name: "json", About: "all that is known, for scripts", Ending: ".json", write: (*Set).json},
	{Name: "cbf", About: "needs -o: x.cbf and its image map x.cif, or a folder for several stacks", Ending: cbfEnding, Bare: true, Addresses: WriteAddresses, writePath: (*Set).cbf, files: (*Set).cbfFiles},
	{Name: "swift", About: "one JSON envelope a line", Ending: ".swift.json", Bare: true, write: (*Set).swift},
	{Name: "pprof", About: "one profile, for go tool pprof", Ending: ".pb.gz", Binary: true, Grouped: true, Bare: true, WallClock: (*WallClock).pprof, write: (*Set).pprof},
	{Name: "otlp", About: "one profile, for OpenTelemetry", Ending: ".otlp.pb", Binary: true, Grouped: true, Bare: true, WallClock: (*WallClock).otlp, write: (*Set).otlp},
	{Name: "snapshot", About: "for clew unwind, and to report a wrong stack; it holds the stack memory that was read", Ending: ".snapshot.json", Memory: true, write: (*Set).snapshot},
}

// Several says that it is more than one file, so that it needs a path.
func (f *Format) Several() bool { return f.write == nil }

// FormatNames lists the formats.
func FormatNames() []string {
	return namesOf(func(*Format) bool { return true })
}

// FormatsThat lists formats in a sentence: "pprof or otlp".
func FormatsThat(are func(*Format) bool) string {
	names := namesOf(are)
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func namesOf(are func(*Format) bool) (out []string) {
	for i := range formats {
		if are(&formats[i]) {
			out = append(out, formats[i].Name)
		}
	}
	return out
}

// FormatHelp is a line for each format.
func FormatHelp() string {
	var b strings.Builder
	for i := range formats {
		fmt.Fprintf(&b, "  %-9s %s\n", formats[i].Name, formats[i].About)
	}
	return b.String()
}

// FormatNamed finds a format; the error is a [*FormatError].
func FormatNamed(name string) (*Format, error) {
	for i := range formats {
		if formats[i].Name == name {
			return &formats[i], nil
		}
	}
	return nil, &FormatError{name}
}

// FormatOf returns the name of the format that a file's ending stands for, "" if none. The
// longest ending counts: x.swift.json is swift.
func FormatOf(path string) string {
	best := &Format{}
	for i := range formats {
		if f := &formats[i]; strings.HasSuffix(path, f.Ending) && len(f.Ending) > len(best.Ending) {
			best = f
		}
	}
	return best.Name
}

// FormatError says that there is no such format.
type FormatError struct{ Format string }

// Error names the formats that there are.
func (e *FormatError) Error() string {
	return fmt.Sprintf("unknown format %q; known: %s", e.Format, strings.Join(FormatNames(), ", "))
}
