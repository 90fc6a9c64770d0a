package delve

import (
	"fmt"

	"github.com/go-delve/delve/service/debugger"

	"github.com/clewdbg/clew/server/delve/executable"
	"github.com/clewdbg/clew/server/delve/held"
)

// OpenCore opens a core file of a Go program; errors call it name. Delve reads the code of every
// library as if it were the executable's: of the session's memory only what the
// core file holds can be relied upon (server/corefile).
func OpenCore(core, name, program string) (*Session, error) {
	err := executable.CheckLaunch(program)
	var s *Session
	if err == nil {
		s, err = open(&debugger.Config{CoreFile: core, Backend: "default"}, []string{program})
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open core file %s of %s: %w", name, program, held.OneLine(err))
	}
	return s, nil
}
