package glance

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/clewdbg/clew/unwind"
)

// counting is memory whose bytes are the number of reads so far.
type counting struct{ reads byte }

func (c *counting) ReadMemory(addr uint64, p []byte) error {
	if addr >= 0x100000 {
		return errors.New("unmapped")
	}
	c.reads++
	for i := range p {
		p[i] = c.reads
	}
	return nil
}

// TestMemoryPhases: what was read at the stop is what is read afterwards; what the process
// may have written to since cannot be read.
func TestMemoryPhases(t *testing.T) {
	live := &counting{}
	m := newMemory(live)
	read := func(addr uint64) (byte, error) {
		var b [8]byte
		err := m.ReadMemory(addr, b[:])
		return b[0], err
	}
	if a, _ := read(0x1000); a != 1 {
		t.Error(a)
	}
	if a, _ := read(0x1000); a != 2 {
		t.Error("what is read before the stop is kept")
	}
	m.enter(during, unwind.NewRangeSet(unwind.Range{Start: 0x1000, End: 0x9000}))
	at, _ := read(0x1000)
	m.add([]unwind.Window{{Addr: 0x4000, Data: []byte{42, 1, 1, 1, 1, 1, 1, 1, 43}}, {Addr: 0x3000, Data: []byte{1}}})
	m.settle()
	m.enter(after, m.writable)
	if a, err := read(0x1000); a != at || err != nil {
		t.Errorf("%d, %v; at the stop it was %d", a, err, at)
	}
	if a, err := read(0x4000); a != 42 || err != nil {
		t.Errorf("the copy has %d, %v", a, err)
	}
	if a, err := read(0x4001); a != 1 || err != nil {
		t.Errorf("the copy has %d, %v", a, err)
	}
	for _, addr := range []uint64{0x4002, 0x8000, 0x8ffc} {
		if _, err := read(addr); !errors.Is(err, errNotCopied) {
			t.Errorf("%#x: %v", addr, err)
		}
	}
	if _, err := read(0xa000); err != nil {
		t.Errorf("what cannot change: %v", err)
	}
	if _, err := read(0x200000); err == nil {
		t.Error("unmapped memory was read")
	}
}

func TestMerged(t *testing.T) {
	in := []unwind.Range{{Start: 50, End: 60}, {Start: 0, End: 10}, {Start: 5, End: 8}, {Start: 12, End: 20}}
	for gap, want := range map[uint64][]unwind.Range{
		0:  {{Start: 0, End: 10}, {Start: 12, End: 20}, {Start: 50, End: 60}},
		2:  {{Start: 0, End: 20}, {Start: 50, End: 60}},
		99: {{Start: 0, End: 60}},
	} {
		if got := merged(nil, in, gap); !slices.Equal(got, want) {
			t.Errorf("gap %d: %v", gap, got)
		}
	}
}

// TestUnreadable: a page that cannot be read is asked for once.
func TestUnreadable(t *testing.T) {
	asked := 0
	m := newMemory(reads(func(addr uint64, p []byte) error {
		if len(p) == pageSize {
			asked++
		}
		return errors.New("unmapped")
	}))
	m.enter(during, nil)
	for addr := uint64(0x1000); addr < 0x1100; addr += 8 {
		if m.ReadMemory(addr, make([]byte, 8)) == nil {
			t.Fatal("it was read")
		}
	}
	if asked != 1 {
		t.Errorf("asked for %d times", asked)
	}
}

// reads is memory by its function.
type reads func(addr uint64, p []byte) error

func (r reads) ReadMemory(addr uint64, p []byte) error { return r(addr, p) }

// TestLateRead: what comes when the process has gone on does not count.
func TestLateRead(t *testing.T) {
	started, goOn := make(chan bool), make(chan bool)
	m := newMemory(reads(func(uint64, []byte) error {
		started <- true
		<-goOn
		return nil
	}))
	m.enter(during, unwind.NewRangeSet(unwind.Range{Start: 0x1000, End: 0x2000}))
	read := make(chan error)
	go func() { read <- m.ReadMemory(0x1000, make([]byte, 8)) }()
	<-started
	m.enter(after, m.writable) // not blocked by the read
	close(goOn)
	if err := <-read; !errors.Is(err, errNotCopied) {
		t.Error(err)
	}
}

func TestShare(t *testing.T) {
	now := time.Now()
	if got := share(now, 0, copyPart); !got.IsZero() {
		t.Errorf("without a limit: %v", got)
	}
	if got := share(now, time.Second, stopPart).Sub(now); got != time.Second/2 {
		t.Error(got)
	}
}
