//go:build linux && (amd64 || arm64)

package sampled

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Main runs it as a program: its arguments are those of the process.
func Main() {
	var o options
	var r report
	names := flag.String("libraries", "", "only these workloads, with commas between; of variants those with one of these in their compiler and options")
	flag.IntVar(&o.most, "n", 1000, "samples of a workload, at most")
	flag.IntVar(&o.every, "every", 200, "of how many instructions of C one is taken, on average")
	flag.IntVar(&o.live, "live", 10, "of how many samples one is assembled in the live process too")
	flag.IntVar(&o.often, "often", 20, "so many calls of a function are stepped through, and fewer and fewer of the others")
	flag.Uint64Var(&o.seed, "seed", 1, "for the choice of instructions")
	flag.BoolVar(&r.musl, "musl", false, "workload c above musl instead of glibc")
	stripped := flag.Bool("stripped", false, "libraries without .eh_frame")
	variants := flag.Bool("variants", false, "variants of one C file instead of libraries")
	show := flag.Int("show", 3, "reasons of each kind to print")
	keep := flag.String("o", "", "folder that keeps the samples")
	most := flag.Uint64("lies", 0, "FILEs are judged with a wrong table for each frame of C, whose CFA is at each place up to so many bytes above the stack pointer")
	rounds := flag.Int("cost", 0, "rounds in which FILEs are assembled with the model's check of tables and without it, for the time that takes")
	flag.BoolVar(&r.arm64, "arm64", false, "build for linux/arm64 into the folder of -o, and measure nothing")
	flag.BoolVar(&r.built, "built", false, "measure what -arm64 has built in the folder of -o")
	flag.StringVar(&r.root, "root", "", "with FILEs: the folder that paths of images lie below, for samples of another machine")
	strategies := flag.String("strategies", "", "only these, with commas between")
	least := flag.Float64("least", 0, "of a hundred stacks so many must be exact, or the exit status is 1")
	flag.Parse()
	if o.every < 1 || o.live < 1 || o.often < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if *rounds > 0 {
		fails(costs(flag.Args(), *rounds))
		return
	}
	r.options, r.stripped, r.show, r.only = o, *stripped, *show, list(*strategies)
	if r.arm64 {
		fails(r.record(*keep, list(*names), *variants))
		return
	}
	var err error
	fmt.Println("| workload | stacks | exact | truncated | false at scan | wrong above scan | false end |")
	fmt.Println("|-|-|-|-|-|-|-|")
	if *most > 0 {
		err = r.lies(flag.Args(), *most)
	} else if flag.NArg() > 0 {
		err = r.files(flag.Args())
	} else {
		err = r.record(*keep, list(*names), *variants)
	}
	r.all.print("all")
	fails(err)
	if !r.all.right() || r.failures > 0 || r.all.exactly() < *least {
		os.Exit(1)
	}
}

// fails ends the program if there was an error.
func fails(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "sampled:", err)
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
	arm64    bool // build alone, for another machine
	built    bool // on another machine
	musl     bool
	show     int
	only     []string
	root     string // of FILEs' images
	all      tally
	failures int
}

// files judges the samples of an earlier run.
func (r *report) files(files []string) error {
	for _, file := range files {
		t, err := again(file, r.only, r.root, nil)
		if err != nil {
			return err
		}
		r.row(strings.TrimSuffix(filepath.Base(file), ".jsonl"), t)
	}
	return nil
}

// lies judges the samples of an earlier run with wrong tables, with the models of code and without.
func (r *report) lies(files []string, most uint64) error {
	for _, file := range files {
		for _, model := range []bool{true, false} {
			t, err := lies(file, r.root, most, r.most, model)
			if err != nil {
				return err
			}
			name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
			if !model {
				name += ", no model"
			}
			r.row(name, t)
		}
	}
	return nil
}

func (r *report) row(name string, t *tally) {
	t.print(name)
	t.printReasons(r.show)
	r.all.sum(t)
}

// record steps through the workloads.
func (r *report) record(keep string, names []string, asVariants bool) error {
	b := builder{dir: keep, arm64: r.arm64, built: r.built, musl: r.musl}
	if keep == "" {
		dir, err := os.MkdirTemp("", "clew-sampled-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		b.dir = dir
	} else if err := os.MkdirAll(keep, 0o700); err != nil {
		return err
	}
	p, err := b.program()
	if err != nil {
		return err
	}
	if asVariants && !r.arm64 {
		r.variants(b, p, names)
		return nil
	}
	for i := range libraries {
		if l := &libraries[i]; names == nil && !r.musl || slices.Contains(names, l.name) || r.musl && l.name == "c" {
			r.failed(l.name, r.library(b, p, l))
		}
	}
	return nil
}

// failed prints a row for a workload that could not be measured.
func (r *report) failed(name string, err error) {
	if err != nil {
		r.failures++
		fmt.Printf("| %s | %v |\n", name, err)
	}
}

func (r *report) library(b builder, p program, l *library) error {
	driver, err := b.driver(l)
	if err != nil {
		return fmt.Errorf("%w (Debian: %s)", err, l.debian)
	}
	if r.arm64 {
		return nil
	}
	folder := ""
	if r.stripped {
		if folder, err = b.strip(l); err != nil {
			return err
		}
	}
	return r.workload(p, l.name, driver, folder, l.jumps)
}

func (r *report) variants(b builder, p program, names []string) {
	for i, v := range variants {
		for _, strip := range []bool{false, true} {
			name := v.compiler + " " + v.flags
			if names != nil && !slices.ContainsFunc(names, func(part string) bool { return strings.Contains(name, part) }) {
				continue
			}
			if strip {
				name += " stripped"
			}
			driver, err := b.variant(v, fmt.Sprintf("variant%d-%v", i, strip), strip)
			if err == nil {
				err = r.workload(p, name, driver, "", true)
			}
			r.failed(name, err)
		}
	}
}

// workload samples a workload, and judges the samples.
func (r *report) workload(p program, name, driver, folder string, jumps bool) error {
	o := r.options
	o.jumps, o.asm = jumps, name == "go"
	if o.asm {
		o.every = 1 + o.every/50 // there is little of it
	}
	file := strings.TrimSuffix(driver, ".so") + ".jsonl"
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	if o.asm {
		driver = name
	}
	s, err := sample(p, driver, folder, o, w)
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	t, err := again(file, r.only, "", s.answers)
	if err != nil {
		return err
	}
	r.row(name, t)
	fmt.Printf("    %d instructions, %d different ones of C, %d stacks compared with the live process, %d samples without truth\n",
		s.steps, len(s.places), len(s.answers), s.lost)
	return nil
}
