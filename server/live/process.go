package live

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/internal/blocks"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// Process is a process under Delve's control, from stop to stop. It keeps the
// mappings and files that were read, so that a later stop only costs the
// changes. It is not safe for concurrent use.
type Process struct {
	session   *delve.Session // nil for one that others may let run
	source    Source
	place     Place
	generated codemap.Generated // code outside of images
	ahead     []byte            // the mappings that Ahead has seen
	target    assembler.Target  // at the last stop
	pid       int               // at the last stop, 0 for none: while a process runs, Delve does not say

	mu    sync.Mutex // guards the rest, which Held uses too
	files codemap.Files
	last  *loaded // at the last stop that was looked at, or before the next one: see Ahead and Held
}

// loaded is what a process has mapped at a stop. It is not changed once it is
// made.
type loaded struct {
	text                 []byte // of /proc/PID/maps
	maps                 []imagemap.Mapping
	executable, writable unwind.RangeSet
	images               *imagemap.ImageMap
	code                 *codemap.Map
	pacMask              uint64
	generatedErr         error // the reason for which some generated code could not be read
}

// Debugger is what holds the process, nil where nothing is known of it but stacks.
func (p *Process) Debugger() stop.Debugger {
	d, _ := p.source.(stop.Debugger)
	return d
}

// NewProcess makes a Process of a session.
func NewProcess(s *delve.Session) *Process {
	p := New(s, running{s})
	p.session = s
	return p
}

// New makes a Process of a source whose address space is at that place.
func New(s Source, at Place) *Process {
	p := &Process{source: s, place: at}
	if b, ok := s.(breaking); ok && at.LocalPid() != 0 {
		b.KnowFiles(p.Held)
	}
	return p
}

// Place is where a process's address space is: in the system, in a core file, or on
// another machine.
type Place interface {
	// Maps returns the text of /proc/PID/maps. It is called first at each stop.
	Maps() ([]byte, error)
	Memory() unwind.Memory
	Images(maps []byte) (*imagemap.ImageMap, error)
	Opener(*codemap.Files) codemap.Opener
	LocalPid() int // the process's ID on this machine, 0 if it does not run here
	Name() string  // "process 4711"
	// PACMask has the bits that signatures of addresses take, of linux/arm64 (R11).
	PACMask(maps []imagemap.Mapping) uint64
}

// Here is the place of a process on this machine.
func Here(s Source) Place { return running{s} }

// running is the place of a process that is there.
type running struct{ Source }

func (r running) Maps() ([]byte, error) { return procfs.ReadMaps(r.Pid()) }
func (r running) LocalPid() int         { return r.Pid() }
func (r running) Name() string          { return fmt.Sprintf("process %d", r.Pid()) }

// PACMask is derived from the mappings where the processor signs addresses.
func (r running) PACMask(maps []imagemap.Mapping) uint64 {
	if !procfs.Signs(r.Pid()) {
		return 0
	}
	return procfs.PACMask(maps)
}

func (r running) Images([]byte) (*imagemap.ImageMap, error) {
	return asFarAsKnown(imagemap.Capture(r.Pid(), unwind.ReaderAt{Memory: r.Memory()}))
}

// asFarAsKnown returns an image map of which parts may be missing: headers that are neither
// in memory nor in a file here, or damaged, cost that image only. The map's notes list the
// gaps.
func asFarAsKnown(m *imagemap.ImageMap, err error) (*imagemap.ImageMap, error) {
	if m != nil && errors.As(err, new(*imagemap.CaptureError)) {
		return m, nil
	}
	return m, err
}

func (r running) Opener(f *codemap.Files) codemap.Opener {
	return f.Live(r.Pid(), unwind.ReaderAt{Memory: r.Memory()})
}

// Name says which process it is: "process 4711".
func (p *Process) Name() string { return p.place.Name() }

// FindDebugFiles sets the folders with separate debug files, instead of those of
// Linux distributions. It must be called before the first read.
func (p *Process) FindDebugFiles(folders []string) { p.files.DebugFolders = folders }

// Read reads the process at this stop. With record set, the memory that is read is
// kept for [View.Snapshot].
func (p *Process) Read(record bool) (*View, error) {
	if s, ok := p.source.(shared); ok {
		if err := s.Begin(); err != nil {
			return nil, err
		}
	}
	now, err := p.load()
	if err != nil {
		return nil, err
	}
	p.keep(now)
	p.pid = p.place.LocalPid()
	v := &View{source: p.source, place: p.place, loaded: now}
	memory := p.place.Memory()
	if _, copied := p.source.(copied); !copied {
		memory = blocks.Over(memory)
	}
	if record {
		v.recorder = engine.NewRecorder(memory)
		memory = v.recorder
	}
	v.Input = engine.Input{Target: assembler.Target{Arch: p.source.Arch(), OS: p.source.OS(), Memory: memory, PACMask: now.pacMask}}
	now.describe(&v.Input)
	p.target = v.Input.Target
	return v, nil
}

