package export

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/listing"
	"github.com/clewdbg/clew/unwind"
)

// Page is a listing for people: what there is, and groups of stacks.
type Page struct {
	Title     string // "process 4711"
	Scheduler string // "GOMAXPROCS 8, 6 idle"; "" if it is not known
	Paused    time.Duration
	Summary   *listing.Summary
	Groups    []*listing.Group
	Crash     *stackjson.Crash // what ended the program: the first group is the stack that died. nil for none
	Left      int              // groups that a limit left out
}

// json writes a stack for each group, with the IDs of the goroutines that it stands for.
func (p *Page) json(w io.Writer, s *Set) error {
	return writeJSON(w, s, func(yield func(stackjson.Stack, *unwind.Stack) bool) {
		for _, g := range p.Groups {
			form := stackjson.FromStack(s.Arch, &g.Stack, false)
			form.Goroutines, form.Count = g.Goroutines, g.Count()
			if !yield(form, &g.Stack) {
				return
			}
		}
	})
}

// counted are the groups' stacks, with the number of those that they stand for.
func (p *Page) counted() iter.Seq2[unwind.Stack, int] {
	return func(yield func(unwind.Stack, int) bool) {
		for _, g := range p.Groups {
			if !yield(g.Stack, g.Count()) {
				return
			}
		}
	}
}

// Stacks are one stack of each group.
func (p *Page) Stacks() iter.Seq[unwind.Stack] {
	return func(yield func(unwind.Stack) bool) {
		for _, g := range p.Groups {
			if !yield(g.Stack) {
				return
			}
		}
	}
}

// idsShown is how many of a group's IDs text lists; the others are how many states, channels
// and places the summary does. JSON has all.
const (
	idsShown      = 8
	linesShown    = 12
	channelsShown = 3
	placesShown   = 5
)

// Text writes the page.
func (p *Page) Text(w io.Writer, o TextOptions) error {
	o.Fold = true
	t := table{TextOptions: o}
	groups := p.Groups
	if p.Crash != nil && len(groups) > 0 {
		t.crash(p.Crash, &groups[0].Stack)
		t.out.WriteByte('\n')
		groups = groups[1:]
	}
	p.summary(&t)
	for _, g := range groups {
		t.out.WriteByte('\n')
		t.group(g)
		if _, err := t.out.WriteTo(w); err != nil {
			return err
		}
	}
	if p.Left > 0 {
		t.line(dim, "\n%s more; --limit 0 shows all", groupCount(p.Left))
	}
	_, err := t.out.WriteTo(w)
	return err
}

func groupCount(n int) string {
	if n == 1 {
		return "1 group"
	}
	return Thousands(n) + " groups"
}

// Cut leaves at most n groups; 0 leaves all.
func (p *Page) Cut(n int) {
	if p.Crash != nil && n > 0 {
		n++ // the stack that died is no choice
	}
	if n > 0 && n < len(p.Groups) {
		p.Left = len(p.Groups) - n
		p.Groups = p.Groups[:n]
	}
}

// Head is the page's first line.
func (p *Page) Head() string {
	s := p.Summary
	head := fmt.Sprintf("%s: %s, %s", p.Title, counted(s.Goroutines, "goroutine"), counted(s.Threads, "thread"))
	if p.Scheduler != "" {
		head += "; " + p.Scheduler
	}
	if p.Paused > 0 {
		head += fmt.Sprintf("; stood still for %v", p.Paused.Round(10*time.Microsecond))
	}
	return head
}

func (p *Page) summary(t *table) {
	s := p.Summary
	t.line(bold, "%s", p.Head())
	for i, l := range s.States() {
		if i == linesShown {
			t.line(dim, "  %8s more %s", Thousands(len(s.States())-i), plural(len(s.States())-i, "state"))
			break
		}
		t.line(plain, "  %8s %s", Thousands(l.Count), printable.Text(l.Of))
	}
	if s.Truncated > 0 {
		t.line(yellow, "  %8s truncated", Thousands(s.Truncated))
	}
	for i := range s.Running {
		r := &s.Running[i]
		t.line(plain, "  runs: %s in %s", heading(r, time.Now()), t.place(&r.Frames[0]))
	}
	if l := s.Longest; l != nil {
		t.line(plain, "  waits longest: %s in %s", heading(l, time.Now()), t.place(&l.Frames[0]))
	}
	for i, l := range s.Channels() {
		if i == channelsShown {
			t.line(dim, "  on %s more %s several goroutines wait", Thousands(len(s.Channels())-i), plural(len(s.Channels())-i, "channel"))
			break
		}
		t.line(plain, "  %s wait on the channel at %#x", counted(l.Count, "goroutine"), l.Of)
	}
	p.places(t)
}

