package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// sourceFolder is where the program's source is.
func sourceFolder() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "testdata", "loop")
}

func main() {
	runs := flag.Int("runs", 100, "how often every client does everything")
	clew := flag.String("clew", "", "the clew to test; it is built without")
	flag.Parse()
	if flag.NArg() > 0 || *runs <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := measure(*runs, *clew); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// measure prints the table.
func measure(runs int, clew string) error {
	w, err := build(clew)
	if err != nil {
		return err
	}
	defer w.remove()
	r := new(results)
	if err := w.rounds(runs, r); err != nil {
		r.wrong = append(r.wrong, err.Error())
	}
	if !r.print(os.Stdout, "One session, two editors and two dlv") {
		return fmt.Errorf("not every client was told in time")
	}
	return nil
}

// rounds does every action so many times in one session.
func (w *work) rounds(runs int, r *results) (err error) {
	s, err := w.headless()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.terminate()) }()
	p, err := w.join(s.addr, r)
	if err != nil {
		return err
	}
	defer p.leave()
	for n := range runs {
		if err := p.round(); err != nil {
			return fmt.Errorf("run %d: %w", n+1, err)
		}
	}
	return nil
}
