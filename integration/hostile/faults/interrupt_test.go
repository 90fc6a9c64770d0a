//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// early is how long it can take until clew minds signals, on a busy machine.
const early = 500 * time.Millisecond

// TestInterrupt ends clew by Ctrl-C and SIGTERM: it says so in a line, ends with
// an exit code, and leaves nothing behind.
func TestInterrupt(t *testing.T) {
	need(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for _, w := range ways {
			t.Run(fmt.Sprintf("%v/%s", sig, w.name), func(t *testing.T) {
				rng := random(t)
				span := w.span(t)
				for range rounds(3) {
					r, inTime := w.hit(t, moment(rng, span), sig)
					code, stderr := r.cmd.ProcessState.ExitCode(), r.stderr.String()
					if !inTime || code == 0 { // it was done, or as good as done
						continue
					}
					if code == -1 && r.took < early {
						continue // before clew's own first line of code
					}
					out := r.stdout.String()
					lines := strings.Split(strings.TrimSpace(stderr), "\n")
					if last := lines[len(lines)-1]; code != 1 || last != "clew: interrupted" || out != "" && !whole(out) {
						t.Errorf("exit code %d, stdout %.300q, stderr %q; want 1 and one line, and no half of a stack", code, out, stderr)
					}
				}
			})
		}
	}
}

// whole says whether all of a stack was printed: then clew was interrupted while
// it ended the program, which takes its time on a busy machine.
func whole(stdout string) bool {
	return json.Valid([]byte(stdout)) || strings.HasSuffix(stdout, "\n  end: runtime.goexit\n")
}
