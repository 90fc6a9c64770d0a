package scripts

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
)

// Main runs it as a program: its arguments are those of the process.
func Main() {
	only := flag.String("only", "", "ask dlv, lldb or clew alone")
	match := flag.String("run", "", "run the scripts alone whose text this matches")
	built := flag.String("built", "", "take the program and clew from this folder, and ask clew alone")
	name := flag.String("suite", "crossing", "the scripts to run: crossing, native, or breaks for breakpoints")
	into := flag.String("o", "", "write the table into this file, between the markers for it")
	flag.Parse()
	wanted, err := regexp.Compile(*match)
	of := suites[*name]
	if err == nil && of == nil {
		err = fmt.Errorf("no scripts %q", *name)
	}
	if err == nil && *built == "" {
		err = os.Chdir("integration/stepping/scripts")
	}
	switch {
	case err != nil:
	case *name == "breaks":
		err = showBreaks(*only, *into, wanted)
	case *built != "":
		err = showBuilt(*built, of, wanted)
	default:
		err = show(*only, *into, of, wanted)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scripts:", err)
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
	return t.finish(into, of.begin)
}

// finish prints the table, or writes it into a file. The error says that clew is wrong.
func (t *table) finish(into, begin string) error {
	if into == "" {
		t.print(os.Stdout)
	} else if err := t.insert("../../../"+into, begin); err != nil {
		return err
	}
	if t.wrong > 0 {
		return fmt.Errorf("clew stops elsewhere in %d of %d %ss", t.wrong, len(t.rows), t.head[0])
	}
	return nil
}

// table is what was found.
type table struct {
	head  []string // of its first columns
	names []string
	right map[string]int
	rows  [][]string
	wrong int // of clew's
}

func newTable(list []debugger) *table {
	t := &table{head: []string{"script", "from: steps", "expected"}, right: make(map[string]int)}
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
	return t.add([]string{sc.does, fmt.Sprintf("%s: %s", sc.at, sc.steps), sc.want}, func(name string) (string, error) {
		i := slices.IndexFunc(list, func(d debugger) bool { return d.name == name })
		return list[i].run(p, sc)
	})
}

// add adds a row. Its last cell so far is what is right; each debugger is asked for what it does.
func (t *table) add(row []string, ask func(debugger string) (string, error)) error {
	want := row[len(row)-1]
	for _, name := range t.names {
		got, err := ask(name)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, row[0], err)
		}
		switch {
		case got == want:
			t.right[name]++
			got = "✓"
		case name == "clew":
			t.wrong++
		}
		row = append(row, got)
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
	line(append(t.head, t.names...)...)
	rule, sum := []string{"---", "---", "---"}, []string{fmt.Sprintf("%d %ss", len(t.rows), t.head[0]), "", ""}
	for _, name := range t.names {
		rule, sum = append(rule, "---"), append(sum, fmt.Sprint(t.right[name]))
	}
	line(rule...)
	for _, row := range t.rows {
		line(row...)
	}
	line(sum...)
}
