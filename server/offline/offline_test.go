package offline

import (
	"context"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

const (
	code, codeEnd = 0x40_1000, 0x40_3000
	stack         = 0x7ffd_0000_1000
)

func taken() *snapshot.Snapshot {
	th := unwind.Thread{
		ID: 7, Goroutine: 3, FirstPC: unwind.KindInstruction,
		Segments: []unwind.Segment{{Low: stack, High: stack + 0x100, Kind: unwind.SegmentThread}},
		Saved:    &unwind.Saved{G: 0xc000},
		Claims:   []unwind.Frame{{DelveFrame: 1}},
	}
	th.Registers.Set(unwind.AMD64.PC(), code+0x10)
	th.Registers.Set(unwind.AMD64.SP(), stack)
	return &snapshot.Snapshot{
		Arch: unwind.AMD64, OS: "linux", PACMask: 1,
		Images: []snapshot.Image{{Path: "lost.so", Base: 0x40_0000, End: 0x40_4000}},
		Maps: []snapshot.Map{
			{Start: 0x40_0000, End: code, Perm: "r--p", Path: "lost.so"},
			{Start: code, End: codeEnd, Perm: "r-xp", Path: "lost.so (deleted)"},
			{Start: 0x50_0000, End: 0x50_1000, Perm: "rw-p"},
		},
		Threads: []unwind.Thread{th},
		Memory:  []unwind.Window{{Addr: stack, Data: make([]byte, 0x100)}},
	}
}

// TestOpen: a snapshot is the input that the program was.
func TestOpen(t *testing.T) {
	s := taken()
	in, threads, err := Open(s, t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	target := &in.Target
	if target.Arch != s.Arch || target.OS != s.OS || target.PACMask != s.PACMask || target.Order == nil {
		t.Errorf("target %+v", target)
	}
	if !target.Executable.Contains(code) || target.Executable.Contains(0x40_0000) || !target.Writable.Contains(0x50_0000) || target.Writable.Contains(code) {
		t.Errorf("executable %v, writable %v", target.Executable, target.Writable)
	}
	if len(threads) != 1 || threads[0].ID != 7 || threads[0].Goroutine != 3 || threads[0].Saved.G != 0xc000 || len(threads[0].Claims) != 1 ||
		!reflect.DeepEqual(threads[0].Segments, s.Threads[0].Segments) || threads[0].Registers != s.Threads[0].Registers {
		t.Errorf("threads %+v", threads)
	}
	p := make([]byte, 8)
	if err := target.Memory.ReadMemory(stack+8, p); err != nil {
		t.Error(err)
	}
	if err := target.Memory.ReadMemory(stack+0xff, p); err == nil {
		t.Error("memory that the snapshot does not hold was read")
	}
	// Its image is not here: the stack is there, and says so.
	stack := engine.New(nil).Prepare(context.Background(), in).Stack(context.Background(), &threads[0], assembler.Options{})
	if len(stack.Frames) != 1 || stack.Frames[0].Image != "lost.so" || len(stack.Notes) != 1 || !strings.Contains(stack.Notes[0], "lost.so") {
		t.Errorf("%+v", stack)
	}
}

// TestOpenImage: an image is its file below the snapshot's folder, and is read once
// for several snapshots.
func TestOpenImage(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, dir+"/program"); err != nil {
		t.Fatal(err)
	}
	s := taken()
	s.Images = []snapshot.Image{{Path: "program", Base: 0}}
	s.Maps = nil // mappings are not known: the image's code is executable
	o := new(Opener)
	first, _, err := o.Open(s, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Notes) != 0 || first.Target.Executable.Size() == 0 || first.Hosted.Size() == 0 {
		t.Errorf("notes %q, executable %v, Go's code %v", first.Notes, first.Target.Executable, first.Hosted)
	}
	again, _, err := o.Open(s, dir)
	if err != nil || again.Keys[0] != first.Keys[0] {
		t.Errorf("the image was read twice: %v", err)
	}
}

// TestOpenRefuses: what cannot be a snapshot of a program is an error.
func TestOpenRefuses(t *testing.T) {
	for what, change := range map[string]func(*snapshot.Snapshot){
		"base at the end":       func(s *snapshot.Snapshot) { s.Images = []snapshot.Image{{Path: "x", Base: 1<<64 - 1}} },
		"memory beyond the end": func(s *snapshot.Snapshot) { s.Memory[0].Addr = 1<<64 - 1 },
	} {
		s := taken()
		change(s)
		if in, _, err := Open(s, ".", ""); err == nil {
			t.Errorf("%s: %+v", what, in)
		}
	}
}

// TestImageMap: images begin where they are mapped, and have the code that is
// mapped of them, deleted files included.
func TestImageMap(t *testing.T) {
	s := taken()
	m, err := s.ImageMap()
	if err != nil {
		t.Fatal(err)
	}
	img := m.Images()[0]
	want := []imagemap.Range{{Start: code, End: codeEnd}}
	if img.Base != 0x40_0000 || img.Loaded.Bias != 0x40_0000 || !reflect.DeepEqual(img.Loaded.Executable, want) {
		t.Errorf("%+v, loaded %+v", img, img.Loaded)
	}
	s.Images[0].Base = 0x3f_0000 // a bias below its first mapping
	if m, err = s.ImageMap(); err != nil || m.Images()[0].Base != 0x40_0000 || m.Images()[0].Loaded.Bias != 0x3f_0000 {
		t.Errorf("%+v, %v", m, err)
	}
}
