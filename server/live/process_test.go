package live

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// loading is testdata/loads under Delve, with the library that it loads.
type loading struct {
	*delve.Session
	library string
}

func startLoading(t *testing.T) *loading {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	cc, dir := testneed.CC(t), t.TempDir()
	l := &loading{library: filepath.Join(dir, "through.so")}
	source := filepath.Join(dir, "through.c")
	if err := os.WriteFile(source, []byte("void through(void (*f)(void)) { f(); f(); }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "loads")
	build := exec.Command("go", "build", "-o", program, "./testdata/loads")
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "CC="+cc)
	for _, c := range []*exec.Cmd{exec.Command(cc, "-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id", "-o", l.library, source), build} {
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	var err error
	if l.Session, err = delve.Launch(delve.LaunchConfig{Args: []string{program, l.library}, NoStdin: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := NewProcess(l.Session).RunTo(context.Background(), nil, "pause_here"); err != nil {
		t.Fatal(err)
	}
	return l
}

// run lets the program run to its next pause.
func (l *loading) run(t *testing.T) {
	t.Helper()
	if stop, err := l.Continue(context.Background()); err != nil || stop.Reason != held.StopBreakpoint {
		t.Fatalf("%+v, %v", stop, err)
	}
}

// has says whether the library is among the images.
func (l *loading) has(v *View) bool {
	return slices.ContainsFunc(v.Input.Images, func(img unwind.Image) bool { return img.Path == l.library })
}

// sameInput demands that a later read returns what a first one would.
func (l *loading) sameInput(t *testing.T, v *View) {
	t.Helper()
	fresh, err := NewProcess(l.Session).Read(false)
	if err != nil {
		t.Fatal(err)
	}
	a, b := &v.Input, &fresh.Input
	if !reflect.DeepEqual(a.Images, b.Images) || !slices.Equal(a.Notes, b.Notes) || !slices.Equal(a.Hosted, b.Hosted) {
		t.Errorf("images %+v\nnotes %q\nafresh %+v\nnotes %q", a.Images, a.Notes, b.Images, b.Notes)
	}
	if !slices.Equal(a.Target.Executable, b.Target.Executable) || !slices.Equal(a.Target.Writable, b.Target.Writable) {
		t.Errorf("mappings %v %v, afresh %v %v", a.Target.Executable, a.Target.Writable, b.Target.Executable, b.Target.Writable)
	}
	for _, img := range a.Images {
		at := unwind.Code(img.Executable[0].Start+64, unwind.KindInstruction).Lookup(unwind.AMD64)
		f, ok := v.Code().Function(at)
		g, ok2 := fresh.Code().Function(at)
		if f != g || ok != ok2 {
			t.Errorf("%s: function %+v, afresh %+v", img.Path, f, g)
		}
	}
}

// What a process has loaded is read again only where it has changed, and comes
// out as if all were read.
func TestLaterLooks(t *testing.T) {
	l := startLoading(t)
	p := NewProcess(l.Session)
	read := func() *View {
		v, err := p.Read(false)
		if err != nil {
			t.Fatal(err)
		}
		l.sameInput(t, v)
		return v
	}
	before := read()
	if l.has(before) {
		t.Fatal("the library is loaded before it is")
	}
	var with []*View
	for range 3 { // twice in the library, once behind it
		l.run(t)
		with = append(with, read())
		if !l.has(with[len(with)-1]) {
			t.Fatal("the library is not seen")
		}
	}
	if with[0].Code() != with[2].Code() {
		t.Error("nothing was loaded, and yet the code was read again")
	}
	for i, key := range before.Input.Keys {
		if !slices.Contains(with[0].Input.Keys, key) {
			t.Errorf("%s is described again", before.Input.Images[i].Path)
		}
	}
	if len(with[0].Input.Keys) != len(before.Input.Keys)+1 {
		t.Errorf("%d images, then %d", len(before.Input.Keys), len(with[0].Input.Keys))
	}
	l.run(t)
	if after := read(); l.has(after) {
		t.Error("the library is still seen after it has gone")
	}
}

// A file that was written to while it was loaded is not used.
func TestFileChangesWhileLoaded(t *testing.T) {
	l := startLoading(t)
	p := NewProcess(l.Session)
	l.run(t)
	read := func() *View {
		v, err := p.Read(false)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	find := func(v *View) int { return len(v.Code().Find("through")) }
	v := read()
	if find(v) != 1 || len(v.Input.Notes) > 0 {
		t.Fatalf("through is found %d times; %q", find(v), v.Input.Notes)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(l.library, later, later); err != nil {
		t.Fatal(err)
	}
	l.run(t)
	for range 2 {
		v = read()
		if notes := strings.Join(v.Input.Notes, "\n"); find(v) != 0 || !strings.Contains(notes, l.library+" was written to") {
			t.Errorf("through is found %d times; %q", find(v), notes)
		}
	}
}

// Of a file that was replaced, what the process has loaded is used; the kernel
// keeps it.
func TestFileReplacedWhileLoaded(t *testing.T) {
	l := startLoading(t)
	l.run(t)
	p := NewProcess(l.Session)
	before, err := p.Read(false)
	if err != nil {
		t.Fatal(err)
	}
	through := before.Code().Find("through")
	other := filepath.Join(t.TempDir(), "other.so")
	if err := os.WriteFile(other, []byte("something else"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, l.library); err != nil {
		t.Fatal(err)
	}
	v, err := p.Read(false)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(v.Input.Images, func(img unwind.Image) bool { return img.Path == l.library })
	about := v.Input.About()
	if i < 0 || len(about[i]) != 1 || !strings.Contains(about[i][0], l.library+" was replaced") {
		t.Fatalf("image %d, notes %q", i, about)
	}
	if found := v.Code().Find("through"); len(found) != 1 || !slices.Equal(found, through) {
		t.Errorf("through is found at %#x, and was at %#x", found, through)
	}
}

// An image reads from memory as from its file, as far as it is loaded.
func TestLoadedImages(t *testing.T) {
	l := startLoading(t)
	l.run(t)
	v, err := NewProcess(l.Session).Read(false)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, img := range v.Images().All() {
		if img.Loaded.File != imagemap.FilePresent {
			continue
		}
		file, err := symbols.Open(img.Path)
		if err != nil {
			t.Fatal(err)
		}
		memory, read, err := symbols.Loaded(unwind.ReaderAt{Memory: v.Input.Target.Memory}, img.Base, img.Loaded.Bias)
		if err != nil || len(read) == 0 {
			t.Fatalf("%s: %v", img.Path, err)
		}
		compared++
		if !bytes.Equal(file.BuildID(), memory.BuildID()) {
			t.Errorf("%s: build ID %x, in memory %x", img.Path, file.BuildID(), memory.BuildID())
		}
		for _, r := range file.Executable() {
			if !bytes.Equal(file.Code(r.Start, 1<<20), memory.Code(r.Start, 1<<20)) {
				t.Errorf("%s: the code is another in memory", img.Path)
			}
		}
		header, _ := file.Section(".eh_frame_hdr")
		frame, _ := file.Section(".eh_frame")
		segment, ok := memory.Section("segment:0x6474e550")
		if !ok || segment.Vaddr != header.Vaddr || !bytes.HasPrefix(segment.Data, header.Data) {
			t.Errorf("%s: .eh_frame_hdr at %#x, in memory %#x (%v)", img.Path, header.Vaddr, segment.Vaddr, ok)
		} else if at := frame.Vaddr - segment.Vaddr; at >= uint64(len(segment.Data)) || !bytes.HasPrefix(segment.Data[at:], frame.Data) {
			t.Errorf("%s: .eh_frame is another in memory", img.Path)
		}
		before, _ := memory.Section("segment-before:0x6474e550")
		if before.Vaddr+uint64(len(before.Data)) != segment.Vaddr {
			t.Errorf("%s: segment [%#x, +%#x) before %#x", img.Path, before.Vaddr, len(before.Data), segment.Vaddr)
		}
		exported := exportedFunctions(t, img.Path)
		if strings.HasPrefix(filepath.Base(img.Path), "libc.") && len(exported) < 500 {
			t.Errorf("%s exports %d functions", img.Path, len(exported))
		}
		for _, s := range exported {
			if b, ok := memory.FunctionBounds(s.Value); !ok || b.Start != s.Value || b.End != s.Value+s.Size {
				t.Errorf("%s: %s is [%#x, +%#x), in memory %+v", img.Path, s.Name, s.Value, s.Size, b)
			}
		}
	}
	if compared < 3 {
		t.Errorf("%d images were compared", compared)
	}
}

// exportedFunctions lists the dynamic symbols of functions with a size, one for
// each address.
func exportedFunctions(t *testing.T, path string) (out []elf.Symbol) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for _, s := range all {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 && s.Section != elf.SHN_UNDEF && !seen[s.Value] {
			seen[s.Value] = true
			out = append(out, s)
		}
	}
	return out
}

// A snapshot made at a later stop holds the vDSO, which was read at the first.
func TestSnapshotOfLaterStopHasTheVDSO(t *testing.T) {
	l := startLoading(t)
	p := NewProcess(l.Session)
	if _, err := p.Read(false); err != nil {
		t.Fatal(err)
	}
	l.run(t)
	v, err := p.Read(true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := v.Snapshot(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Images, func(img snapshot.Image) bool { return img.Path == "[vdso]" })
	if i < 0 {
		testneed.LeaveOut(t, "this kernel gives its processes no vDSO")
	}
	var head [4]byte
	for _, w := range s.Memory {
		if w.Contains(s.Images[i].Base, len(head)) {
			copy(head[:], w.Data[s.Images[i].Base-w.Addr:])
		}
	}
	if string(head[:]) != "\x7fELF" {
		t.Errorf("the snapshot has no vDSO: %q at %#x", head, s.Images[i].Base)
	}
}

// Goroutines and threads are found one by one as they are in the whole list.
func TestOneGoroutine(t *testing.T) {
	l := startLoading(t)
	v, err := NewProcess(l.Session).Read(false)
	if err != nil {
		t.Fatal(err)
	}
	all, err := v.Goroutines()
	if err != nil || len(all) < 2 {
		t.Fatalf("%d goroutines, %v", len(all), err)
	}
	for _, want := range all {
		again, err := NewProcess(l.Session).Read(false)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := again.Goroutine(want.Goroutine); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("goroutine %d: %+v, %v; in the list %+v", want.Goroutine, got, err, want)
		}
	}
	if _, err := v.Goroutine(1 << 40); err == nil {
		t.Error("a goroutine that does not exist was found")
	}
	threads, err := v.Threads()
	if err != nil {
		t.Fatal(err)
	}
	current, err := v.Current()
	if err != nil || !slices.ContainsFunc(threads, func(th reading.Thread) bool { return reflect.DeepEqual(th, current) }) {
		t.Errorf("current %+v (%v) is none of %+v", current, err, threads)
	}
}

// deaf is a source that must not be asked: while a program runs, Delve answers at its next stop.
type deaf struct{ Source }

// TestAhead: what a running process maps is known before it stops, without Delve, and the stop then finds the same
// images as one that knows nothing yet.
func TestAhead(t *testing.T) {
	l := startLoading(t)
	p := NewProcess(l.Session)
	if p.Ahead() != nil {
		t.Fatal("there is something ahead before the first stop")
	}
	if _, err := p.Read(false); err != nil {
		t.Fatal(err)
	}
	l.run(t)
	source, place := p.source, p.place
	p.source, p.place = deaf{}, running{deaf{}}
	in := p.Ahead()
	if in == nil || !l.has(&View{Input: *in}) {
		t.Fatalf("the library is not seen ahead: %+v", in)
	}
	if p.Ahead() != nil {
		t.Error("what is known is new again")
	}
	p.source, p.place = source, place
	v, err := p.Read(false)
	if err != nil {
		t.Fatal(err)
	}
	l.sameInput(t, v)
	if !slices.Equal(v.Input.Keys, in.Keys) {
		t.Error("images that were seen ahead are others at the stop")
	}
	for range 3 { // the last stop is behind dlclose
		l.run(t)
		p.Ahead()
		if v, err = p.Read(false); err != nil {
			t.Fatal(err)
		}
		l.sameInput(t, v)
	}
	if l.has(v) {
		t.Error("the library is seen behind its end")
	}
}
