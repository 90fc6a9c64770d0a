package live

import (
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/internal/version"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/unwind"
)

// Snapshot makes a snapshot of the threads that were unwound, with the memory that
// was read for their stacks, and with the stacks as its expected result. The view
// must have been read with record set.
func (v *View) Snapshot(threads []unwind.Thread, stacks []unwind.Stack) (*snapshot.Snapshot, error) {
	t := &v.Input.Target
	lost := false
	for _, img := range v.Images().All() {
		// Their headers may have been read at an earlier stop, or from a file.
		for _, r := range codemap.MemoryRanges(&img, unwind.ReaderAt{Memory: v.recorder}) {
			_ = v.recorder.ReadMemory(r.Start, make([]byte, r.End-r.Start)) // unreadable memory is missing in the snapshot too
		}
		lost = lost || img.Loaded != nil && (img.Loaded.File == imagemap.FileDeleted || img.Loaded.File == imagemap.FileReplaced)
	}
	v.loaded.code.Record(t.Executable, unwind.ReaderAt{Memory: v.recorder})
	s := &snapshot.Snapshot{Producer: version.Get().String(), Arch: t.Arch, OS: t.OS, PACMask: t.PACMask, Memory: v.recorder.Windows()}
	for _, m := range v.loaded.maps {
		s.Maps = append(s.Maps, snapshot.Map{Start: m.Start, End: m.End, Perm: m.Perm, Path: m.Path})
	}
	for _, img := range v.Images().All() {
		s.Images = append(s.Images, snapshotImage(img))
	}
	s.Threads = append(s.Threads, threads...)
	if lost || v.loaded.code.NamedByFiles() {
		return s, nil // elsewhere there is no such file
	}
	answer := stackjson.FromStacks(t.Arch, stacks, false)
	for i := range answer.Stacks {
		if stacks[i].DepthLimited {
			return s, nil // offline there is no such limit
		}
		a := &answer.Stacks[i]
		a.Notes = nil // about this run: a plugin that died, for example
		a.ThreadName, a.State = "", nil
	}
	expect, err := stackjson.Expect(answer)
	if err != nil {
		return nil, err
	}
	s.Expect = &expect
	return s, nil
}

// snapshotImage converts an image. The base of an ELF image in a snapshot is its load
// bias, not the start of its first mapping.
func snapshotImage(img imagemap.Image) snapshot.Image {
	base := img.Base
	if img.Loaded != nil && img.Loaded.HasBias {
		base = img.Loaded.Bias
	}
	return snapshot.Image{Path: img.Path, Base: base, End: img.EndOfText, BuildID: img.BuildID}
}
