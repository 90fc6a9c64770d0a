package sframetest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/clewdbg/clew/sframe"
	"github.com/clewdbg/clew/unwind"
)

// Compared is the number of comparisons, with the differences.
type Compared struct {
	Functions, Rows int
	Differences     []string
}

var functionLine = regexp.MustCompile(`func idx \[\d+\]: pc = (0x[0-9a-f]+), size = (\d+) bytes(.*)`)

// Compare compares a table with the output of readelf --sframe: every function
// and every row, in both directions.
func Compare(table *sframe.Table, text string) (c Compared) {
	differ := func(format string, args ...any) {
		c.Differences = append(c.Differences, fmt.Sprintf(format, args...))
	}
	if first, n := table.Problems(); n > 0 {
		differ("%d problems: %v", n, first)
	}
	var header sframe.Header
	if hs := table.Headers(); len(hs) > 0 {
		header = hs[0]
	}
	var want []string // of the function that is read
	var current sframe.Function
	finish := func() {
		if current.End == 0 {
			return
		}
		got := lines(table, &header, current)
		for i := range max(len(got), len(want)) {
			var g, w string
			if i < len(got) {
				g = got[i]
			}
			if i < len(want) {
				w = want[i]
			}
			if g != w {
				differ("function at %#x, row %d: %q, readelf has %q", current.Start, i, g, w)
			}
			c.Rows++
		}
		current, want = sframe.Function{}, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := functionLine.FindStringSubmatch(line); m != nil {
			finish()
			start, _ := strconv.ParseUint(m[1], 0, 64)
			size, _ := strconv.ParseUint(m[2], 10, 32)
			if size == 0 {
				continue
			}
			c.Functions++
			f, ok := table.Find(start)
			if !ok || f.Start != start || f.End != start+size {
				differ("no function at %#x of %d bytes: %+v", start, size, f)
				continue
			}
			if a := attributes(f); a != m[3] {
				differ("function at %#x: %q, readelf has %q", start, a, m[3])
			}
			current = f
			continue
		}
		if len(line) > 16 && current.End != 0 && !strings.HasPrefix(line, "STARTPC") {
			want = append(want, normal(header.Arch, line))
		}
	}
	finish()
	if c.Functions != table.Len() {
		differ("%d functions, readelf has %d", table.Len(), c.Functions)
	}
	return c
}

// attributes are readelf's texts behind a function's size.
func attributes(f sframe.Function) (s string) {
	if f.KeyB {
		s = ", pauth = B key"
	}
	attr := ""
	if f.Signal {
		attr = "S"
	}
	if f.Flexible {
		attr += "F"
	}
	if attr != "" {
		s += fmt.Sprintf(", attr = %q", attr)
	}
	return s
}

// normal is a row of readelf's without spaces, since columns may touch. "U" is
// for a register whose place is empty: on amd64 the return address has its
// fixed place then.
func normal(arch unwind.Arch, line string) string {
	fields := strings.Fields(line)
	last := len(fields) - 1
	for i := range fields {
		if fields[i] == "U" {
			fields[i] = "u"
			if i == last && arch == unwind.AMD64 {
				fields[i] = "f"
			}
		}
	}
	return strings.Join(fields, "")
}

// lines are the rows of a function as readelf writes them, without spaces; of
// repeated code the first block's.
func lines(table *sframe.Table, h *sframe.Header, f sframe.Function) (out []string) {
	for row, answer := range table.Rows(f) {
		at := row.Start
		if f.Block != 0 {
			if at -= f.Start; at >= uint64(f.Block) {
				break
			}
		}
		switch {
		case answer == sframe.SignalWithoutRule:
		case answer == sframe.Outermost:
			out = append(out, fmt.Sprintf("%016xRAundefined", at))
		default:
			cfa := row.CFA
			if row.Corrected {
				cfa.Offset += 8 // the table's offset
			}
			ra := rule(h, row.RA)
			if h.FixedRA != 0 && row.RA.Kind == sframe.FromCFA {
				ra = "f"
				if h.Version == 1 { // binutils 2.40 does not show it
					ra = "u"
				}
			}
			if row.Mangled {
				ra += "[s]"
			}
			out = append(out, fmt.Sprintf("%016x", at)+rule(h, cfa)+rule(h, row.FP)+ra)
		}
	}
	return out
}

func rule(h *sframe.Header, r sframe.Rule) string {
	base := "c"
	switch {
	case r.Kind == sframe.Unchanged:
		return "u"
	case r.Kind == sframe.FromCFA:
		return fmt.Sprintf("%s%+d", base, r.Offset)
	case r.Register == h.Arch.SP():
		base = "sp"
	case r.Register == h.Arch.FP():
		base = "fp"
	default:
		base = fmt.Sprintf("r%d", r.Register)
	}
	if r.Deref {
		return fmt.Sprintf("(%s%+d)", base, r.Offset)
	}
	return fmt.Sprintf("%s%+d", base, r.Offset)
}
