package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

var (
	sequenceCount = flag.Uint64("sequences", 60, "random sequences of requests on servers of clew's own; a third as many go through clew proxy")
	firstSequence = flag.Uint64("seed", 1, "of the first sequence")
)

// TestRandomSequences: random requests at random moments, by all clients of a session, hang none of them.
func TestRandomSequences(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	for _, group := range []struct {
		name   string
		places []place
		count  uint64
	}{{"own", places[:3], *sequenceCount}, {"proxy", places[3:], *sequenceCount / 3}} {
		t.Run(group.name, func(t *testing.T) {
			q := &sequences{t: t, places: group.places}
			defer q.stand()
			for n := range group.count {
				q.run(*firstSequence + n)
			}
			t.Logf("%d sequences, %d requests, the slowest answer %v", group.count, q.requests, q.slowest)
		})
	}
}

// sequences are random requests at random moments, by all clients of one session.
type sequences struct {
	t      *testing.T
	places []place
	seats  []*seat // the first has the session; none before it begins
	left   int     // sequences for this session

	requests int
	slowest  time.Duration
}

// inSession is how many sequences one session has at most, and inSequence how many requests a sequence has.
const (
	inSession  = 20
	inSequence = 25
)

// moving are the words of requests that let the program run, or halt it: half of a sequence.
var moving = []string{"continue", "next", "stepIn", "stepOut", "pause", "Command continue", "Command next", "Command step", "Command halt", "evaluate a call"}

// run runs one sequence; the same seed sends the same requests.
func (q *sequences) run(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	p := &q.places[seed/inSession%uint64(len(q.places))]
	if q.left == 0 || len(q.seats) == 0 {
		q.stand()
		if err := q.sit(p, r); err != nil {
			q.t.Fatalf("seed %d, %s: %v", seed, p.name, err)
		}
	}
	q.left--
	var calls []*call
	var log []string
	for range inSequence {
		s := q.seats[r.IntN(len(q.seats))]
		c, err := s.send(s.pick(r))
		if err != nil {
			break // its connection has ended
		}
		calls, log = append(calls, c), append(log, c.of.name)
		if r.IntN(2) == 0 {
			time.Sleep(time.Duration(r.IntN(5000)) * time.Microsecond)
		}
	}
	q.requests += len(calls)
	hangs, goesOn := q.settle(calls)
	if hangs != "" {
		q.seats[0].server.quit()
		q.t.Errorf("seed %d, %s: %s hangs: %s", seed, q.seats[0].place.name, hangs, strings.Join(log, ", "))
	}
	for _, c := range calls {
		if late := q.late(c); late != 0 {
			q.t.Errorf("seed %d, %s: %s is answered after %s", seed, q.seats[0].place.name, c.of.name, ms(late))
		}
	}
	if !goesOn {
		q.stand()
	}
}

// settle halts the program until every request is answered: one that is read late lets it run again. It returns which one hangs, and whether the
// session goes on.
func (q *sequences) settle(calls []*call) (hangs string, goesOn bool) {
	lives := true
	for end := time.Now().Add(testneed.Patience(patience)); ; {
		lives = lives && q.seats[0].stops() == nil
		i := slices.IndexFunc(calls, func(c *call) bool { return c.of.waits != forEvent && c.wait(10*time.Millisecond).outcome == nothing })
		switch {
		case i < 0:
			return "", lives && !slices.ContainsFunc(calls, func(c *call) bool { return c.of.ends })
		case time.Now().After(end):
			return calls[i].of.name, false
		}
	}
}

// lateLimit is far more than what clew itself waits for anything, and less than what a halt waits for a program.
const lateLimit = 5 * time.Second

// late returns how long a request took that took too long, else 0. A run, and what waits for a stop, takes as long as it likes; where the
// session has ended, its connection may have, too.
func (q *sequences) late(c *call) time.Duration {
	if c.ended == nil || c.ended.outcome == over || c.of.waits != "" || c.of.ends || resumes(&c.of) {
		return 0
	}
	q.slowest = max(q.slowest, c.ended.after)
	if c.ended.after > testneed.Patience(lateLimit) {
		return c.ended.after
	}
	return 0
}

// pick picks a request; one that ends the session is rare.
func (s *seat) pick(r *rand.Rand) request {
	all := s.work.dapRequests(&s.at)
	if s.dlv != nil {
		all = s.work.rpcRequests(&s.at)
	}
	move := r.IntN(2) == 0
	for {
		q := all[r.IntN(len(all))]
		if move == slices.Contains(moving, q.name) && (!q.ends || r.IntN(50) == 0) {
			return q
		}
	}
}

// sit begins a session: an editor, and where the server takes more clients one or two of Delve's, and another editor.
func (q *sequences) sit(p *place, r *rand.Rand) error {
	first, err := p.sit(built, false, stopped)
	if err != nil {
		return err
	}
	q.seats, q.left = []*seat{first}, inSession
	for n := r.IntN(3); p.rpc && n > 0; n-- {
		dlv, err := newTerminal("dlv", first.server.addr)
		if err != nil {
			return err
		}
		q.seats = append(q.seats, &seat{place: p, work: built, server: first.server, dlv: dlv, at: first.at})
	}
	if !p.has || r.IntN(2) == 0 {
		return nil
	}
	other, err := newEditor("another editor", first.server.addr)
	if err == nil {
		err = other.attach()
	}
	q.seats = append(q.seats, &seat{place: p, work: built, server: first.server, editor: other, at: first.at})
	return err
}

// stand ends the session.
func (q *sequences) stand() {
	for i, s := range slices.Backward(q.seats) {
		if i > 0 && s.dlv != nil {
			_ = s.dlv.client.Close()
		} else if i > 0 {
			_ = s.editor.client.Close()
		} else {
			s.leave()
		}
	}
	q.seats = nil
}

// quit has the server's processes, and those of one before which it stands, write what their goroutines do.
func (s *server) quit() {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		exe, _ := os.Readlink(filepath.Join(dir, "exe"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if (exe == built.clew || exe == built.dlv) && (descends(pid, s.cmd.Process.Pid) || s.up != nil && descends(pid, s.up.cmd.Process.Pid)) {
			fmt.Fprintf(os.Stderr, "process %d, %s:\n", pid, exe)
			_ = syscall.Kill(pid, syscall.SIGQUIT)
			time.Sleep(200 * time.Millisecond) // one after the other
		}
	}
}
