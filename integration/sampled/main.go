//go:build linux && amd64

package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	var o options
	names := flag.String("libraries", "", "only these workloads, with commas between")
	flag.IntVar(&o.most, "n", 1000, "samples of a workload, at most")
	flag.IntVar(&o.every, "every", 200, "of how many instructions of C one is taken, on average")
	flag.IntVar(&o.live, "live", 10, "of how many samples one is assembled in the live process too")
	flag.IntVar(&o.often, "often", 20, "so many calls of a function are stepped through, and fewer and fewer of the others")
	flag.Uint64Var(&o.seed, "seed", 1, "for the choice of instructions")
	stripped := flag.Bool("stripped", false, "libraries without .eh_frame")
	show := flag.Int("show", 3, "reasons of each kind to print")
	keep := flag.String("o", "", "folder that keeps the samples")
	strategies := flag.String("strategies", "", "only these, with commas between")
	flag.Parse()
	if o.every < 1 || o.live < 1 || o.often < 1 {
		flag.Usage()
		os.Exit(2)
	}
	r := report{options: o, stripped: *stripped, show: *show, only: list(*strategies)}
	var err error
	fmt.Println("| workload | stacks | exact | truncated | false at scan | wrong above scan | false end |")
	fmt.Println("|-|-|-|-|-|-|-|")
	if flag.NArg() > 0 {
		err = r.files(flag.Args())
	} else {
		err = r.libraries(*keep, list(*names))
	}
	r.all.print("all")
	if err != nil {
		fmt.Fprintln(os.Stderr, "sampled:", err)
	}
	if err != nil || !r.all.right() {
		os.Exit(1)
	}
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// report prints a row for each workload.
type report struct {
	options
	stripped bool
	show     int
	only     []string
	all      tally
}

// files judges the samples of an earlier run.
func (r *report) files(files []string) error {
	for _, file := range files {
		t, err := again(file, r.only, nil)
		if err != nil {
			return err
		}
		r.row(strings.TrimSuffix(filepath.Base(file), ".jsonl"), t)
	}
	return nil
}

func (r *report) row(name string, t *tally) {
	t.print(name)
	t.printReasons(r.show)
	r.all.sum(t)
}

// libraries steps through the workloads.
func (r *report) libraries(keep string, names []string) error {
	dir, err := os.MkdirTemp("", "clew-sampled-")
	if err != nil {
		return err
	}
	if keep == "" {
		defer os.RemoveAll(dir)
		keep = dir
	} else if dir = keep; os.MkdirAll(dir, 0o700) != nil {
		return fmt.Errorf("cannot make %s", dir)
	}
	b := builder{dir}
	p, err := b.program()
	if err != nil {
		return err
	}
	for i := range libraries {
		l := &libraries[i]
		if names != nil && !slices.Contains(names, l.name) {
			continue
		}
		if err := r.library(b, p, l, keep); err != nil {
			fmt.Printf("| %s | %v |\n", l.name, err)
		}
	}
	return nil
}

func (r *report) library(b builder, p program, l *library, keep string) error {
	driver, err := b.driver(l)
	if err != nil {
		return err
	}
	folder := ""
	if r.stripped {
		if folder, err = b.strip(l); err != nil {
			return err
		}
	}
	file := filepath.Join(keep, l.name+".jsonl")
	s, err := r.record(p, driver, folder, file)
	if err != nil {
		return err
	}
	t, err := again(file, r.only, s.answers)
	if err != nil {
		return err
	}
	r.row(l.name, t)
	fmt.Printf("    %d instructions, %d different ones of C, %d stacks compared with the live process, %d samples without truth\n",
		s.steps, len(s.places), len(s.answers), s.lost)
	return nil
}

// record writes the samples of a workload to a file.
func (r *report) record(p program, driver, folder, file string) (*sampler, error) {
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	s, err := sample(p, driver, folder, r.options, w)
	if err != nil {
		return nil, err
	}
	return s, w.Flush()
}
