package glance

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// seen is what was copied at the stop.
type seen struct {
	threads []goruntime.Thread
	notes   *goruntime.Notes
	paused  time.Duration
	clock   func(nano int64) time.Time // nil where the process's clock is another
}

// maxCopy bounds what is copied, in bytes.
const maxCopy = 1 << 30

// smallGap is how far apart structures may lie that are read as one.
const smallGap = 4 << 10

// look stops the process, copies what stacks need, and lets it go on: at once, or when it is released ([Program.Hold]).
func (p *Program) look() (*seen, error) {
	out := &seen{}
	if p.hold == 0 {
		return out, p.lookUntil(out, func() {})
	}
	copied, released, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- p.lookUntil(out, func() {
			close(copied)
			select {
			case <-released:
			case <-time.After(p.hold):
			}
		})
	}()
	select {
	case <-copied:
		p.release = func() {
			close(released)
			if err := <-done; err != nil {
				return // threads have ended meanwhile
			}
		}
		return out, nil
	case err := <-done:
		return out, err
	}
}

// lookUntil does that; the process stands still until wait returns.
func (p *Program) lookUntil(out *seen, wait func()) (err error) {
	rt := &goruntime.Runtime{Layout: p.layout, Arch: p.arch, Memory: p.memory}
	bulk := &goruntime.Bulk{Runtime: rt, AllM: p.vars["runtime.allm"], Address: p.address}
	room := p.room(bulk)
	inside := procfs.Inside(p.pid)
	if clock, ok := clockOf(p.pid); ok { // the process may end when it goes on
		out.clock = clock
	}
	out.paused, err = whileStopped(p.pid, func(threads []stopped) error {
		text, err := procfs.ReadMaps(p.pid)
		if err != nil {
			return err
		}
		maps := p.maps
		if !bytes.Equal(text, p.mapsText) {
			if maps, err = imagemap.ParseMaps(bytes.NewReader(text)); err != nil {
				return err
			}
		}
		p.memory.enter(during, procfs.Ranges(maps, "w"))
		for i := range threads {
			threads[i].inside = uint64(threads[i].id)
			if inside != nil {
				threads[i].inside = inside(threads[i].inside)
			}
		}
		err = p.copy(bulk, threads, maps, room, out)
		if err == nil {
			wait()
		}
		p.memory.enter(after, p.memory.writable)
		return err
	})
	if err != nil {
		return fmt.Errorf("process %d: %w", p.pid, err)
	}
	return nil
}

// room allocates memory for the copies beforehand: the kernel takes longer to make
// pages than to fill them.
func (p *Program) room(b *goruntime.Bulk) []byte {
	gs, err := b.Goroutines()
	if err != nil {
		return nil
	}
	const forStack = 768 // bytes of most parked goroutines' stacks
	size := min(uint64(len(gs))*forStack+1<<20, maxCopy)
	for _, r := range merged(gs, smallGap) {
		size += r.End - r.Start
	}
	room := make([]byte, min(size, maxCopy))
	for i := 0; i < len(room); i += pageSize {
		room[i] = 1
	}
	return room
}

// copy copies what stacks need, while the process stands still.
func (p *Program) copy(b *goruntime.Bulk, threads []stopped, maps []imagemap.Mapping, room []byte, out *seen) error {
	gs, err := b.Goroutines()
	if err != nil {
		return err
	}
	if room, err = p.take(merged(gs, smallGap), room); err != nil {
		return err
	}
	machines, err := b.Machines()
	if err != nil {
		return err
	}
	var stacks []unwind.Range
	for _, th := range threads {
		known := b.Runtime.Thread(uint64(th.id), th.registers, machines[th.inside], maps)
		known.Current = th.id == p.pid
		out.threads = append(out.threads, known)
		sp, _ := th.registers.SP(p.arch)
		stacks = append(stacks, b.OfThread(&known, sp, maps)...)
	}
	if _, err = p.take(merged(slices.Concat(stacks, b.Stacks(gs)), 0), room); err != nil {
		return err
	}
	out.notes = b.Runtime.Notes(p.address)
	out.notes.Scheduler() // what it reads is kept
	b.Warm(out.notes, gs)
	return nil
}

// take copies ranges, into room as far as that is large enough, and returns what is left
// of it.
func (p *Program) take(ranges []unwind.Range, room []byte) ([]byte, error) {
	var size uint64
	for _, r := range ranges {
		size += r.End - r.Start
	}
	if size > maxCopy {
		return nil, fmt.Errorf("its stacks have %d MB, more than are copied", size>>20)
	}
	if size > uint64(len(room)) {
		room = make([]byte, size)
	}
	p.memory.add(readRanges(p.pid, ranges, room[:size:size]))
	return room[size:], nil
}
