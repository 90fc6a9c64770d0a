package main

import (
	"os"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestNoRequestWaits: every request of both protocols is answered or refused in every state, on every kind of server, and no
// other waits behind it.
func TestNoRequestWaits(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	for _, byDlv := range []bool{false, true} {
		for i := range places {
			p := &places[i]
			if byDlv && !p.rpc {
				continue
			}
			client := map[bool]string{false: editors, true: terminals}[byDlv]
			t.Run(p.name+" by "+client, func(t *testing.T) {
				a := &waits{work: built, place: p, byDlv: byDlv, limit: testneed.Patience(answerLimit)}
				if err := a.askAll(states); err != nil {
					t.Error(err)
				}
				for _, text := range a.wrong() {
					t.Error(text)
				}
				if testing.Verbose() {
					printWaits(os.Stdout, p.name, []*waits{a})
				}
			})
		}
	}
}
