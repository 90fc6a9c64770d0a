package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	realeditors "github.com/clewdbg/clew/integration/clients/editors"
	"github.com/clewdbg/clew/integration/internal/suite"
)

// sourceFolder is where the program's source is.
func sourceFolder() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "testdata", "loop")
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "editors" {
		suite.Run(map[string]func(){"editors": realeditors.Main})
		return
	}
	runs := flag.Int("runs", 100, "how often every client does everything")
	restarts := flag.Int("restarts", 20, "how often the program is started again by each kind")
	ends := flag.Int("ends", 12, "how many sessions are ended in each way")
	clew := flag.String("clew", "", "the clew to test; it is built without")
	on := flag.String("on", "headless", "the kind of server: headless, multi (clew dap --multi), or proxy (clew proxy before dlv)")
	times := flag.String("times", "", "a file of latencies: this run's are added to it, and the table is of all")
	flag.Parse()
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == *on })
	if flag.NArg() > 0 || *runs < 0 || *restarts < 0 || *ends < 0 || i < 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := measure(&kinds[i], counts{*runs, *restarts, *ends}, *clew, *times); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// counts are how often everything is done.
type counts struct{ runs, restarts, ends int }

// measure prints the table.
func measure(k *kind, n counts, clew, times string) error {
	w, err := build(clew)
	if err != nil {
		return err
	}
	defer w.remove()
	r := new(results)
	if times != "" {
		if err := r.load(times); err != nil {
			return err
		}
	}
	for _, err := range []error{k.session(w, n.runs, r, (*party).round), k.session(w, n.restarts, r, (*party).restarts), k.endings(w, n.ends, r)} {
		if err != nil {
			r.wrong = append(r.wrong, err.Error())
		}
	}
	if times != "" {
		if err := r.save(times); err != nil {
			return err
		}
	}
	if !r.print(os.Stdout, k.title) {
		return fmt.Errorf("not every client was told in time")
	}
	return nil
}

// kind is a kind of server, and how clients come to share a program there.
type kind struct {
	name, title string
	serve       func(*work) (*server, error)
	join        func(*work, string, *results) (*party, error)
}

var kinds = []kind{
	{"headless", "One session, two editors and two dlv", (*work).headless, (*work).join},
	{"multi", "An editor's session of clew dap --multi, joined by two dlv", (*work).multi, (*work).beside},
	{"proxy", "Two editors and two dlv, connected to clew proxy before Delve's own server", (*work).through, (*work).joinThrough},
}

// session does something so many times in one session.
func (k *kind) session(w *work, runs int, r *results, do func(*party) error) error {
	if runs == 0 {
		return nil
	}
	return k.with(w, r, func(p *party, _ *server) error {
		for n := range runs {
			if err := do(p); err != nil {
				return fmt.Errorf("run %d: %w", n+1, err)
			}
		}
		return nil
	})
}

// with does something in a session.
func (k *kind) with(w *work, r *results, do func(*party, *server) error) (err error) {
	s, err := k.serve(w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.terminate()) }()
	p, err := k.join(w, s.addr, r)
	if err != nil {
		return err
	}
	defer p.leave()
	return do(p, s)
}
