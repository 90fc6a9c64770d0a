package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/clewdbg/clew/internal/printable"
)

// Exit codes of clew's own commands.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitTruncated = 3 // done, but a stack is truncated
)

// exitError carries an exit code; err is nil where there is nothing to print.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageErrorf is wrong usage: exit code 2.
func usageErrorf(format string, a ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, a...)}
}

// failf is a failure: exit code 1.
func failf(format string, a ...any) error {
	return &exitError{exitFailed, fmt.Errorf(format, a...)}
}

// exitWith ends with a code and says nothing more.
func exitWith(code int) error {
	if code == exitDone {
		return nil
	}
	return &exitError{code, nil}
}

// exitCode returns the code for an error, and what to print of it.
func exitCode(err error) (int, error) {
	if err == nil {
		return exitDone, nil
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code, e.err
	}
	return exitFailed, err
}

// tell writes one line to a person. What it quotes may come from a file, a peer or
// a plugin.
func tell(w io.Writer, format string, a ...any) {
	fmt.Fprintf(w, "clew: %s\n", printable.Line(fmt.Sprintf(format, a...)))
}
