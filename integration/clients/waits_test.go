package main

import (
	"os"
	"sync"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestNoRequestWaits: every request of both protocols is answered or refused in every state, on every kind of server, and no
// other waits behind it. A few servers are asked at once: most of the time is spent on waiting for what is to wait.
func TestNoRequestWaits(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	if err := built.buildDlv(); err != nil {
		t.Fatal(err)
	}
	var all []*waits
	for i := range places {
		for _, byDlv := range []bool{false, true} {
			if !byDlv || places[i].rpc {
				all = append(all, &waits{work: built, place: &places[i], byDlv: byDlv, limit: testneed.Patience(answerLimit)})
			}
		}
	}
	ended := make([]error, len(all))
	var group sync.WaitGroup
	few := make(chan struct{}, 3)
	for i, a := range all {
		group.Go(func() {
			few <- struct{}{}
			defer func() { <-few }()
			ended[i] = a.askAll(states)
		})
	}
	group.Wait()
	for i, a := range all {
		t.Run(a.place.name+" by "+map[bool]string{false: editors, true: terminals}[a.byDlv], func(t *testing.T) {
			if ended[i] != nil {
				t.Error(ended[i])
			}
			for _, text := range a.wrong() {
				t.Error(text)
			}
			if testing.Verbose() {
				printWaits(os.Stdout, a.place.name, []*waits{a})
			}
		})
	}
}
