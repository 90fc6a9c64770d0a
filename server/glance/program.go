package glance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// Program is a process that is stopped once, when its threads are asked for, and once
// more after each [Program.Again]. It is a source for package live. It is not safe for concurrent use.
type Program struct {
	pid         int
	arch        unwind.Arch
	memory      *memory
	maps        []imagemap.Mapping
	mapsText    []byte
	layout      *goruntime.Layout
	vars        map[string]uint64
	unknown     error // why the runtime cannot be read
	seen        *seen
	limit       time.Duration // see MaxPause
	hold        bool          // see Hold
	release     func()        // of the stop that is held
	onlyThreads bool
	first       uint64 // place of the runtime's list that the next stop begins with
	room        []byte
	earlier     *goruntime.Goroutines // of the stop before, whose memory is used again
	blocked     <-chan struct{}       // closed when memory that did not come has come; nil if it came in time
	parts       func() []reading.Thread
	listed      map[uint64]bool // goroutines on threads that earlier stops have listed
}

// ErrUnsupported says that processes of this system cannot be read in this way.
var ErrUnsupported = errors.New("processes are read in one stop on linux/amd64 and linux/arm64 only")

// Open makes a Program of a process. It neither stops nor changes it.
func Open(pid int) (*Program, error) {
	arch, err := unwind.ParseArch(runtime.GOARCH)
	if err != nil || !supported {
		return nil, ErrUnsupported
	}
	p := &Program{pid: pid, arch: arch, memory: newMemory(procfs.Memory(pid))}
	return p, nil
}

// Allowed says why this user may not read the process's memory, nil if it may: the
// kernel asks for the same rights when a process is stopped.
func Allowed(pid int) error {
	f, err := os.Open(procfs.Path(pid, "mem"))
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err == nil {
		_ = f.Close()
	}
	return nil // what else is wrong shows later
}

// Arch is the process's architecture.
func (p *Program) Arch() unwind.Arch { return p.arch }

// OS is its operating system.
func (p *Program) OS() string { return runtime.GOOS }

// Pid is its ID.
func (p *Program) Pid() int { return p.pid }

// Memory is its memory: before the stop as it is, afterwards as it was.
func (p *Program) Memory() unwind.Memory { return p.memory }

// KnowCode implements [live.Source]; the map is enough.
func (p *Program) KnowCode(gocode.Code) {}

// KnowMap finds Go's runtime in what the process has mapped.
func (p *Program) KnowMap(code *codemap.Map, maps []imagemap.Mapping) {
	known := p.layout != nil && slices.Equal(ofFiles(p.maps), ofFiles(maps))
	p.maps = maps
	p.mapsText, _ = procfs.ReadMaps(p.pid)
	if err := p.refused(); err != nil {
		p.unknown = err
		return
	}
	if !known {
		p.layout, p.vars, p.unknown = goruntime.Find(p.arch, p.memory, code, maps)
	}
}

// refused is why no memory of the process can be read, nil if some can: what is read next would say less.
func (p *Program) refused() error {
	for _, m := range p.maps {
		if strings.HasPrefix(m.Perm, "r") && m.Inode != 0 {
			return procfs.Refused(p.pid, m.Start)
		}
	}
	return nil
}

// ofFiles are the mappings of files.
func ofFiles(maps []imagemap.Mapping) []imagemap.Mapping {
	return slices.DeleteFunc(slices.Clone(maps), func(m imagemap.Mapping) bool { return m.Inode == 0 })
}

// MaxPause bounds for how long each stop lets the process stand still; 0 is no bound. What there is no time for is in
// [Program.Left].
func (p *Program) MaxPause(d time.Duration) { p.limit = d }

// OnlyThreads has goroutines left out that are on no thread.
func (p *Program) OnlyThreads(only bool) { p.onlyThreads = only }

// Hold has the process stand still after its stop until [Program.Release], or [Program.MaxPause] is over: what is read meanwhile is
// kept.
func (p *Program) Hold() { p.hold = true }

// Release lets the process go on that stands still for [Program.Hold]. What was not read until then is not known any more.
func (p *Program) Release() {
	if p.release != nil {
		p.release()
		p.release = nil
	}
}

