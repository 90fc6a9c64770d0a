package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// errInterrupted is the cause of the end of a command's context.
var errInterrupted = errors.New("interrupted")

// interruptGrace is the time that a command may take to end in order. Some things
// cannot be cancelled: a write to a pipe without a reader, Delve reading a large
// program's debug information. The life-lines, which guard against the death of
// clew, clear away the rest.
const interruptGrace = time.Second

// untilInterrupted returns a context that ends with Ctrl-C or SIGTERM; stop
// releases it. A second signal ends clew at once.
func untilInterrupted() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
			return
		case <-signals:
		}
		signal.Stop(signals)
		cancel(errInterrupted)
		select {
		case <-done:
		case <-time.After(interruptGrace):
			fmt.Fprintf(os.Stderr, "clew: %v\n", errInterrupted)
			os.Exit(exitFailed)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
