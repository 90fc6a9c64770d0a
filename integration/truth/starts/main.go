package starts

import (
	"flag"
	"fmt"
	"os"
)

// Main runs it as a program: its arguments are those of the process.
func Main() {
	heights := flag.Bool("heights", false, "compare heights with .eh_frame too")
	keep := flag.String("keep", "", "folder to leave the files in")
	verbose := flag.Bool("v", false, "list what is missed and what is false")
	flag.Parse()
	if err := run(flag.Args(), *keep, *heights, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "starts:", err)
		os.Exit(1)
	}
}

func run(names []string, dir string, heights, verbose bool) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "clew-starts-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	files, err := corpus(dir, names)
	if err != nil {
		return err
	}
	sum := row{name: "all"}
	fmt.Println(header)
	for _, f := range files {
		r, err := compare(f, heights, verbose)
		if err != nil {
			fmt.Fprintf(os.Stderr, "starts: %s: %v\n", f.name, err)
			continue
		}
		fmt.Println(r)
		sum.add(&r)
	}
	fmt.Println(&sum)
	return nil
}
