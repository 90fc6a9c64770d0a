package live

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/internal/blocks"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// Process is a process under Delve's control, from stop to stop. It keeps what
// the process has loaded and what was read of it, so that a later stop costs no
// more than what has changed. It is not safe for concurrent use.
type Process struct {
	session *delve.Session // nil for one that others may let run
	source  Source
	place   place
	files   codemap.Files
	// generated names code outside of images.
	generated codemap.Generated
	last      *loaded // at the last stop that was looked at
}

// loaded is what a process has mapped at a stop. It is not changed once it is
// made.
type loaded struct {
	text                 []byte // of /proc/PID/maps
	maps                 []imagemap.Mapping
	executable, writable unwind.RangeSet
	images               *imagemap.ImageMap
	code                 *codemap.Map
	generatedErr         error // what of the names of generated code could not be read
}

// NewProcess makes a Process of a session.
func NewProcess(s *delve.Session) *Process {
	return &Process{session: s, source: s, place: running{s}}
}

// place is where a process's address space is: in the system, or in a core file.
type place interface {
	// maps returns the text of /proc/PID/maps.
	maps() ([]byte, error)
	memory() unwind.Memory
	images(maps []byte) (*imagemap.ImageMap, error)
	opener(*codemap.Files) codemap.Opener
	name() string // "process 4711"
}

// running is the place of a process that is there.
type running struct{ Source }

func (r running) maps() ([]byte, error) { return readMaps(r.Pid()) }
func (r running) memory() unwind.Memory { return r.Memory() }
func (r running) name() string          { return fmt.Sprintf("process %d", r.Pid()) }

func (r running) images([]byte) (*imagemap.ImageMap, error) {
	return asFarAsKnown(imagemap.Capture(r.Pid(), unwind.ReaderAt{Memory: r.Memory()}))
}

// asFarAsKnown returns an image map of which something is missing: an image whose headers
// are lost or damaged costs that image only. Its notes say what is wrong with it.
func asFarAsKnown(m *imagemap.ImageMap, err error) (*imagemap.ImageMap, error) {
	var incomplete *imagemap.CaptureError
	if m != nil && errors.As(err, &incomplete) {
		return m, nil
	}
	return m, err
}

func (r running) opener(f *codemap.Files) codemap.Opener {
	return f.Live(r.Pid(), unwind.ReaderAt{Memory: r.Memory()})
}

// FindDebugFiles sets the folders with separate debug files, instead of those of
// Linux distributions. It must be called before the first read.
func (p *Process) FindDebugFiles(folders []string) { p.files.DebugFolders = folders }

// Read reads a process at one stop; for several stops see [Process].
func Read(s *delve.Session, record bool) (*View, error) { return NewProcess(s).Read(record) }

// Read reads the process at this stop. With record set, the memory that is read is
// kept for [View.Snapshot].
func (p *Process) Read(record bool) (*View, error) {
	if s, ok := p.source.(shared); ok {
		if err := s.Begin(); err != nil {
			return nil, err
		}
	}
	if b, ok := p.place.(*behind); ok {
		b.find()
	}
	now, err := p.load()
	if err != nil {
		return nil, err
	}
	p.last = now
	v := &View{source: p.source, place: p.place, loaded: now}
	var memory unwind.Memory = blocks.Over(p.place.memory())
	if record {
		v.recorder = engine.NewRecorder(memory)
		memory = v.recorder
	}
	v.Input = engine.Input{
		Target: assembler.Target{
			Arch: p.source.Arch(), OS: p.source.OS(), Memory: memory,
			Executable: now.executable, Writable: now.writable, Code: now.code,
		},
		Images: now.code.Images(), Keys: now.code.Keys(), Section: now.code.Section,
		Hosted: now.code.GoRanges(), Names: now.code, Notes: now.notes(), About: now.code.About(),
	}
	return v, nil
}

// notes lists what could not be used.
func (l *loaded) notes() []string {
	out := l.code.Notes()
	if l.generatedErr != nil {
		out = append(out, "names of generated code: "+strings.ReplaceAll(l.generatedErr.Error(), "\n", "; "))
	}
	return out
}

// View is [Process.Look] for package stop.
func (p *Process) View(record bool) (stop.View, error) {
	v, err := p.Read(record)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// load finds out what the process has mapped, as far as it is not known.
func (p *Process) load() (*loaded, error) {
	text, err := p.place.maps()
	if err != nil {
		return nil, fmt.Errorf("read the mappings of %s: %w", p.place.name(), err)
	}
	now := &loaded{text: text}
	if p.last != nil && bytes.Equal(text, p.last.text) {
		*now = *p.last
	} else if err := now.parse(); err != nil {
		return nil, err
	}
	if p.last != nil && sameImages(now.maps, p.last.maps) && !anonymousCode(now.maps) {
		now.images = p.last.images
	} else if now.images, err = p.place.images(text); err != nil {
		return nil, fmt.Errorf("read the images of %s: %w", p.place.name(), err)
	}
	p.files.Arch = p.source.Arch()
	if p.files.Ask == nil {
		p.files.Ask = debugFiles()
	}
	open := p.place.opener(&p.files)
	if p.last != nil {
		now.code = p.last.code.Next(now.images, open)
	} else {
		now.code = codemap.New(p.source.Arch(), now.images, open)
	}
	p.nameGenerated(now)
	p.files.Sweep()
	p.source.KnowCode(now.code.CodeOf)
	return now, nil
}

// nameGenerated names code that the process has generated, where there is any. What
// cannot be read of it costs names only.
func (p *Process) nameGenerated(now *loaded) {
	if !anonymousCode(now.maps) {
		return
	}
	pid := 0
	if r, ok := p.place.(running); ok {
		pid = r.Pid()
	}
	code, err := p.generated.Read(pid, unwind.ReaderAt{Memory: p.place.memory()}, now.code)
	now.code, now.generatedErr = code, err
}

// readMaps reads /proc/PID/maps in large pieces: the kernel takes its time for
// each, however small.
func readMaps(pid int) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := bytes.NewBuffer(make([]byte, 0, 16<<10))
	_, err = text.ReadFrom(f)
	return text.Bytes(), err
}

func (l *loaded) parse() (err error) {
	if l.maps, err = imagemap.ParseMaps(bytes.NewReader(l.text)); err != nil {
		return err
	}
	l.executable, l.writable = ranges(l.maps, 'x'), ranges(l.maps, 'w')
	return nil
}

// ranges lists the mappings with a permission.
func ranges(maps []imagemap.Mapping, perm byte) unwind.RangeSet {
	var out []unwind.Range
	for _, m := range maps {
		if strings.IndexByte(m.Perm, perm) >= 0 {
			out = append(out, unwind.Range{Start: m.Start, End: m.End})
		}
	}
	return unwind.NewRangeSet(out...)
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
