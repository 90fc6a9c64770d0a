package main

import (
	"io"

	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
)

// stackResult is what clew stack and the demo have found.
type stackResult struct {
	view    *live.View
	threads []unwind.Thread
	stacks  []unwind.Stack
	// addresses is all that is kept of the one stack's frames, where it is set: a
	// stack of a million frames need not be held whole to be written as CBF.
	addresses *export.Addresses
	all       bool // all were asked for: cbf makes a folder, however many there are
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
func (r *stackResult) write(out io.Writer, format, path string) error {
	set := r.set()
	switch {
	case format == "cbf" && r.addresses != nil:
		return export.WriteAddresses(path, set.Arch, &r.stacks[0], r.addresses, set.Images)
	case path != "":
		return set.WritePath(path, format)
	}
	return set.Write(out, format)
}

func (r *stackResult) set() *export.Set {
	return &export.Set{
		Arch: r.view.Input.Target.Arch, Stacks: r.stacks, Threads: r.threads, Images: r.view.Images(), All: r.all,
		Snapshot: func() (*snapshot.Snapshot, error) { return r.view.Snapshot(r.threads, r.stacks) },
	}
}
