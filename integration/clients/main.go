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
	restarts := flag.Int("restarts", 20, "how often the program is started again by each kind")
	ends := flag.Int("ends", 12, "how many sessions are ended in each way")
	clew := flag.String("clew", "", "the clew to test; it is built without")
	flag.Parse()
	if flag.NArg() > 0 || *runs < 0 || *restarts < 0 || *ends < 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := measure(counts{*runs, *restarts, *ends}, *clew); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// counts are how often everything is done.
type counts struct{ runs, restarts, ends int }

// measure prints the table.
func measure(n counts, clew string) error {
	w, err := build(clew)
	if err != nil {
		return err
	}
	defer w.remove()
	r := new(results)
	for _, err := range []error{w.session(n.runs, r, (*party).round), w.session(n.restarts, r, (*party).restarts), w.endings(n.ends, r)} {
		if err != nil {
			r.wrong = append(r.wrong, err.Error())
		}
	}
	if !r.print(os.Stdout, "One session, two editors and two dlv") {
		return fmt.Errorf("not every client was told in time")
	}
	return nil
}

// session does something so many times in one session.
func (w *work) session(runs int, r *results, do func(*party) error) (err error) {
	if runs == 0 {
		return nil
	}
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
		if err := do(p); err != nil {
			return fmt.Errorf("run %d: %w", n+1, err)
		}
	}
	return nil
}
