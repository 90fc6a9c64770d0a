package glance

import (
	"bytes"
	"slices"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// Bounds on what is copied, and on what is read in one go, in bytes.
const (
	maxRoom    = 448 << 20
	maxScratch = 64 << 20
	atOnce     = 4 << 20
)

// How far apart ranges may lie that are read as one: structures, and stacks. The kernel takes as long for a range as for a
// kilobyte.
const (
	smallGap = 4 << 10
	stackGap = 256
)

// copier copies what stacks need while a process stands still.
type copier struct {
	p       *Program
	bulk    *goruntime.Bulk
	until   time.Time // zero: there is time
	room    []byte    // for what is kept
	used    int
	full    bool
	scratch []byte
	joined  []unwind.Range
	found   []unwind.Window
}

// Late implements [goruntime.Copier].
func (c *copier) Late() bool { return !c.until.IsZero() && time.Now().After(c.until) }

// Read implements [goruntime.Copier].
func (c *copier) Read(ranges []unwind.Range) []unwind.Window {
	c.joined = merged(c.joined, ranges, smallGap)
	found := c.intoScratch(c.joined)
	if len(found) == len(c.joined) {
		return found
	}
	// A gap cannot be read, or a range.
	var missing []unwind.Range
	for _, r := range merged(nil, ranges, 0) {
		if i, ok := slices.BinarySearchFunc(found, r.Start, func(w unwind.Window, at uint64) int {
			switch {
			case w.Addr+uint64(len(w.Data)) <= at:
				return -1
			case w.Addr > at:
				return 1
			}
			return 0
		}); !ok || !holds(found[i], r.Start, int(r.End-r.Start)) {
			missing = append(missing, r)
		}
	}
	first := slices.Clone(found)
	for i := range first {
		first[i].Data = slices.Clone(first[i].Data)
	}
	out := append(first, c.intoScratch(missing)...)
	slices.SortFunc(out, func(a, b unwind.Window) int {
		if a.Addr < b.Addr {
			return -1
		}
		return 1
	})
	return out
}

// intoScratch reads ranges, as many as there is time for.
func (c *copier) intoScratch(ranges []unwind.Range) []unwind.Window {
	out := c.found[:0]
	size := uint64(0)
	for i, r := range ranges {
		if size+(r.End-r.Start) > maxScratch {
			ranges = ranges[:i]
			break
		}
		size += r.End - r.Start
	}
	if uint64(len(c.scratch)) < size {
		c.scratch = make([]byte, size)
	}
	buf := c.scratch
	for len(ranges) > 0 && !c.Late() {
		n, size := batch(ranges)
		out = readRanges(c.p.pid, ranges[:n], buf[:size:size], out)
		ranges, buf = ranges[n:], buf[size:]
	}
	c.found = out
	return out
}

// batch is how many of the ranges are read in one go, and what they have.
func batch(ranges []unwind.Range) (n int, size uint64) {
	for n < len(ranges) && n < maxPieces && (n == 0 || size < atOnce) {
		size += ranges[n].End - ranges[n].Start
		n++
	}
	return n, size
}

// Keep implements [goruntime.Copier].
func (c *copier) Keep(ranges []unwind.Range) bool {
	c.joined = merged(c.joined, ranges, stackGap)
	found, joined := c.found[:0], c.joined
	for len(joined) > 0 {
		if c.Late() {
			return false
		}
		n, size := batch(joined)
		if size > uint64(len(c.room)-c.used) {
			c.full = true
			return false
		}
		found = readRanges(c.p.pid, joined[:n], c.room[c.used:][:size:size], found)
		c.used += int(size)
		joined = joined[n:]
	}
	c.found = found
	c.p.memory.add(found)
	return true
}

// copy copies what stacks need, while the process stands still. What is copied first is of use without the rest.
func (c *copier) copy(threads []stopped, out *seen) error {
	text, err := procfs.ReadMaps(c.p.pid)
	if err != nil {
		return err
	}
	maps := c.p.maps
	if !bytes.Equal(text, c.p.mapsText) {
		if maps, err = imagemap.ParseMaps(bytes.NewReader(text)); err != nil {
			return err
		}
	}
	c.p.memory.enter(during, procfs.Ranges(maps, "w"))
	rt := c.bulk.Runtime
	machines, err := c.bulk.Machines()
	if err != nil {
		return err
	}
	notes := rt.Notes(c.p.address)
	notes.Warm()
	known := make([]goruntime.Thread, 0, len(threads))
	var fringes []unwind.Range
	until := c.until
	if !until.IsZero() {
		c.until = time.Now().Add(time.Until(until) * 3 / 4) // the rest is for goroutines
	}
	for _, th := range threads {
		g := machines[th.inside]
		if c.Late() {
			g = 0
		}
		one := rt.Thread(uint64(th.id), th.registers, g, maps)
		one.Current = th.id == c.p.pid
		known = append(known, one)
		sp, _ := th.registers.SP(c.p.arch)
		stacks, fringe := c.bulk.OfThread(&one, sp, maps)
		c.Keep(stacks)
		fringes = append(fringes, fringe...)
	}
	c.until = until
	out.publish(known, notes)
	c.bulk.CopyOn(c, known, notes, &out.gs)
	few := sizeOf(fringes) <= fewFringes
	if few {
		c.Keep(fringes)
	}
	if !c.p.onlyThreads {
		err = c.bulk.Copy(c, c.p.first, notes, &out.gs)
	}
	if !few {
		c.Keep(fringes)
	}
	return err
}

// fewFringes is how many bytes of stacks, which may be in use, come before goroutines.
const fewFringes = 16 << 20

func sizeOf(ranges []unwind.Range) (n uint64) {
	for _, r := range ranges {
		n += r.End - r.Start
	}
	return n
}
