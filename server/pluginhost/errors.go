package pluginhost

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrClosed is what calls return once the host is closed.
var ErrClosed = errors.New("the plugin host is closed")

// errOverdue marks the host's deadlines.
var errOverdue = errors.New("the plugin did not answer in time")

// CrashError says that a plugin's process is gone, or no longer to be talked
// to.
type CrashError struct {
	Plugin string
	Status string // "signal: killed"; "exit status unknown"
}

// Error says how it ended.
func (e *CrashError) Error() string {
	return fmt.Sprintf("plugin %s crashed (%s)", e.Plugin, e.Status)
}

// TimeoutError says that a plugin did not answer in time, and was killed.
type TimeoutError struct {
	Plugin string
	Method string
	After  time.Duration
}

// Error says what took too long.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("plugin %s did not answer %s within %v", e.Plugin, e.Method, e.After)
}

// Timeout says that the error is one of time, as net.Error does.
func (e *TimeoutError) Timeout() bool { return true }

// StartError says why a plugin could not be started.
type StartError struct {
	Plugin string
	Path   string
	Err    error
	// permanent: another try would fail likewise.
	permanent bool
}

// Error names the plugin, its executable and the cause, in one line: go-plugin
// explains itself in several.
func (e *StartError) Error() string {
	cause := strings.Join(strings.Fields(e.Err.Error()), " ")
	return fmt.Sprintf("cannot start plugin %s (%s): %s", e.Plugin, e.Path, cause)
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// ChecksumError says that a third party's executable is not the one that the
// configuration means.
type ChecksumError struct {
	Path      string
	Want, Got string
}

// Error returns both checksums.
func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%s has the sha256 %s, the configuration says %s: if you trust this file, put its checksum there", e.Path, e.Got, e.Want)
}

// DisabledError says that a plugin is switched off for the session. It wraps
// the last failure.
type DisabledError struct {
	Plugin string
	Reason string
	Err    error
}

// Error says why it is off.
func (e *DisabledError) Error() string {
	return fmt.Sprintf("plugin %s is switched off for this session: %s: %v", e.Plugin, e.Reason, e.Err)
}

// Unwrap returns the last failure.
func (e *DisabledError) Unwrap() error { return e.Err }
