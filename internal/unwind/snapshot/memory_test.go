package snapshot_test

import (
	"errors"
	"math"
	"testing"

	. "github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/unwind"
	"pgregory.net/rapid"
)

// Windows cut out of one memory, in any order and overlapping as they like, read
// as that memory where a window covers it, and are an error elsewhere. One byte
// that is changed where two windows overlap is found.
func TestMemoryProperties(t *testing.T) {
	const size = 96
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]uint64{0, 0x1000, math.MaxUint64 - size + 1}).Draw(t, "base")
		truth := rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "bytes")
		var windows []unwind.Window
		covered := [size]int{}
		for range rapid.IntRange(0, 8).Draw(t, "windows") {
			from := rapid.IntRange(0, size).Draw(t, "from")
			n := min(rapid.IntRange(0, 40).Draw(t, "length"), size-from)
			windows = append(windows, unwind.Window{Addr: base + uint64(from), Data: append([]byte(nil), truth[from:from+n]...)})
			for i := from; i < from+n; i++ {
				covered[i]++
			}
		}
		m, err := NewMemory(windows)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range m.Windows() {
			prev := unwind.Window{}
			if i > 0 {
				prev = m.Windows()[i-1]
			}
			if len(w.Data) == 0 || i > 0 && w.Addr-prev.Addr <= uint64(len(prev.Data)) {
				t.Fatalf("windows %v are not sorted, apart and non-empty", m.Windows())
			}
		}
		from := rapid.IntRange(0, size-1).Draw(t, "readFrom")
		n := rapid.IntRange(1, 60).Draw(t, "readLength")
		readable := from+n <= size
		for i := from; readable && i < from+n; i++ {
			readable = covered[i] > 0
		}
		p := make([]byte, n)
		err = m.ReadMemory(base+uint64(from), p)
		var memErr *unwind.MemoryError
		switch {
		case readable && (err != nil || string(p) != string(truth[from:from+n])):
			t.Fatalf("[%d,+%d): %x, %v", from, n, p, err)
		case !readable && (!errors.As(err, &memErr) || !errors.Is(err, ErrNotInSnapshot)):
			t.Fatalf("[%d,+%d) is not covered, and reads as %x, %v", from, n, p, err)
		}
		r := m.Readable(base + uint64(from))
		if (covered[from] > 0) != r.Contains(base+uint64(from)) && base+uint64(from) != math.MaxUint64 {
			t.Fatalf("readable around %#x: %#x", base+uint64(from), r)
		}

		// The lie: one byte of one window, where another covers it too.
		for i, w := range windows {
			for j := range w.Data {
				addr := w.Addr + uint64(j)
				if covered[addr-base] < 2 {
					continue
				}
				w.Data[j] ^= 0x40
				_, err := NewMemory(windows)
				w.Data[j] ^= 0x40
				var conflict *ConflictError
				if !errors.As(err, &conflict) || conflict.Addr != addr || conflict.First >= conflict.Second {
					t.Fatalf("windows[%d] lies at %#x: %v", i, addr, err)
				}
				a, b := windows[conflict.First], windows[conflict.Second]
				if !a.Contains(addr, 1) || !b.Contains(addr, 1) || conflict.FirstByte^conflict.SecondByte != 0x40 {
					t.Fatalf("windows[%d] lies at %#x: %v", i, addr, err)
				}
				return
			}
		}
	})
}

func TestMemoryDoesNotChangeItsWindows(t *testing.T) {
	backing := []byte("abcdefgh")
	m, err := NewMemory([]unwind.Window{{Addr: 0x10, Data: backing[:4]}, {Addr: 0x14, Data: []byte("XYZ")}})
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 7)
	if err := m.ReadMemory(0x10, p); err != nil || string(p) != "abcdXYZ" {
		t.Errorf("%s, %v", p, err)
	}
	if string(backing) != "abcdefgh" {
		t.Errorf("joining windows wrote into one: %s", backing)
	}
	if got := m.Readable(0x15); got != (unwind.Range{Start: 0x10, End: 0x17}) {
		t.Errorf("%#x", got)
	}
}

func TestMemoryWraps(t *testing.T) {
	_, err := NewMemory([]unwind.Window{{}, {Addr: math.MaxUint64, Data: []byte{1, 2}}})
	var wrap *WrapError
	if !errors.As(err, &wrap) || wrap.Window != 1 {
		t.Error(err)
	}
	m, err := NewMemory([]unwind.Window{{Addr: math.MaxUint64, Data: []byte{7}}})
	if err != nil {
		t.Fatal(err)
	}
	var p [1]byte
	if err := m.ReadMemory(math.MaxUint64, p[:]); err != nil || p[0] != 7 {
		t.Error(err)
	}
	if err := m.ReadMemory(math.MaxUint64, make([]byte, 2)); err == nil {
		t.Error("a read goes round the end of the address space")
	}
	if err := m.ReadMemory(5, nil); err != nil {
		t.Error("reading nothing fails:", err)
	}
}
