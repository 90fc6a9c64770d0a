package crashreport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/clewdbg/clew/internal/crashguard"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/internal/version"
	"github.com/clewdbg/clew/server/cause"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/glance"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/server/listing"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// Socket is the other end of a program's crash output.
type Socket struct {
	File   *os.File
	Output io.Writer // gets the text, too; nil for none
	Done   func()    // is called when the program is let go of; File must allow deadlines
}

// maxText is how much is read of Go's text. The rest of the program's writes then fail at once, and it dies sooner: with 100,000 goroutines
// there are 58 MB, which take minutes through a small buffer.
const maxText = 64 << 10

// Let reads the text, and with that lets the program go on. It ends when the text does, or when enough was read; a program that is
// stopped by others is not waited for.
func (s *Socket) Let() string {
	s.Done() // from now on no write waits
	defer s.File.Close()
	most := int64(maxText)
	var text bytes.Buffer
	to := io.Writer(&text)
	if s.Output != nil {
		most, to = 1<<62, io.MultiWriter(s.Output, &limited{&text, maxText})
	}
	_, _ = io.Copy(to, io.LimitReader(s.File, most)) // what was read is what there is
	return text.String()
}

// maxPatience bounds how long a report waits for the rest of the text.
const maxPatience = 5 * time.Second

// limited takes so many bytes and drops the rest.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n])
	return len(p), nil
}

// maxHeld bounds how long the program's threads stand still while the stack that died is read: on a machine that has much else to do.
const maxHeld = crashguard.MaxHold / 2

// ErrNobody says that no thread of the program writes the text: it was written by another process, that has inherited the socket.
var ErrNobody = errors.New("no thread of the program has begun to die")

// Take takes the report of a program that waits in the write of its crash text, and lets it go on as soon as its stacks are copied.
// write gets the report's files.
func Take(ctx context.Context, o crashguard.Options, e *engine.Engine, debugFolders []string, socket *Socket, write func(program string, files map[string][]byte) error) error {
	began := time.Now()
	text := make(chan string, 1)
	let := func() { go func() { text <- socket.Let() }() }
	held := o.Pid == 1 // when the first process of a container ends, the kernel kills all others: the report comes first, without the text
	defer func() {
		if let != nil {
			let()
		}
	}()
	program, err := glance.Open(o.Pid)
	if err != nil {
		return err
	}
	process := live.New(program, live.Here(program))
	process.FindDebugFiles(debugFolders)
	program.MaxPause(maxHeld)
	program.Hold()
	defer program.Release()
	at, err := stop.At(ctx, process, process.Debugger(), o.Snapshot)
	if err != nil {
		return err
	}
	prepared, err := at.Prepare(ctx, e)
	if err != nil {
		return err
	}
	died, err := cause.OfWriter(ctx, at, prepared, o.Pid)
	if err != nil {
		return err
	}
	if died == nil {
		return ErrNobody
	}
	r := &Report{
		Version: Version, Producer: version.Get().String(), Program: programName(o.Pid), Pid: o.Pid, OS: runtime.GOOS, Architecture: at.Arch().String(), Crash: died.Crash,
	}
	r.Crash.Time = began.UTC().Format(time.RFC3339)
	var snap *snapshot.Snapshot
	if o.Snapshot {
		if snap, err = at.Snapshot([]unwind.Thread{died.Thread.Thread}, []unwind.Stack{died.Stack}); err != nil {
			return err
		}
	}
	names, err := threadNames(at, o.Pid)
	if err != nil {
		return err
	}
	program.Release()
	if !held {
		let()
		let = nil
	}
	r.Held = time.Since(began).Round(time.Millisecond).String()
	threads, err := others(at, &died.Thread)
	if err != nil {
		return err
	}
	for more := program.More(); len(more) > 0; more = program.More() { // of very many
		threads = append(threads, more...)
	}
	stacks := r.fill(ctx, at, prepared, died, threads, names)
	if !held {
		if socket.Output == nil { // the text of a stack that has overflown takes long to begin
			_ = socket.File.SetReadDeadline(time.Now().Add(maxPatience))
		}
		r.Text = <-text
	}
	files, err := r.encode(stacks, at.Images(), o.Size)
	if err != nil {
		return err
	}
	if snap != nil {
		var b bytes.Buffer
		if err := snapshot.Write(&b, snap); err != nil {
			return err
		}
		files[SnapshotFile] = b.Bytes()
	}
	return write(r.Program, files)
}

func programName(pid int) string {
	path, err := os.Readlink(procfs.Path(pid, "exe"))
	if err != nil {
		return "a program"
	}
	return filepath.Base(path)
}

// threadNames reads the threads' names, while the process is there.
func threadNames(at *stop.Stopped, pid int) (map[uint64]string, error) {
	threads, err := at.Threads()
	names := make(map[uint64]string, len(threads))
	for i := range threads {
		names[threads[i].ID] = procfs.ThreadName(pid, threads[i].ID)
	}
	return names, err
}

// others lists all goroutines and threads but the one that died.
func others(at *stop.Stopped, died *reading.Thread) (out []reading.Thread, err error) {
	goroutines, unlisted := at.Goroutines()
	threads, err := at.Threads()
	if err != nil {
		return nil, err
	}
	add := func(th *reading.Thread) {
		if stop.KeyOf(th) != stop.KeyOf(died) {
			out = append(out, *th)
		}
	}
	for i := range goroutines {
		add(&goroutines[i])
	}
	for i := range threads {
		if unlisted != nil || threads[i].Goroutine == 0 {
			add(&threads[i])
		}
	}
	return out, nil
}

// maxFrames bounds a stack of one that did not die.
const maxFrames = 256

// fill adds the stacks: the one that died, then groups of the others.
func (r *Report) fill(ctx context.Context, at *stop.Stopped, prepared *engine.Prepared, died *cause.Death, threads []reading.Thread, names map[uint64]string) []unwind.Stack {
	arch := at.Arch()
	died.Stack.ThreadName = names[died.Stack.Thread]
	stacks := []unwind.Stack{died.Stack}
	r.Stacks = append(r.Stacks, stackjson.FromStack(arch, &died.Stack, false))
	groups := listing.NewGroups(listing.Stack)
	for s := range at.Each(ctx, prepared, threads, stop.AllOptions{Depth: maxFrames, Share: true}) {
		s.ThreadName = names[s.Thread]
		groups.Add(&s)
	}
	for _, g := range groups.Sorted("suspicion") {
		form := stackjson.FromStack(arch, &g.Stack, false)
		form.Goroutines, form.Count = g.Goroutines, g.Count()
		lean(&form)
		r.Stacks, stacks = append(r.Stacks, form), append(stacks, g.Stack)
	}
	return stacks
}

// maxIDs is how many goroutines of a group are listed: the count has all.
const maxIDs = 64

// lean leaves out of a stack what names and places do not need.
func lean(s *stackjson.Stack) {
	s.Goroutines = s.Goroutines[:min(len(s.Goroutines), maxIDs)]
	for i := range s.Frames {
		f := &s.Frames[i]
		f.Rule, f.CFA, f.SP, f.FP, f.Column, f.DelveFrame = "", 0, nil, nil, 0, nil
	}
}