// describe adds to an input what is loaded.
func (l *loaded) describe(in *engine.Input) {
	in.Target.Executable, in.Target.Writable, in.Target.Code = l.executable, l.writable, l.code
	in.Images, in.Keys, in.Section = l.code.Images(), l.code.Keys(), l.code.Section
	in.Hosted, in.Names, in.Notes, in.About = l.code.GoRanges(), l.code, l.notes(), l.code.About
}

// notes lists what could not be used.
func (l *loaded) notes() []string {
	out := l.code.Notes()
	if l.generatedErr != nil {
		out = append(out, l.generatedErr.Error())
	}
	return out
}

// View is [Process.Read] for package stop.
func (p *Process) View(record bool) (stop.View, error) {
	v, err := p.Read(record)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// load finds out what the process has mapped, as far as it is not known.
func (p *Process) load() (*loaded, error) {
	text, err := p.place.Maps()
	if err != nil {
		return nil, fmt.Errorf("read the mappings of %s: %w", p.place.Name(), err)
	}
	now, last := &loaded{text: text}, p.known()
	if last != nil && bytes.Equal(text, last.text) {
		*now = *last
	} else if err := now.parse(); err != nil {
		return nil, err
	} else if p.source.Arch() == unwind.ARM64 && p.source.OS() == "linux" {
		now.pacMask = p.place.PACMask(now.maps)
	}
	if last != nil && sameImages(now.maps, last.maps) && !anonymousCode(now.maps) {
		now.images = last.images
	} else if now.images, err = p.place.Images(text); err != nil {
		return nil, fmt.Errorf("read the images of %s: %w", p.place.Name(), err)
	}
	arch := p.source.Arch()
	p.mu.Lock()
	p.bind(now, arch, p.place.Opener(&p.files))
	p.mu.Unlock()
	p.addGenerated(now)
	p.source.KnowCode(now.code.CodeOf)
	if s, ok := p.source.(mapped); ok {
		s.KnowMap(now.code, now.maps)
	}
	return now, nil
}

// known is what was read last, nil for nothing.
func (p *Process) known() *loaded {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *Process) keep(l *loaded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = l
}

// bind opens the files of what is loaded. The lock is held.
func (p *Process) bind(now *loaded, arch unwind.Arch, open codemap.Opener) {
	p.files.Arch = arch
	if p.files.Ask == nil {
		p.files.Ask = debugFiles()
	}
	if p.last != nil {
		now.code = p.last.code.Next(now.images, open)
	} else {
		now.code = codemap.New(arch, now.images, open)
	}
	p.files.Sweep()
}

// mapped is a source that can read the runtime's structures without DWARF.
type mapped interface {
	KnowMap(*codemap.Map, []imagemap.Mapping)
}

// copied is a source whose memory keeps what was read.
type copied interface{ Again() }

// addGenerated adds the code that the process has generated, where there is any. What
// cannot be read costs that only.
func (p *Process) addGenerated(now *loaded) {
	code, err := p.generated.Read(p.place.LocalPid(), now.maps, now.executable, unwind.ReaderAt{Memory: p.place.Memory()}, now.code)
	now.code, now.generatedErr = code, err
}

func (l *loaded) parse() (err error) {
	if l.maps, err = imagemap.ParseMaps(bytes.NewReader(l.text)); err != nil {
		return err
	}
	l.executable, l.writable = procfs.Ranges(l.maps, "x"), procfs.Ranges(l.maps, "w")
	return nil
}

// sameImages says whether the mappings that images are made of are the same.
func sameImages(a, b []imagemap.Mapping) bool {
	for {
		a, b = skipNoImages(a), skipNoImages(b)
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		if a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// anonymousCode says whether there is executable memory without a file: what is
// written there changes no mapping, and may be a Mach-O image.
func anonymousCode(maps []imagemap.Mapping) bool {
	return slices.ContainsFunc(maps, func(m imagemap.Mapping) bool {
		return m.Inode == 0 && m.Executable() && !strings.HasPrefix(m.Path, "[v") // [vdso], [vsyscall]
	})
}

// skipNoImages leaves out mappings that no image can lie in: heaps, stacks and
// other memory without a file, the vDSO apart.
func skipNoImages(maps []imagemap.Mapping) []imagemap.Mapping {
	for len(maps) > 0 && maps[0].Inode == 0 && maps[0].Path != "[vdso]" {
		maps = maps[1:]
	}
	return maps
}
