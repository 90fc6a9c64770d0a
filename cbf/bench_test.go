package cbf_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/clewdbg/clew/cbf"
)

// stack makes n frames as a Go+C program has them: return addresses in a few
// images, some recursion.
func stack(n int) []cbf.Frame {
	rng := rand.New(rand.NewPCG(1, 2))
	images := []uint64{0x55c1d50fa000, 0x7f8a9c400000, 0x7f8a9ec23000}
	frames := []cbf.Frame{pc(images[1] + 0x1234)}
	for len(frames) < n {
		f := ra(images[rng.IntN(len(images))] + rng.Uint64N(1<<20))
		for range 1 + max(0, rng.IntN(12)-8) {
			frames = append(frames, f)
		}
	}
	return frames[:n]
}

func TestNoAllocation(t *testing.T) {
	frames := stack(1000)
	buf := make([]byte, 0, 16*len(frames))
	var data []byte
	if n := testing.AllocsPerRun(100, func() {
		e := cbf.NewEncoder(buf, cbf.Word64, cbf.EncodeOptions{})
		for _, f := range frames {
			if err := e.Append(f); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if data, err = e.Finish(cbf.EndMark); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("encoding allocates %v times", n)
	}
	if &data[0] != &buf[:1][0] {
		t.Error("the caller's slice was not used")
	}

	// A repeat that stands for a million frames costs no memory either.
	data = append(data[:len(data)-1], 0x8a, 0x10, 0, 0)
	count := 0
	if n := testing.AllocsPerRun(2, func() {
		count = 0
		d := cbf.NewDecoder(data, cbf.DecodeOptions{})
		for d.Next() {
			count++
		}
		if d.Err() != nil || !d.Complete() {
			t.Fatal(d.Err())
		}
	}); n != 0 {
		t.Errorf("decoding allocates %v times", n)
	}
	if want := len(frames) + cbf.MaxRepeat; count != want {
		t.Errorf("%d frames, want %d", count, want)
	}
}

var benchSizes = []int{50, 10000}

func perFrame(b *testing.B, frames, bytes int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*frames), "ns/frame")
	b.ReportMetric(float64(bytes)/float64(frames), "bytes/frame")
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("frames=%d", n), func(b *testing.B) {
			frames := stack(n)
			buf := make([]byte, 0, 16*n)
			b.ReportAllocs()
			var size int
			for b.Loop() {
				e := cbf.NewEncoder(buf, cbf.Word64, cbf.EncodeOptions{})
				for _, f := range frames {
					if err := e.Append(f); err != nil {
						b.Fatal(err)
					}
				}
				data, err := e.Finish(cbf.EndMark)
				if err != nil {
					b.Fatal(err)
				}
				size = len(data)
			}
			perFrame(b, n, size)
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("frames=%d", n), func(b *testing.B) {
			data, err := cbf.AppendFrames(nil, cbf.Word64, stack(n), cbf.EndMark, cbf.EncodeOptions{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				d := cbf.NewDecoder(data, cbf.DecodeOptions{})
				got := 0
				for d.Next() {
					got++
				}
				if got != n || d.Err() != nil {
					b.Fatal(got, d.Err())
				}
			}
			perFrame(b, n, len(data))
		})
	}
}
