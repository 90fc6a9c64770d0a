package places

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Main runs it as a program: its arguments are those of the process.
func Main() {
	only := flag.String("only", "", "try dlv or clew alone")
	build := flag.String("build", "", "try these builds alone, with commas between")
	cross := flag.String("arm64", "", "build for linux/arm64 into this folder, and try nothing")
	there := flag.String("built", "", "try what -arm64 has built in this folder")
	into := flag.String("o", "", "write the table into this file, between the markers for it, and not to standard output")
	verbose := flag.Bool("v", false, "print every step that was not right, and each build's counts at once")
	flag.Parse()
	if flag.NArg() > 0 || *only != "" && *only != "dlv" && *only != "clew" {
		fmt.Fprintln(os.Stderr, "places: wrong usage; see go doc ./integration/stepping/places")
		os.Exit(2)
	}
	chosen, err := choose(*build, cmp.Or(*cross, *there) != "")
	if err == nil {
		err = crossBuild(*cross, chosen)
	}
	if err == nil && *cross == "" {
		err = show(*only, *there, *into, chosen, *verbose)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "places:", err)
		os.Exit(1)
	}
}

// choose returns the variants of the names, all if there is none. A name that no variant has is an error.
func choose(builds string, arm64 bool) (chosen []variant, err error) {
	names := strings.Split(builds, ",")
	for _, v := range variants {
		if (arm64 || !v.onARM64) && (builds == "" || slices.Contains(names, v.Name)) {
			chosen = append(chosen, v)
		}
	}
	if builds != "" && len(chosen) < len(names) {
		return nil, fmt.Errorf("%d builds have the names %s", len(chosen), builds)
	}
	return chosen, nil
}

// crossBuild builds variants for linux/arm64, if there is a folder for them.
func crossBuild(folder string, chosen []variant) error {
	for _, v := range chosen {
		if folder == "" {
			return nil
		}
		tools, err := v.CrossTools()
		if err != nil {
			return err
		}
		if _, err := v.build(folder, tools); err != nil {
			return err
		}
	}
	return nil
}

// show tries everything and prints the table. The programs are built, unless they are in a
// folder.
func show(only, folder, into string, chosen []variant, verbose bool) error {
	b := &bench{folder: folder, built: folder != "", log: func(string) {}}
	if !b.built {
		var err error
		if b.folder, err = os.MkdirTemp("", "clew-s-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.folder)
	}
	if only != "clew" {
		dlv, err := buildDlv(b.folder)
		if err != nil {
			return err
		}
		b.contenders = append(b.contenders, contender{"dlv", func(r *run) (debugger, error) { return startDlv(dlv, r) }})
	}
	if only != "dlv" {
		b.contenders = append(b.contenders, contender{clewName, startClew})
	}
	if verbose {
		b.log = func(s string) { fmt.Fprintln(os.Stderr, s) }
	}
	var rows []row
	for _, v := range chosen {
		r, err := b.try(v, scenes)
		if err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
		for _, command := range commands {
			for _, c := range b.contenders {
				b.log(fmt.Sprintf("%s, %s: %s %s", v.Name, command, c.name, cell(r.counts[command][c.name])))
			}
		}
		rows = append(rows, r)
	}
	table := new(bytes.Buffer)
	b.print(table, rows)
	var err error
	if into == "" {
		_, err = os.Stdout.Write(table.Bytes())
	} else {
		err = insert(into, table.Bytes())
	}
	return errors.Join(err, b.findings())
}

// What stands before and behind the table in a file.
const begin, end = "<!-- go run ./integration/stepping places -->\n", "<!-- end of its output -->\n"

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
