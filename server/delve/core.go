package delve

import (
	"fmt"

	"github.com/go-delve/delve/service/debugger"
)

// CoreError says that a core file could not be opened with an executable.
type CoreError struct {
	Core, Executable string
	Err              error
}

// Error names both files and the cause.
func (e *CoreError) Error() string {
	return fmt.Sprintf("cannot open core file %s of %s: %v", e.Core, e.Executable, e.Err)
}

// Unwrap returns the cause.
func (e *CoreError) Unwrap() error { return e.Err }

// OpenCore opens a core file of a Go program. Delve reads the code of every
// library as if it were the executable's: of the session's memory only what the
// core file holds can be relied upon (server/corefile).
func OpenCore(core, executable string) (*Session, error) {
	if err := checkLaunch(executable); err != nil {
		return nil, &CoreError{core, executable, err}
	}
	s, err := open(&debugger.Config{CoreFile: core, Backend: "default"}, []string{executable})
	if err != nil {
		return nil, &CoreError{core, executable, oneLine(err)}
	}
	return s, nil
}