// places says where the stacks of the first groups are in the program's own code.
func (p *Page) places(t *table) {
	shown, s := 0, p.Summary
	for i, g := range p.Groups {
		if i == 0 && p.Crash != nil {
			continue
		}
		h := s.Ours.Headline(&g.Stack)
		if h.Own == nil || g.Title != "" || g.Stack.State == nil && !h.Ours {
			continue
		}
		if shown++; shown > placesShown {
			return
		}
		t.line(plain, "  %s in %s", Thousands(g.Count()), t.headline(&h, g.Stack.State))
	}
}

// headline is where a stack stands: "main.handle app/main.go:12 → rd_kafka_metadata → futex wait".
func (t *table) headline(h *listing.Headline, state *unwind.State) string {
	text, does := t.place(h.Own), h.Waits
	if does == "" && state != nil {
		does = Status(state)
	}
	if !h.Ours || h.Entry == nil && h.Waits == "" {
		if does != "" {
			text += ": " + does
		}
		return text
	}
	if f := h.Entry; f != nil {
		entry := *f
		entry.Function, entry.Inlined = listing.Plain(f.Function), false
		text += " → " + strings.TrimSpace(t.frameRow(0, &entry)[colFunction])
	}
	if does != "" {
		text += " → " + does
	}
	return text
}

// place is a frame's function and line.
func (t *table) place(f *unwind.Frame) string {
	r := t.frameRow(0, f)
	return strings.TrimSpace(r[colFunction] + " " + r[colPlace])
}

// group writes a group's heading, who is in it, and its stack.
func (t *table) group(g *listing.Group) {
	t.line(bold, "%s", groupHeading(g, time.Now()))
	if g.Count() > 1 {
		t.line(dim, "  %s", ids(g))
		if g.Title != "" {
			t.line(dim, "  one of them: %s", heading(&g.Stack, time.Now()))
		}
	}
	t.frames(&g.Stack)
	for _, n := range g.Stack.Notes {
		t.line(dim, "  note: %s", printable.Text(n))
	}
	if truncated(&g.Stack) || len(g.Stack.Frames) == 0 {
		t.stop(&g.Stack)
	}
	t.origin(g.Stack.State)
}

// groupHeading is the first line of a group:
// "1,204 goroutines: chan receive, at least 12 min".
func groupHeading(g *listing.Group, now time.Time) string {
	if g.Count() == 1 {
		return heading(&g.Stack, now)
	}
	var parts []string
	if n := len(g.Goroutines); n > 0 {
		parts = append(parts, counted(n, "goroutine"))
	}
	if n := len(g.Threads); n > 0 {
		text := counted(n, "thread") + " without a goroutine"
		if g.Stack.ThreadName != "" {
			text += ` "` + printable.Text(g.Stack.ThreadName) + `"`
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", ")
	switch {
	case g.Title != "":
		text += ": " + printable.Text(g.Title)
	case g.Stack.State != nil:
		text += ": " + Status(g.Stack.State)
	}
	if !g.Since.IsZero() {
		text += ", one of them at least " + Duration(now.Sub(g.Since))
	}
	switch n := len(g.WaitsOn); {
	case n == 1:
		for on, waiters := range g.WaitsOn {
			text += fmt.Sprintf("; %s on the channel at %#x", Thousands(waiters), on)
		}
	case n > 1:
		text += fmt.Sprintf("; on %s channels", Thousands(n))
	}
	return text
}

// ids lists a group's goroutines and threads, a few of many.
func ids(g *listing.Group) string {
	var parts []string
	for _, kind := range []struct {
		name string
		ids  []uint64
	}{{"goroutines", g.Goroutines}, {"threads", g.Threads}} {
		if len(kind.ids) == 0 {
			continue
		}
		all := slices.Sorted(slices.Values(kind.ids))
		var shown []string
		for _, id := range all[:min(len(all), idsShown)] {
			shown = append(shown, strconv.FormatUint(id, 10))
		}
		text := kind.name + " " + strings.Join(shown, ", ")
		if more := len(all) - idsShown; more > 0 {
			text += fmt.Sprintf(", and %s more", Thousands(more))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// counted is a number with its noun: "1,204 goroutines".
func counted(n int, what string) string { return Thousands(n) + " " + plural(n, what) }

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// Thousands writes a number with commas: "1,204".
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
