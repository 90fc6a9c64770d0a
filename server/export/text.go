package export

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/listing"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/unwind"
)

// TextOptions choose the columns and colours of a stack's table.
type TextOptions struct {
	// Color uses the terminal's colours; see [Color].
	Color bool
	// Verbose adds to every frame the rule by which it is left.
	Verbose bool
	// Evidence adds the candidates that were not believed to stacks that are right without them, too.
	Evidence bool
	// Names says how names of functions are shown.
	Names names.Style
	// Fold shows a recursion by its first round and the number of further frames.
	Fold bool
	// SegmentName describes a stack segment by its index in [unwind.Frame]:
	// "g0 stack". May be nil.
	SegmentName func(s *unwind.Stack, segment int) string
	// Crash is what ended the program: the first stack is the one that died. nil for none.
	Crash *stackjson.Crash
	// Values are written below their frames; nil for none.
	Values func(*unwind.Stack) [][]stackjson.Value
}

// Color reports whether colours should go to w: it is a terminal, and the user has
// not set NO_COLOR (https://no-color.org).
func Color(w io.Writer) bool {
	return Terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Terminal reports whether w is a terminal.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (s *Set) text(w io.Writer) error {
	o := TextOptions{Color: Color(w), Names: s.Names.On(Terminal(w)), SegmentName: s.segmentName, Values: s.Values, Evidence: s.Evidence}
	if s.Groups != nil {
		return s.Groups.Text(w, o)
	}
	if s.Head != "" {
		if _, err := fmt.Fprintf(w, "%s\n\n", s.Head); err != nil {
			return err
		}
	}
	o.Crash = s.Crash
	return Text(w, s.Stacks, o)
}

// Text writes a table for every stack, one line a frame: how it was found and
// how far to trust it, its place and its name. Notes and candidates
// that were not believed stand below their frame. A line marks where the stack
// goes on in another segment.
//
// Names in the target are not trusted with the user's terminal:
// control characters in names are written as escapes.
func Text(w io.Writer, stacks iter.Seq[unwind.Stack], o TextOptions) error {
	t := table{TextOptions: o}
	between := ""
	for s := range stacks {
		t.out.WriteString(between)
		between = "\n"
		if t.Crash != nil {
			t.crash(t.Crash, &s)
			t.Crash = nil
		} else {
			t.stack(&s)
		}
		if _, err := t.out.WriteTo(w); err != nil {
			return err
		}
	}
	return nil
}

// maxFunctionColumn is how wide the column of functions gets, in characters. The
// names of C++ functions can be longer than any terminal is wide.
const maxFunctionColumn = 48

// The columns of a row.
const (
	colIndex = iota
	colTrust
	colStrategy
	colPC
	colFunction
	colPlace
	columns
)

type row [columns]string

var titles = row{"#", "trust", "strategy", "pc", "function", "where"}

// table writes the tables.
type table struct {
	TextOptions
	out     bytes.Buffer
	died    *stackjson.Crash // of the stack that is written, nil for any other
	doubted bool             // the stack that is written has no end, or has a guess
}

// style is a terminal's way to show text.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// trustStyles are those of frames by the weakness of their evidence.
var trustStyles = [...]style{green, yellow, red}

func (t *table) print(s style, text string) {
	if s == plain || !t.Color || text == "" {
		t.out.WriteString(text)
		return
	}
	fmt.Fprintf(&t.out, "\x1b[%sm%s\x1b[0m", s, text)
}

func (t *table) line(s style, format string, a ...any) {
	t.print(s, fmt.Sprintf(format, a...))
	t.out.WriteByte('\n')
}

func (t *table) stack(s *unwind.Stack) {
	t.line(bold, "%s", heading(s, time.Now()))
	t.frames(s)
	for _, n := range s.Notes {
		t.line(dim, "  note: %s", printable.Text(n))
	}
	t.stop(s)
	t.origin(s.State)
}

// origin says who started a goroutine, and who led to that.
func (t *table) origin(s *unwind.State) {
	if c := CreatedBy(s); c != "" {
		t.line(dim, "  %s", c)
	}
	if s == nil {
		return
	}
	for _, a := range s.Ancestors {
		var calls []string
		for _, c := range a.Calls {
			if shown := len(calls) > 0 || !strings.HasPrefix(c.Function, "runtime."); shown && len(calls) < callsShown {
				calls = append(calls, printable.Text(fmt.Sprintf("%s %s:%d", c.Function, shortPath(c.File), c.Line)))
			}
		}
		t.line(dim, "  goroutine %d was then in %s", a.Goroutine, strings.Join(calls, ", called by "))
	}
}

// callsShown is how many calls of an ancestor text lists, from the first that is not the
// runtime's. JSON has all.
const callsShown = 4

// frames writes the rows of a stack.
func (t *table) frames(s *unwind.Stack) {
	t.doubted = truncated(s) || slices.ContainsFunc(s.Frames, func(f unwind.Frame) bool { return f.Trust == unwind.TrustScan })
	rows := make([]row, len(s.Frames))
	var width [columns]int
	for c, text := range titles {
		width[c] = len(text)
	}
	for i := range s.Frames {
		rows[i] = t.frameRow(i, &s.Frames[i])
		if t.diedIn(i, 1) {
			width[colIndex] = max(width[colIndex], len(diedMark+rows[i][colIndex]))
		}
		for c, text := range rows[i] {
			if n := utf8.RuneCountInString(text); c != colFunction || n <= maxFunctionColumn {
				width[c] = max(width[c], n)
			}
		}
	}
	if len(rows) > 0 {
		t.row(titles, width, [columns]style{dim, dim, dim, dim, dim, dim})
	}
	var held [][]stackjson.Value
	if t.Values != nil {
		held = t.Values(s)
	}
	for i, n := 0, 0; i < len(s.Frames); i += n {
		if i > 0 {
			t.segment(s, s.Frames[i-1].Segment, s.Frames[i].Segment)
		}
		n = t.sameRow(s.Frames[i:])
		f := together(s.Frames[i : i+n])
		if n > 1 {
			rows[i][colIndex] = fmt.Sprintf("%d-%d", i, i+n-1)
			rows[i][colTrust] = f.Trust.String()
		}
		if t.diedIn(i, n) {
			rows[i][colIndex] = diedMark + rows[i][colIndex]
		}
		t.row(rows[i], width, [columns]style{colTrust: trustStyles[f.Trust.Weakness()], colStrategy: dim, colPC: dim, colPlace: dim})
		t.remarks(f)
		for k := i; k < min(i+n, len(held)); k++ {
			t.values(held[k])
		}
		n += t.folded(s.Frames, i, n)
	}
}

// values writes those of a frame. Of registers that are not known it has their names: most are those that no function keeps.
func (t *table) values(all []stackjson.Value) {
	var unknown []string
	for i := range all {
		if v := &all[i]; v.Kind == stackjson.KindRegister && v.Unknown != "" {
			unknown = append(unknown, v.Name)
		} else {
			t.line(plain, "        %s", valueLine(v))
		}
	}
	if unknown != nil {
		t.line(dim, "        not known: %s", strings.Join(unknown, " "))
	}
}

// folded says how many frames after the row that stands for the n from first on repeat
// what was shown, and writes how many they are.
func (t *table) folded(frames []unwind.Frame, first, n int) int {
	if !t.Fold {
		return 0
	}
	end := first + n
	round, more := listing.Recursion(frames, end)
	if more == 0 {
		return 0
	}
	var names []string
	for i := range frames[end-round : end] {
		if name := printable.Text(t.Names.Frame(&frames[end-round+i])); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	t.line(dim, "      ... %s more of %s", Thousands(more), strings.Join(names, ", "))
	return more
}

// sameRow is how many frames the next row stands for.
func (t *table) sameRow(frames []unwind.Frame) (n int) {
	for n = 1; n < len(frames) && !t.Verbose && frames[n].SameRow(&frames[n-1]); n++ {
	}
	return n
}

// together makes one frame of those that a row stands for: with the trust of the weakest, and
// with what is to be said of each, once.
func together(frames []unwind.Frame) *unwind.Frame {
	f := frames[0]
	for i := range frames[1:] {
		other := &frames[1+i]
		f.Trust = min(f.Trust, other.Trust)
		f.Rejected = append(slices.Clip(f.Rejected), other.Rejected...)
		for _, n := range other.Notes {
			if !slices.Contains(f.Notes, n) {
				f.Notes = append(slices.Clip(f.Notes), n)
			}
		}
	}
	return &f
}

// segment marks that the stack goes on elsewhere. A segment that is not known is
// not known to be another one.
func (t *table) segment(s *unwind.Stack, from, to int) {
	if from == to || from < 0 || to < 0 {
		return
	}
	name := "another stack"
	if t.SegmentName != nil {
		if n := t.SegmentName(s, to); n != "" {
			name = printable.Text(n)
		}
	}
	t.line(dim, "      ---- %s ----", name)
}

func (t *table) row(r row, width [columns]int, styles [columns]style) {
	last := colPlace
	for last > 0 && r[last] == "" {
		last--
	}
	for c, text := range r[:last+1] {
		pad := strings.Repeat(" ", max(0, width[c]-utf8.RuneCountInString(text)))
		t.out.WriteString("  ")
		if c == colIndex {
			t.out.WriteString(pad)
		}
		t.print(styles[c], text)
		if c != colIndex && c != last {
			t.out.WriteString(pad)
		}
	}
	t.out.WriteByte('\n')
}

func (t *table) remarks(f *unwind.Frame) {
	if t.Verbose && f.Rule != "" {
		t.line(dim, "        rule: %s", printable.Text(f.Rule))
	}
	for _, n := range f.Notes {
		t.line(dim, "        note: %s", printable.Text(n))
	}
	if !t.doubted && !t.Evidence && !t.Verbose {
		return
	}
	for _, r := range f.Rejected {
		where := ""
		if r.PC != 0 {
			where = fmt.Sprintf(" pc=%#x", r.PC)
		}
		if r.CFA != 0 {
			where += fmt.Sprintf(" cfa=%#x", r.CFA)
		}
		by := ""
		if of := r.By(); of != "" {
			by = " (" + of + ")"
		}
		t.line(dim, "        rejected: %s%s: %s", printable.Text(r.Strategy), where, printable.Text(r.Reason+by))
	}
}

func (t *table) stop(s *unwind.Stack) {
	kind, st := "end", green
	if truncated(s) {
		kind, st = "truncated", yellow
	}
	t.out.WriteString("  ")
	t.print(st, kind)
	if s.Reason != "" {
		t.out.WriteString(": " + printable.Text(s.Reason))
	}
	t.out.WriteByte('\n')
}

func (o *TextOptions) frameRow(index int, f *unwind.Frame) row {
	name := cmp.Or(printable.Text(o.Names.Frame(f)), "?")
	r := row{
		colIndex:    strconv.Itoa(index),
		colTrust:    f.Trust.String(),
		colStrategy: printable.Text(f.Strategy),
		colPC:       fmt.Sprintf("%#x", f.PC.Raw()),
		colFunction: name,
	}
	switch {
	case f.Function == "": // the name says the image
	case f.File == "":
		r[colPlace] = printable.Text(names.Offset(f))
	case f.Line == 0: // DWARF assigns the code to no line
		r[colPlace] = printable.Text(shortPath(f.File))
	default:
		r[colPlace] = printable.Text(shortPath(f.File)) + ":" + strconv.Itoa(f.Line)
	}
	if f.TailCall {
		r[colFunction] += " [tail call]"
	} else if f.Inlined {
		r[colFunction] += " [inlined]"
	} else if index > 0 && f.PC.Kind() == unwind.KindInstruction && f.Trust != unwind.TrustContext {
		r[colFunction] += " [interrupted]"
	}
	return r
}

// shortPath keeps the last folder of a path and its file: enough to recognise
// it by, and short enough for a line. JSON has the whole path.
func shortPath(path string) string {
	cut := strings.LastIndexAny(path, `/\`)
	if cut <= 0 {
		return path
	}
	return path[strings.LastIndexAny(path[:cut], `/\`)+1:]
}

// Count returns a number with its noun: "1 frame", "2 frames".
func Count[N int | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
