package main

import (
	"io"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/snapshot"
)

// stackFormats are the formats of clew stack.
var stackFormats = []string{"text", "json", "cbf", "swift", "pprof", "snapshot"}

// stackResult is what clew stack and the demo have found.
type stackResult struct {
	view    *live.View
	threads []assembler.Thread
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
	arch := r.view.Input.Target.Arch
	if format == "cbf" {
		if r.all || len(r.stacks) != 1 {
			return export.WriteFolder(path, arch, r.stacks, r.view.Images())
		}
		if r.addresses != nil {
			return export.WriteAddresses(path, arch, &r.stacks[0], r.addresses, r.view.Images())
		}
		return export.WriteStack(path, arch, &r.stacks[0], r.view.Images())
	}
	write := func(w io.Writer) error {
		switch format {
		case "json":
			return export.JSON(w, arch, r.stacks, false)
		case "swift":
			return export.Swift(w, arch, r.stacks, r.view.Images())
		case "pprof":
			return export.Pprof(w, arch, r.stacks, r.view.Images())
		case "snapshot":
			s, err := r.view.Snapshot(r.threads, r.stacks)
			if err != nil {
				return err
			}
			return snapshot.Write(w, s)
		}
		return export.Text(w, r.stacks, r.textOptions(w))
	}
	if path == "" {
		return write(out)
	}
	return export.WriteFile(path, write)
}

// textOptions names the stacks that frames lie on.
func (r *stackResult) textOptions(w io.Writer) export.TextOptions {
	return export.TextOptions{
		Color: export.Color(w),
		SegmentName: func(s *unwind.Stack, segment int) string {
			for _, th := range r.threads {
				if th.ID == s.Thread && th.Goroutine == s.Goroutine && segment >= 0 && segment < len(th.Segments) {
					return segmentText[th.Segments[segment].Kind]
				}
			}
			return ""
		},
	}
}

// segmentText says what a stack is, for people.
var segmentText = map[unwind.SegmentKind]string{
	unwind.SegmentThread:    "thread stack",
	unwind.SegmentGoroutine: "goroutine stack",
	unwind.SegmentG0:        "system stack (g0)",
	unwind.SegmentSignal:    "signal stack",
}
