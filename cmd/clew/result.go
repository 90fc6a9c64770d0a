package main

import (
	"io"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// stackResult is the result of clew stack and of the demo.
type stackResult struct {
	at      *stop.Stopped
	threads []unwind.Thread
	stacks  []unwind.Stack
	// addresses is all that is kept of the one stack's frames, where it is set: a
	// stack of a million frames need not be held whole to be written as CBF.
	addresses *export.Addresses
	names     names.Style
	evidence  bool
	held      *held            // values, nil for none
	crash     *stackjson.Crash // what ended the program, nil for none
}

// exitCode is 3 when a stack is truncated, be it by the depth asked for.
func (r *stackResult) exitCode() int {
	for _, s := range r.stacks {
		if s.Stop == unwind.Truncated {
			return exitTruncated
		}
	}
	return exitDone
}

// write puts the stacks into the file at path, or onto out where path is empty.
func (r *stackResult) write(out io.Writer, form *export.Format, path string) error {
	set := r.set()
	switch {
	case r.addresses != nil:
		return form.Addresses(path, set.Arch, &r.stacks[0], r.addresses, set.Images)
	case path != "":
		return set.WritePath(path, form.Name)
	}
	return set.Write(out, form.Name)
}

func (r *stackResult) set() *export.Set {
	set := &export.Set{
		Arch: r.at.Arch(), Stacks: slices.Values(r.stacks), Threads: r.threads, Images: r.at.Images(), Names: r.names, Crash: r.crash, Evidence: r.evidence,
		Snapshot: func() (*snapshot.Snapshot, error) { return r.at.Snapshot(r.threads, r.stacks) },
	}
	r.held.add(set)
	return set
}