// Again forgets the stop: the process is stopped anew when its threads are asked for.
func (p *Program) Again() {
	p.again()
	p.first, p.listed = 0, nil
}

// Rest is [Program.Again] for the goroutines that were not copied at this stop; false if there are none.
func (p *Program) Rest() bool {
	if p.seen == nil || p.seen.gs.Next() >= p.seen.left.Of {
		return false
	}
	if p.listed == nil {
		p.listed = make(map[uint64]bool)
	}
	for i := range p.seen.threads {
		p.listed[p.seen.threads[i].Goroutine] = true
	}
	next := p.seen.gs.Next()
	p.again()
	p.first = next
	return true
}

func (p *Program) again() {
	p.Release()
	if p.seen != nil {
		p.earlier = &p.seen.gs
	}
	if p.blocked != nil { // a read may still write there
		p.room, p.earlier, p.blocked = nil, nil, nil
	}
	p.seen, p.parts = nil, nil
	p.memory.forget()
}

// Count is how many goroutines were found at the stop.
func (p *Program) Count() int {
	if p.seen == nil {
		return 0
	}
	return p.seen.gs.Count()
}

// Left is what was left out at the stop.
func (p *Program) Left() Left {
	if p.seen == nil {
		return Left{}
	}
	return p.seen.left
}

func (p *Program) address(name string) (uint64, error) {
	if at := p.vars[name]; at != 0 {
		return at, nil
	}
	return 0, fmt.Errorf("the place of %s is not known", name)
}

// UnknownError says why the runtime of a process cannot be read without a debugger.
type UnknownError struct {
	Pid int
	Err error
}

// Error names the process and the reason.
func (e *UnknownError) Error() string { return fmt.Sprintf("process %d: %v", e.Pid, e.Err) }

// Unwrap returns the reason.
func (e *UnknownError) Unwrap() error { return e.Err }

// Threads stops the process, the first time, and returns its threads.
func (p *Program) Threads([]imagemap.Mapping) ([]reading.Thread, error) {
	if p.unknown != nil {
		return nil, &UnknownError{p.pid, p.unknown}
	}
	if p.seen == nil {
		seen, err := p.look()
		if err != nil {
			return nil, err
		}
		p.seen = seen
	}
	return p.seen.threads, nil
}

// CurrentThread is the process's first thread: none has stopped it.
func (p *Program) CurrentThread(maps []imagemap.Mapping) (reading.Thread, error) {
	threads, err := p.Threads(maps)
	for _, th := range threads {
		if th.Current {
			return th, nil
		}
	}
	return reading.Thread{}, errors.Join(err, fmt.Errorf("thread %d is gone", p.pid))
}

// partSize is how many goroutines are made ready at a time.
const partSize = 1 << 16

// Goroutines returns the first goroutines of the stop; [Program.More] has the others.
func (p *Program) Goroutines(threads []reading.Thread) ([]reading.Thread, error) {
	if p.seen == nil {
		return nil, errors.New("the process was not stopped")
	}
	rt := &goruntime.Runtime{Layout: p.layout, Arch: p.arch, Memory: p.memory}
	if p.seen.clock != nil {
		p.seen.notes.Compare(&p.seen.gs, p.seen.clock)
	}
	p.parts = p.seen.gs.Parts(rt, threads, partSize)
	return p.More(), p.seen.err
}

// More returns further goroutines of the stop, none after the last.
func (p *Program) More() []reading.Thread {
	if p.parts == nil {
		return nil
	}
	for {
		part := p.parts()
		all := len(part)
		part = slices.DeleteFunc(part, func(th reading.Thread) bool { return th.Goroutine != 0 && p.listed[th.Goroutine] })
		if len(part) > 0 || all == 0 {
			return part
		}
	}
}

// Notes reads what goroutines' states refer to.
func (p *Program) Notes() *goruntime.Notes {
	if p.seen == nil {
		return nil
	}
	return p.seen.notes
}

// Claims returns no frames: there is no debugger.
func (p *Program) Claims(reading.Thread, int) ([]unwind.Frame, error) { return nil, nil }

// Paused is how long the process stood still, 0 before it was stopped and while it is held.
func (p *Program) Paused() time.Duration {
	if p.seen == nil || p.release != nil {
		return 0
	}
	return p.seen.paused
}
