package places

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// contender is a debugger to try.
type contender struct {
	name  string
	start func(*run) (debugger, error)
}

// bench tries contenders on builds.
type bench struct {
	folder     string
	built      bool // on another machine
	contenders []contender
	log        func(string)
	bad        []string // clew's faults
}

// clewName is the contender whose faults count.
const clewName = "clew"

// row is one build's line of the table: counts by command, contender and verdict.
type row struct {
	build  string
	counts map[string]map[string]*[verdicts]int
}

// try builds a variant and steps from every scene.
func (b *bench) try(v variant, from []scene) (row, error) {
	r := row{build: v.Name, counts: make(map[string]map[string]*[verdicts]int)}
	p, err := b.program(v)
	if err != nil {
		return r, err
	}
	for _, command := range commands {
		r.counts[command] = make(map[string]*[verdicts]int)
		for _, c := range b.contenders {
			r.counts[command][c.name] = new([verdicts]int)
		}
		for i := range from {
			for _, c := range b.contenders {
				res, err := from[i].try(c.start, p, command, b.folder)
				if err != nil {
					return r, fmt.Errorf("%s: %w", c.name, err)
				}
				r.counts[command][c.name][res.verdict]++
				if c.name == clewName {
					b.judge(v, &from[i], command, res)
				}
				if res.verdict != right {
					b.log(fmt.Sprintf("%s, %s, %s: %s %s: %s", v.Name, from[i].name, command, c.name, res.verdict, res.detail))
				}
			}
		}
	}
	return r, nil
}

// program builds a variant, unless it is built.
func (b *bench) program(v variant) (*built, error) {
	if b.built {
		p := v.program(b.folder)
		return p, p.learn()
	}
	tools, err := v.Tools()
	if err != nil {
		return nil, err
	}
	p, err := v.build(b.folder, tools)
	if err != nil {
		return nil, err
	}
	return p, p.learn()
}

// judge notes clew's faults: whatever is not right. In none of these builds is a caller that nothing shows, so
// that a step which is refused is one too.
func (b *bench) judge(v variant, c *scene, command string, mine result) {
	if mine.verdict != right {
		b.bad = append(b.bad, fmt.Sprintf("%s, %s, %s: clew %s (%s)", v.Name, c.name, command, mine.verdict, mine.detail))
	}
}

// findings is an error that lists clew's faults.
func (b *bench) findings() error {
	if len(b.bad) == 0 {
		return nil
	}
	return errors.New(strings.Join(b.bad, "\n"))
}

// print writes the table in Markdown.
func (b *bench) print(w io.Writer, rows []row) {
	head, line := "| build |", "|---|"
	for _, command := range commands {
		for _, c := range b.contenders {
			head += fmt.Sprintf(" %s: %s |", command, c.name)
			line += "---|"
		}
	}
	fmt.Fprintf(w, "%s\n%s\n", head, line)
	total := row{build: "**all**", counts: make(map[string]map[string]*[verdicts]int)}
	for _, command := range commands {
		total.counts[command] = make(map[string]*[verdicts]int)
		for _, c := range b.contenders {
			sum := new([verdicts]int)
			for _, r := range rows {
				for v, n := range r.counts[command][c.name] {
					sum[v] += n
				}
			}
			total.counts[command][c.name] = sum
		}
	}
	for _, r := range append(rows, total) {
		fmt.Fprintf(w, "| %s |", r.build)
		for _, command := range commands {
			for _, c := range b.contenders {
				fmt.Fprintf(w, " %s |", cell(r.counts[command][c.name]))
			}
		}
		fmt.Fprintln(w)
	}
}

// cell names the verdicts that occurred.
func cell(counts *[verdicts]int) string {
	var parts []string
	for v, n := range counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, verdict(v)))
		}
	}
	return strings.Join(parts, ", ")
}
