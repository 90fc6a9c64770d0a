package editors

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// editor is one that a script can drive.
type editor struct {
	name string
	// find looks for the editor; an error says what is missing.
	find func(w *work) (*found, error)
	// drive has the editor debug with an adapter, and returns what it has shown until the first failure.
	drive func(w *work, f *found, adapter string) (shown, error)
}

var editors = []editor{
	{"Neovim", findNeovim, driveNeovim},
	{"Emacs", findEmacs, driveEmacs},
	{"Helix", findHelix, driveHelix},
}

// Main runs it as a program: its arguments are those of the process.
func Main() {
	o := new(options)
	flag.StringVar(&o.only, "only", "", "the only editor to try")
	flag.StringVar(&o.trixie, "trixie", "", "take editors from Debian 13, kept in this folder")
	flag.StringVar(&o.plugins, "plugins", "", "folder with clones of nvim-dap, nvim-dap-go and dape")
	flag.StringVar(&o.into, "o", "", "write the table into this file, between the markers for it")
	offers := flag.Bool("capabilities", false, "compare what clew, dlv and lldb-dap offer to editors, and nothing else")
	flag.Parse()
	run := run
	if *offers {
		run = compare
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "editors:", err)
		os.Exit(1)
	}
}

func run(o *options) error {
	w, err := prepare(o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(w.folder)
	var table strings.Builder
	header(&table)
	tried, wrong := 0, 0
	for _, e := range editors {
		if o.only != "" && o.only != e.name {
			continue
		}
		f, err := e.find(w)
		if err != nil {
			fmt.Printf("LEFT OUT: %s: %v\n", e.name, err)
			continue
		}
		tried++
		for _, adapter := range []string{"clew", "dlv"} {
			got, err := e.drive(w, f, adapter)
			left := w.leftovers(adapter)
			ok := got.row(&table, f.version, adapter, left)
			if err != nil {
				fmt.Printf("%s with %s: %v\n", e.name, adapter, err)
			}
			if adapter == "clew" && (!ok || err != nil) {
				wrong++
			}
		}
	}
	if err := write(o.into, "", table.String()); err != nil {
		return err
	}
	if wrong > 0 || tried == 0 {
		return fmt.Errorf("%d editors tried, %d show anything else than expected", tried, wrong)
	}
	return nil
}

// compare compares adapters.
func compare(o *options) error {
	w, err := prepare(o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(w.folder)
	table, err := capabilities(w)
	if err != nil {
		return err
	}
	return write(o.into, " -capabilities", table)
}

// What stands before and behind a table in a file: the command that prints it.
const begin, end = "<!-- go run ./integration/clients editors%s -->\n", "<!-- end of its output -->\n"

// write prints a table, and puts it between the markers of a file, if one is named.
func write(into, flags, table string) error {
	_, _ = io.WriteString(os.Stdout, table)
	if into == "" {
		return nil
	}
	text, err := os.ReadFile(into)
	if err != nil {
		return err
	}
	begin := fmt.Sprintf(begin, flags)
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		return fmt.Errorf("%s has no place for the table", into)
	}
	return os.WriteFile(into, []byte(before+begin+table+end+after), 0o644)
}
