package interpose

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/go-delve/delve/pkg/proc"
)

// claiming is a process whose list of goroutines has some entries, and whose runtime claims any number.
type claiming struct {
	proc.Process
	claimed, entries uint64
	reads            int
}

const listedAt, goroutineAt = 0x10000, 1 << 40

func (l *claiming) Memory() proc.MemoryReadWriter { return l }

func (l *claiming) ReadMemory(p []byte, addr uint64) (int, error) {
	l.reads++
	var v uint64
	switch i := (addr - listedAt) / 8; {
	case addr == 8:
		v = l.claimed
	case addr == 16:
		v = listedAt
	case addr == goroutineAt:
	case i < l.entries:
		v = goroutineAt
	case i < l.entries+l.entries/4: // room for more
	default:
		return 0, errors.New("no memory")
	}
	return binary.Encode(p, binary.LittleEndian, v)
}

func (l *claiming) WriteMemory(uint64, []byte) (int, error) { return 0, errors.New("not here") }

// TestGoroutineList: a number of goroutines is believed if the list has as many entries. Else those are shown that it has, and
// enough of the others to say that it is damaged.
func TestGoroutineList(t *testing.T) {
	for _, c := range []struct{ claimed, entries, want uint64 }{
		{0, 0, 0},
		{7, 7, 7},
		{fewGoroutines, 3, fewGoroutines}, // Delve may look
		{1_000_000, 1_000_000, 1_000_000},
		{fewGoroutines + 1, fewGoroutines + 1, fewGoroutines + 1},
		{fewGoroutines + 1, fewGoroutines, fewGoroutines + 1},
		{1 << 60, 0, wrongGoroutines},
		{1 << 60, 12, 12 + wrongGoroutines},
		{1<<64 - 1, 1_000_000, 1_000_000 + wrongGoroutines},
		{100_000, 60_000, 60_000 + wrongGoroutines},
		{60_100, 60_000, 60_100},
	} {
		l := &claiming{claimed: c.claimed, entries: c.entries}
		g := &goroutineList{l, 8, 16}
		var number [8]byte
		if n, err := g.ReadMemory(number[:], 8); n != 8 || err != nil {
			t.Fatal(n, err)
		}
		if got := binary.LittleEndian.Uint64(number[:]); got != c.want || l.reads > 200 {
			t.Errorf("%d claimed, %d there: %d after %d reads, want %d", c.claimed, c.entries, got, l.reads, c.want)
		}
	}
}
