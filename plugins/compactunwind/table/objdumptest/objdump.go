// Package objdumptest parses the output of llvm-objdump --macho --unwind-info, for
// tests to compare with.
package objdumptest

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

// Run is a run of code with one encoding. Offsets count from the Mach-O header.
type Run struct {
	Start, End, Encoding uint32
}

// Pair is a function and the place of its language-specific data.
type Pair struct{ Function, Data uint32 }

// Dump is the output for one image.
type Dump struct {
	// Pages by kind, as the second level's pages have them.
	Regular, Compressed int
	Runs                []Run
	Personalities       []uint32
	LSDA                []Pair
}

var (
	entry       = regexp.MustCompile(`^\s+\[\d+\]: function offset=0x([0-9a-f]+), encoding(\[\d+\])?=0x([0-9a-f]+)`)
	index       = regexp.MustCompile(`^\s+\[\d+\]: function offset=0x([0-9a-f]+), 2nd level page offset=0x([0-9a-f]+)`)
	lsda        = regexp.MustCompile(`^\s+\[\d+\]: function offset=0x([0-9a-f]+), LSDA offset=0x([0-9a-f]+)`)
	personality = regexp.MustCompile(`^\s+personality\[\d+\]: 0x([0-9a-f]+)`)
	page        = regexp.MustCompile(`^\s+Second level index\[\d+\]: offset in section=0x[0-9a-f]+, base function offset=0x[0-9a-f]+`)
)

// Read reads a dump of one image.
func Read(r io.Reader) (d Dump, err error) {
	var end uint32
	fresh := false // a page has begun
	number := func(s string) uint32 {
		v, e := strconv.ParseUint(s, 16, 32)
		if e != nil && err == nil {
			err = fmt.Errorf("objdump: %w", e)
		}
		return uint32(v)
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case page.MatchString(line):
			fresh = true
		case index.MatchString(line):
			end = number(index.FindStringSubmatch(line)[1])
		case lsda.MatchString(line):
			m := lsda.FindStringSubmatch(line)
			d.LSDA = append(d.LSDA, Pair{number(m[1]), number(m[2])})
		case personality.MatchString(line):
			d.Personalities = append(d.Personalities, number(personality.FindStringSubmatch(line)[1]))
		default:
			if m := entry.FindStringSubmatch(line); m != nil {
				d.Runs = append(d.Runs, Run{Start: number(m[1]), Encoding: number(m[3])})
				switch { // only a compressed page has numbers of encodings
				case fresh && m[2] != "":
					d.Compressed++
				case fresh:
					d.Regular++
				}
				fresh = false
			}
		}
	}
	// An entry reaches to the next. The first of two at one address has no length.
	kept := d.Runs[:0]
	for i, run := range d.Runs {
		run.End = end
		if i+1 < len(d.Runs) {
			run.End = d.Runs[i+1].Start
		}
		if run.End > run.Start {
			kept = append(kept, run)
		}
	}
	d.Runs = kept
	if e := lines.Err(); e != nil {
		return d, e
	}
	return d, err
}
