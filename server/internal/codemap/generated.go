package codemap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/internal/jit"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// Generated is what is known of the code that a process has generated, read anew at
// each stop as far as it has changed. The zero value knows nothing. It is not safe for
// concurrent use.
type Generated struct {
	perf    perfMap
	dump    jitDump
	objects []*object // as they were registered, the newest first as a rule
	last    *generated
	lastMap *Map // that was returned, for the map without generated code that is its base
}

// object is an ELF file that is registered with GDB's interface.
type object struct {
	jit.Registered
	raw  []byte
	code []unwind.Range
	file *symbols.File
}

// generated is the code of a process that lies in no image. It is not changed once it
// is made.
type generated struct {
	where       unwind.RangeSet // executable memory of no image
	images      []*image        // registered files, and functions that a jitdump has frames of
	names       *jit.Names
	dumped      []jit.Code // in names, from the index firstDumped on
	firstDumped int
	left        int // images that were too many
}

// Bounds on what is read of a process at one stop.
const (
	maxRead     = 64 << 20 // bytes
	maxReadTime = 2 * time.Second
)

// faults are reasons for which not all could be read that describes generated code.
type faults struct {
	first error
	more  int
}

func (f *faults) add(err error) {
	switch {
	case err == nil:
	case f.first == nil:
		f.first = err
	default:
		f.more++
	}
}

// err names the first fault and counts the others.
func (f *faults) err() error {
	switch {
	case f.first == nil:
		return nil
	case f.more == 0:
		return fmt.Errorf("generated code: %w", f.first)
	}
	return fmt.Errorf("generated code: %w (and %d more of its descriptions)", f.first, f.more)
}

// Read adds to a map the generated code of a process: by the files that it has registered
// with GDB's interface; and if pid is not 0 by its perf map and its jitdump. executable is
// all memory with code.
func (g *Generated) Read(pid int, maps []imagemap.Mapping, executable unwind.RangeSet, memory io.ReaderAt, m *Map) (*Map, error) {
	if m.base != nil {
		m = m.base
	}
	where := outside(m, executable)
	if len(where) == 0 {
		return m, nil
	}
	limited := &limitedReader{memory: memory, left: maxRead, until: time.Now().Add(maxReadTime)}
	var failed faults
	changed := g.readObjects(limited, m, &failed)
	if pid != 0 {
		changed = g.readFiles(pid, maps, &failed) || changed
	}
	if g.last == nil || changed || !slices.Equal(where, g.last.where) {
		g.last = g.make(where)
		g.lastMap = nil
	}
	if g.last.left > 0 {
		failed.add(fmt.Errorf("more than %d pieces of it are described: %d are not used", maxGenerated, g.last.left))
	}
	if g.lastMap == nil || g.lastMap.base != m {
		g.lastMap = m.with(g.last)
	}
	return g.lastMap, failed.err()
}

// readFiles reads the perf map and the jitdump.
func (g *Generated) readFiles(pid int, maps []imagemap.Mapping, failed *faults) (changed bool) {
	self := aboutProcess(pid)
	perf, err := g.perf.read(self)
	failed.add(err)
	dump, err := g.dump.read(self, maps)
	failed.add(err)
	return perf || dump
}

// Record reads what a snapshot must hold of registered files.
func (m *Map) Record(executable unwind.RangeSet, memory io.ReaderAt) {
	if m.generated != nil {
		_, _ = new(Generated).Read(0, nil, executable, memory, m) // what fails is missing in the snapshot too
	}
}

// NamedByFiles says whether generated code has names, lines or frames from files of the
// process's.
func (m *Map) NamedByFiles() bool { return m.generated != nil && m.generated.names.Len() > 0 }

// outside returns the executable memory that lies in no image, without the kernel's.
func outside(m *Map, executable unwind.RangeSet) unwind.RangeSet {
	var user []unwind.Range
	for _, r := range executable {
		if !m.arch.InKernel(r.Start) {
			user = append(user, r)
		}
	}
	return without(user, m.Executable())
}

// limitedReader reads memory up to a number of bytes and a time.
type limitedReader struct {
	memory io.ReaderAt
	left   int
	until  time.Time
}

var errTooMuch = fmt.Errorf("more is registered than %d MiB or %v of reading: the rest is not used", maxRead>>20, maxReadTime)

// ReadAt implements [io.ReaderAt].
func (l *limitedReader) ReadAt(p []byte, at int64) (int, error) {
	if len(p) > l.left || time.Now().After(l.until) {
		return 0, errTooMuch
	}
	l.left -= len(p)
	return l.memory.ReadAt(p, at)
}

// readObjects reads the registered files. One that has not changed is kept.
func (g *Generated) readObjects(memory io.ReaderAt, m *Map, failed *faults) (changed bool) {
	known := make(map[jit.Registered]*object, len(g.objects))
	for _, o := range g.objects {
		known[o.Registered] = o
	}
	var now []*object
	seen := make(map[jit.Registered]bool)
	for _, r := range m.registered(memory, failed) {
		if seen[r] {
			continue
		}
		seen[r] = true
		o, err := read(memory, r, known[r])
		if errors.Is(err, errTooMuch) {
			failed.add(err)
			break
		}
		failed.add(err)
		if o != nil {
			now = append(now, o)
		}
	}
	changed = !slices.Equal(now, g.objects)
	g.objects = now
	return changed
}

