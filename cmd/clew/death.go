package main

import (
	"context"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/cause"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// death finds out what ended the program of a core file, or one that clew runs; nil if nothing did. What cannot be found out costs the
// stacks nothing.
func (f *stackFlags) death(ctx context.Context, at *stop.Stopped, prepared *engine.Prepared) (d *cause.Death) {
	switch {
	case f.core != "":
		d, _ = cause.OfCore(ctx, at, prepared, f.died)
	case f.launched != 0:
		if th, err := at.Current(); err == nil {
			d = cause.OfThread(ctx, at, prepared, th, f.launched)
		}
		if d != nil && d.Crash != nil && d.Crash.Signal == "SIGTRAP" {
			return nil // it has stopped by itself, at a breakpoint instruction of its own, and can go on
		}
	}
	if d == nil || d.Crash == nil {
		return nil
	}
	if n := d.Crash.Frame; n != nil && f.depth > 0 && *n >= f.depth {
		d.Crash.Frame = nil
	}
	return d
}

// first puts the thread that died before the others.
func first(died *reading.Thread, threads []reading.Thread) ([]reading.Thread, bool) {
	for i := range threads {
		if stop.KeyOf(&threads[i]) == stop.KeyOf(died) {
			out := append([]reading.Thread{threads[i]}, threads[:i]...)
			return append(out, threads[i+1:]...), true
		}
	}
	return threads, false
}

// crashOf is what ended the program, where the stack is the one that died.
func crashOf(d *cause.Death, s *unwind.Stack) *stackjson.Crash {
	if d == nil || s.Thread != d.Stack.Thread || s.Goroutine != d.Stack.Goroutine {
		return nil
	}
	return d.Crash
}
