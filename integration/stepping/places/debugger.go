package places

import (
	"errors"
	"fmt"
	"os"

	"github.com/clewdbg/clew/imagemap"
)

// state is a program at a stop.
type state struct {
	exited bool
	status int
	why    string // the debugger's word for the stop
	thread uint64
	pc, sp uint64
	lr     uint64 // arm64's x30
	// high is the upper end of the goroutine's stack, 0 where there is none.
	high uint64
}

// debugger is one of the two, with a program of ours that has come to main.ready.
type debugger interface {
	pid() int
	// breakAt replaces all breakpoints.
	breakAt(addrs ...uint64) error
	resume() (state, error)
	// step is next or stepOut. The error is a *refusal where the debugger declined
	// and nothing has run.
	step(command string) (state, error)
	word(addr uint64) (uint64, error)
	// close ends the program, if it runs still.
	close() error
}

// refusal is a debugger's own word for why it does not step.
type refusal struct{ reason string }

func (r *refusal) Error() string { return "refused: " + r.reason }

func refused(err error) (string, bool) {
	var r *refusal
	if errors.As(err, &r) {
		return r.reason, true
	}
	return "", false
}

// run is where one run of the program writes to.
type run struct {
	program  *built
	scenario string
	stdout   string // file
	record   string // file
}

func (r *run) args() []string { return []string{r.program.path, r.scenario, r.record} }

// env is the program's environment beyond our own.
func (r *run) env() string { return "STEPS_LIBRARY=" + r.program.native }

// bias is the library's load bias.
func (p *built) bias(pid int) (uint64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	maps, err := imagemap.ParseMaps(f)
	if err != nil {
		return 0, err
	}
	for _, m := range maps {
		if m.Path == p.native {
			return m.Start - m.Offset, nil
		}
	}
	return 0, fmt.Errorf("%s is not loaded", p.native)
}
