package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/clewdbg/clew/server/lifeline"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == lifelineCommand {
		lifeline.Serve(os.Stdin)
		return
	}
	only := flag.String("only", "", "try dlv or clew alone")
	build := flag.String("build", "", "try this build alone")
	into := flag.String("o", "", "write the table into this file, between the markers for it, and not to standard output")
	verbose := flag.Bool("v", false, "print every step that was not right")
	flag.Parse()
	if flag.NArg() > 0 || *only != "" && *only != "dlv" && *only != "clew" {
		fmt.Fprintln(os.Stderr, "stepping: wrong usage; see go doc ./integration/stepping")
		os.Exit(2)
	}
	if err := show(*only, *build, *into, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "stepping:", err)
		os.Exit(1)
	}
}

// show tries everything and prints the table.
func show(only, build, into string, verbose bool) error {
	folder, err := os.MkdirTemp("", "clew-s-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b := &bench{folder: folder, log: func(string) {}}
	if only != "clew" {
		dlv, err := buildDlv(folder)
		if err != nil {
			return err
		}
		b.contenders = append(b.contenders, contender{"dlv", func(r *run) (debugger, error) { return startDlv(dlv, r) }})
	}
	if only != "dlv" {
		b.contenders = append(b.contenders, contender{"clew", startClew})
	}
	if verbose {
		b.log = func(s string) { fmt.Fprintln(os.Stderr, s) }
	}
	var rows []row
	for _, v := range variants {
		if build != "" && build != v.Name {
			continue
		}
		r, err := b.try(v, scenes)
		if err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return fmt.Errorf("there is no build %q", build)
	}
	for _, n := range b.notes {
		fmt.Fprintln(os.Stderr, n)
	}
	table := new(bytes.Buffer)
	b.print(table, rows)
	if into == "" {
		_, err = os.Stdout.Write(table.Bytes())
	} else {
		err = insert(into, table.Bytes())
	}
	return errors.Join(err, b.findings())
}

// What stands before and behind the table in a file.
const begin, end = "<!-- go run ./integration/stepping -->\n", "<!-- end of its output -->\n"

// insert puts the table between the markers.
func insert(name string, table []byte) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		return fmt.Errorf("%s has no lines %s and %s", name, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(name, slices.Concat(before, []byte(begin), table, []byte(end), after), 0o644)
}