// read reads a registered file. What is known of it is returned where it is the same.
func read(memory io.ReaderAt, r jit.Registered, known *object) (*object, error) {
	raw, err := jit.ReadFile(memory, r)
	if err != nil {
		return nil, err
	}
	if known != nil && bytes.Equal(known.raw, raw) {
		return known, nil
	}
	loaded, err := jit.Load(memory, r.Addr, raw)
	if err != nil {
		return nil, err
	}
	o := &object{Registered: r, raw: raw, code: loaded.Code}
	o.file, err = symbols.New(bytes.NewReader(loaded.File), int64(len(loaded.File)))
	return o, err
}

// registered lists the files that the process has registered with GDB's interface, in
// any image.
func (m *Map) registered(memory io.ReaderAt, failed *faults) (out []jit.Registered) {
	layout := jit.Layout{Order: m.arch.ByteOrder(), WordSize: m.arch.PointerSize(), Packed: m.arch == unwind.I386}
	for _, img := range m.images {
		if img.file == nil {
			continue
		}
		vaddr, ok := img.file.Data(jit.DescriptorSymbol)
		if !ok {
			continue
		}
		list, err := jit.ReadDescriptor(memory, vaddr+img.bias, layout)
		failed.add(err)
		out = append(out, list...)
	}
	return out
}

// make binds what was read to the executable memory that lies in no image. Of registered
// files whose code overlaps the first in the list counts, which is the last that was
// registered as a rule.
func (g *Generated) make(where unwind.RangeSet) *generated {
	out := &generated{where: where, firstDumped: len(g.perf.symbols), dumped: g.dump.code}
	out.names = jit.NewNames(append(slices.Clip(g.perf.symbols), g.dump.symbols...))
	free := where
	add := func(img *image, code ...unwind.Range) {
		mine := unwind.NewRangeSet(code...).Intersect(free)
		if len(mine) == 0 {
			return
		}
		if len(out.images) == maxGenerated {
			out.left++
			return
		}
		free = without(free, mine)
		img.Base, img.EndOfText = mine[0].Start, mine[len(mine)-1].End
		img.Loaded = &imagemap.Loaded{HasBias: true}
		for _, r := range mine {
			img.Loaded.Executable = append(img.Loaded.Executable, imagemap.Range(r))
		}
		out.images = append(out.images, g.known(img))
	}
	for _, o := range g.objects {
		add(&image{Image: imagemap.Image{Path: fmt.Sprintf("code registered at %#x", o.Addr)}, file: o.file, generated: true}, o.code...)
	}
	for i := range g.dump.code {
		c := &g.dump.code[i]
		// Only what is there still: no later function lies on any of it.
		if len(c.Unwind.Frame) > 0 && out.names.Whole(out.firstDumped+i) {
			add(&image{Image: imagemap.Image{Path: fmt.Sprintf("code dumped at %#x", c.Start)}, generated: true, frames: c.Frames()}, unwind.Range{Start: c.Start, End: c.End})
		}
	}
	return out
}

// maxGenerated bounds the images that are made of generated code.
const maxGenerated = 4096

// known returns the image of the last stop if it is the same: strategies have it.
func (g *Generated) known(img *image) *image {
	if g.last == nil {
		return img
	}
	for _, old := range g.last.images {
		if old.same(img) && old.frames.Addr == img.frames.Addr && bytes.Equal(old.frames.Data, img.frames.Data) {
			return old
		}
	}
	return img
}

// with is the map with generated code.
func (m *Map) with(g *generated) *Map {
	out := *m
	out.base, out.generated = m, g
	out.images = append(slices.Clip(m.images), g.images...)
	out.bind()
	return &out
}

// without returns the ranges of s that are not in t.
func without(s, t unwind.RangeSet) unwind.RangeSet {
	var out []unwind.Range
	for _, r := range s {
		out = append(out, t.Gaps(r)...)
	}
	return unwind.NewRangeSet(out...)
}

// function returns the function of a jitdump that an address lies in.
func (g *generated) function(addr uint64) (c *jit.Code, ok bool) {
	if g == nil {
		return nil, false
	}
	i, ok := g.names.Index(addr)
	if !ok || i < g.firstDumped {
		return nil, false
	}
	return &g.dumped[i-g.firstDumped], true
}

// call returns what is known of the code at an address: a name, and where a jitdump has
// them a file and a line.
func (g *generated) call(addr uint64) (c call) {
	if g == nil {
		return c
	}
	s, _ := g.names.Find(addr)
	c.function = names.Demangle(s.Name)
	if code, ok := g.function(addr); ok {
		line := code.LineAt(addr)
		c.file, c.line = line.File, line.Line
	}
	return c
}
