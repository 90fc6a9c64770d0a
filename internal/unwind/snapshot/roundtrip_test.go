package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"testing"

	. "github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
	"pgregory.net/rapid"
)

func drawRegisters(t *rapid.T, arch unwind.Arch) (r unwind.Registers) {
	for range rapid.IntRange(0, 6).Draw(t, "registers") {
		reg := unwind.Register(rapid.IntRange(0, 79).Draw(t, "register"))
		if _, ok := arch.ParseRegister(arch.RegisterName(reg)); ok {
			r.Set(reg, drawAddr(t, arch))
		}
	}
	r.Set(arch.PC(), drawAddr(t, arch))
	return r
}

func drawAddr(t *rapid.T, arch unwind.Arch) uint64 {
	if arch.PointerSize() == 4 {
		return rapid.Uint64Max(math.MaxUint32).Draw(t, "address")
	}
	return rapid.Uint64().Draw(t, "address")
}

// drawRange returns two addresses in order.
func drawRange(t *rapid.T, arch unwind.Arch) (low, high uint64) {
	a, b := drawAddr(t, arch), drawAddr(t, arch)
	return min(a, b), max(a, b)
}

func drawClaim(t *rapid.T, arch unwind.Arch, i int) unwind.Frame {
	f := unwind.Frame{
		PC:         unwind.Code(drawAddr(t, arch), rapid.SampledFrom([]unwind.PCKind{unwind.KindInstruction, unwind.KindReturn}).Draw(t, "kind")),
		Strategy:   "delve",
		Trust:      unwind.Trust(rapid.IntRange(0, 4).Draw(t, "trust")),
		CFA:        drawAddr(t, arch),
		Function:   rapid.SampledFrom([]string{"", "a<b>", "é"}).Draw(t, "function"),
		Segment:    -1,
		DelveFrame: i,
	}
	switch rapid.IntRange(0, 2).Draw(t, "claimed registers") {
	case 0:
		f.Registers = drawRegisters(t, arch) // its PC need not be the frame's
	case 1:
		f.Registers.Set(arch.PC(), f.PC.Raw())
		f.Registers.Set(arch.SP(), drawAddr(t, arch))
	case 2:
		f.Registers.Set(arch.PC(), f.PC.Raw())
	}
	return f
}

var drawSnapshot = rapid.Custom(func(t *rapid.T) *Snapshot {
	arch := rapid.SampledFrom([]unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.I386, unwind.S390X}).Draw(t, "arch")
	s := &Snapshot{
		Arch:      arch,
		ByteOrder: rapid.SampledFrom([]binary.ByteOrder{binary.LittleEndian, binary.BigEndian}).Draw(t, "order"),
		OS:        rapid.SampledFrom([]string{"linux", "darwin"}).Draw(t, "os"),
		PACMask:   rapid.Uint64().Draw(t, "pac"),
		Images:    []Image{}, Threads: []unwind.Thread{}, Memory: []unwind.Window{},
	}
	for range rapid.IntRange(0, 2).Draw(t, "images") {
		img := Image{Path: rapid.SampledFrom([]string{"a", "/lib/<x>", "[vdso]"}).Draw(t, "path")}
		if low, high := drawRange(t, arch); low < high {
			img.Base, img.End = low, high
		}
		if id := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "buildID"); len(id) > 0 {
			img.BuildID = id
		}
		s.Images = append(s.Images, img)
	}
	if rapid.Bool().Draw(t, "has maps") {
		s.Maps = []Map{}
		if low, high := drawRange(t, arch); low < high {
			s.Maps = append(s.Maps, Map{Start: low, End: high, Perm: rapid.SampledFrom([]string{"r-xp", "rw-", "---s"}).Draw(t, "perm")})
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "threads") {
		th := unwind.Thread{
			ID: rapid.Uint64().Draw(t, "id"), Goroutine: rapid.Uint64().Draw(t, "goroutine"),
			Registers: drawRegisters(t, arch),
			FirstPC:   rapid.SampledFrom([]unwind.PCKind{unwind.KindInstruction, unwind.KindReturn}).Draw(t, "firstPC"),
		}
		if rapid.Bool().Draw(t, "has segments") {
			th.Segments = []unwind.Segment{}
			for range rapid.IntRange(0, 2).Draw(t, "segments") {
				low, high := drawRange(t, arch)
				th.Segments = append(th.Segments, unwind.Segment{Low: low, High: high, Kind: unwind.SegmentKind(rapid.IntRange(0, 3).Draw(t, "kind"))})
			}
		}
		if rapid.Bool().Draw(t, "has saved") {
			th.Saved = &unwind.Saved{G: drawAddr(t, arch), Registers: drawRegisters(t, arch)}
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "claims") {
			th.Claims = append(th.Claims, drawClaim(t, arch, i))
		}
		s.Threads = append(s.Threads, th)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "windows") {
		s.Memory = append(s.Memory, unwind.Window{Addr: uint64(i) << 12, Data: rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "data")})
	}
	if rapid.Bool().Draw(t, "has expect") {
		e, err := stackjson.ParseExpectation([]byte(`{"stacks":[{"frames":[{"pc":"0x1","function":"a<b>"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		s.Expect = &e
	}
	return s
})

// A snapshot is read back as what was written, and its line satisfies the
// schema.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSnapshot.Draw(rt, "snapshot")
		line := marshal(t, s)
		got, err := Parse(line)
		if err != nil {
			rt.Fatalf("%s\n%v", line, err)
		}
		if !reflect.DeepEqual(got, s) {
			rt.Fatalf("%s\n got %+v\nwant %+v", line, got, s)
		}
		if again := marshal(t, got); !bytes.Equal(again, line) {
			rt.Fatalf("not the same twice:\n%s\n%s", line, again)
		}
	})
}
