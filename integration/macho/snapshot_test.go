package macho

import (
	"debug/macho"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/offline"
	"github.com/clewdbg/clew/unwind"
)

// signature has the bits that qemu signs return addresses in.
const signature = 0x7f << 48

// every is how many instructions there are from one snapshot to the next.
const every = 7

// TestSnapshots: the stacks that all of clew makes of snapshots, taken on the way
// down and up, with libraries as files and in memory only, are those that the
// program had. Where they end early no frame is wrong.
func TestSnapshots(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	list := []round{{targets[0], "-Os", 2}, {targets[1], "-O2", 2}}
	if os.Getenv("CLEW_MACHO") == "full" {
		list = rounds()
	}
	for _, r := range list {
		t.Run(r.String(), func(t *testing.T) {
			p := build(t, r.target, r.level, r.seed, 20)
			tr := newTracer(t, &p)
			s := &snapshots{tracer: tr, program: &p, engine: engine.New(inprocess.Strategies())}
			tr.watch = func() {
				if s.turns++; s.turns%every == 0 || tr.where(tr.pc()) == tr.bottom {
					s.take()
				}
			}
			tr.run()
			t.Logf("%d snapshots: %d whole, %d cut off, %d with scanned frames, %d wrong", s.taken, s.whole, s.cut, s.scanned, s.wrong)
			if s.wrong > 0 || s.taken < 100 || (s.taken-s.whole)*100 > s.taken {
				t.Errorf("%d of %d are whole, %d wrong", s.whole, s.taken, s.wrong)
			}
		})
	}
}

// snapshots takes snapshots of a program that is stepped.
type snapshots struct {
	*tracer
	program *program
	engine  *engine.Engine
	opener  offline.Opener
	turns   int

	taken, whole, cut, scanned, wrong int
}

// take takes a snapshot, as a line of text, and compares its stack.
func (s *snapshots) take() {
	if strings.HasPrefix(s.where(s.pc()), "dyld_stub_binder") {
		return // a substitute
	}
	s.taken++
	sp := s.regs[s.arch.SP()]
	shot := &snapshot.Snapshot{Arch: s.arch, OS: "darwin", PACMask: signature}
	if s.arch == unwind.AMD64 {
		shot.PACMask = 0
	}
	th := unwind.Thread{ID: 1, Segments: []unwind.Segment{{Low: stackAt, High: stackAt + stackSize, Kind: unwind.SegmentThread}}}
	for r, v := range s.registers() {
		th.Registers.Set(r, v)
	}
	shot.Threads = []unwind.Thread{th}
	from := sp - 256
	shot.Memory = []unwind.Window{{Addr: from, Data: slices.Clone(s.stack[from-stackAt:])}}
	for i, path := range s.program.libraries {
		image := snapshot.Image{Path: path, Base: base(i)}
		if s.taken%2 == 0 { // in memory only
			image.Path = fmt.Sprintf("[library %d]", i)
			shot.Memory = append(shot.Memory, segments(s.t, path, base(i))...)
		}
		shot.Images = append(shot.Images, image)
	}
	text, err := shot.Marshal()
	if err != nil {
		s.t.Fatal(err)
	}
	if shot, err = snapshot.Parse(text); err != nil {
		s.t.Fatal(err)
	}
	in, threads, err := s.opener.Open(shot, ".")
	if err != nil {
		s.t.Fatal(err)
	}
	stack := s.engine.Prepare(s.t.Context(), in).Stack(s.t.Context(), &threads[0], assembler.Options{})
	s.judge(&stack)
}

// registers are those that a debugger knows.
func (s *snapshots) registers() map[unwind.Register]uint64 {
	out := map[unwind.Register]uint64{s.arch.PC(): s.pc(), s.arch.SP(): s.regs[s.arch.SP()]}
	general := unwind.Register(16)
	if s.arch == unwind.ARM64 {
		general = 31
	}
	for r := range general {
		out[r] = s.regs[r]
	}
	return out
}

// judge compares a stack with the truth: of the loader, which calls the first
// function, no one knows anything.
func (s *snapshots) judge(stack *unwind.Stack) {
	scanned := false
	for i := range stack.Frames {
		f := &stack.Frames[i]
		scanned = scanned || f.Trust == unwind.TrustScan
		want := s.pc()
		if i > 0 && i <= len(s.Stack) {
			want = s.Stack[len(s.Stack)-i].RA
		}
		if i >= len(s.Stack) || f.PC.Raw() != want || f.CFA != s.Stack[len(s.Stack)-1-i].CFA && f.CFA != 0 {
			if f.Trust != unwind.TrustScan {
				s.wrong++
				s.t.Errorf("at %s: frame %d is %s with CFA %#x, by %s with trust %s (%s)", s.where(s.pc()), i, s.where(f.PC.Raw()), f.CFA, f.Strategy, f.Trust, f.Rule)
			}
			return
		}
	}
	if scanned {
		s.scanned++
	}
	if len(stack.Frames) == len(s.Stack) {
		s.whole++
		return
	}
	s.cut++
	s.t.Logf("at %s: %d of %d frames: %s", s.where(s.pc()), len(stack.Frames), len(s.Stack), stack.Reason)
}

// segments returns a library as a loader has it in memory.
func segments(t testing.TB, path string, base uint64) (out []unwind.Window) {
	t.Helper()
	f, err := macho.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, l := range f.Loads {
		if s, ok := l.(*macho.Segment); ok && s.Filesz > 0 {
			data, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, unwind.Window{Addr: base + s.Addr, Data: data})
		}
	}
	return out
}
