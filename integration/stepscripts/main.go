package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
)

func main() {
	only := flag.String("only", "", "ask dlv, lldb or clew alone")
	match := flag.String("run", "", "run the scripts alone whose text this matches")
	built := flag.String("built", "", "take the program and clew from this folder, and ask clew alone")
	name := flag.String("suite", "crossing", "the scripts to run: crossing or native")
	into := flag.String("o", "", "write the table into this file, between the markers for it")
	flag.Parse()
	wanted, err := regexp.Compile(*match)
	of := suites[*name]
	if err == nil && of == nil {
		err = fmt.Errorf("no scripts %q", *name)
	}
	if err == nil && *built == "" {
		err = os.Chdir("integration/stepscripts")
	}
	switch {
	case err != nil:
	case *built != "":
		err = showBuilt(*built, of, wanted)
	default:
		err = show(*only, *into, of, wanted)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stepscripts:", err)
		os.Exit(1)
	}
}

// columns are the debuggers, in the order of the table.
var columns = []string{"dlv", "lldb", "clew"}

// show runs the scripts and prints the table.
func show(only, into string, of *suite, wanted *regexp.Regexp) error {
	folder, err := os.MkdirTemp("", "stepscripts")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	p, err := buildProgram(folder, of)
	if err != nil {
		return err
	}
	list, err := buildDebuggers(folder, only)
	if err != nil {
		return err
	}
	return compare(p, list, into, of, wanted)
}

// showBuilt runs the scripts with clew alone.
func showBuilt(folder string, of *suite, wanted *regexp.Regexp) error {
	p, err := programIn(folder, of)
	if err != nil {
		return err
	}
	return compare(p, []debugger{goDebugger(folder, "clew")}, "", of, wanted)
}

// compare runs the scripts, and prints the table or writes it into a file.
func compare(p *program, list []debugger, into string, of *suite, wanted *regexp.Regexp) error {
	t := newTable(list)
	for i := range of.scripts {
		if wanted.MatchString(of.scripts[i].does) {
			if err := t.run(p, list, &of.scripts[i]); err != nil {
				return err
			}
		}
	}
	if into == "" {
		t.print(os.Stdout)
	} else if err := t.insert("../../"+into, of.begin); err != nil {
		return err
	}
	if t.wrong > 0 {
		return fmt.Errorf("clew lands elsewhere in %d of %d scripts", t.wrong, len(t.rows))
	}
	return nil
}

// table is what was found.
type table struct {
	names []string
	right map[string]int
	rows  [][]string
	wrong int // of clew's
}

func newTable(list []debugger) *table {
	t := &table{right: make(map[string]int)}
	for _, name := range columns {
		for _, d := range list {
			if d.name == name {
				t.names = append(t.names, name)
			}
		}
	}
	return t
}

// run runs one script with each debugger.
func (t *table) run(p *program, list []debugger, sc *script) error {
	row := []string{sc.does, fmt.Sprintf("%s: %s", sc.at, sc.steps), sc.want}
	for _, name := range t.names {
		for i := range list {
			if list[i].name != name {
				continue
			}
			got, err := list[i].run(p, sc)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, sc.does, err)
			}
			switch {
			case got == sc.want:
				t.right[name]++
				got = "✓"
			case name == "clew":
				t.wrong++
			}
			row = append(row, got)
		}
	}
	t.rows = append(t.rows, row)
	return nil
}

// print writes the table as Markdown.
func (t *table) print(w io.Writer) {
	line := func(cells ...string) {
		for _, c := range cells {
			fmt.Fprintf(w, "| %s ", c)
		}
		fmt.Fprintln(w, "|")
	}
	line(append([]string{"script", "from: steps", "expected"}, t.names...)...)
	rule, sum := []string{"---", "---", "---"}, []string{fmt.Sprintf("%d scripts", len(t.rows)), "", ""}
	for _, name := range t.names {
		rule, sum = append(rule, "---"), append(sum, fmt.Sprint(t.right[name]))
	}
	line(rule...)
	for _, row := range t.rows {
		line(row...)
	}
	line(sum...)
}
