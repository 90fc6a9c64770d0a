package cbf_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clewdbg/clew/cbf"
)

// backtrace is a generated input: frames as a stack has them, with clusters of
// near addresses, extremes of the word, and runs.
type backtrace struct {
	ws     cbf.WordSize
	frames []cbf.Frame
}

func genBacktrace(t *rapid.T) backtrace {
	ws := rapid.SampledFrom([]cbf.WordSize{cbf.Word16, cbf.Word32, cbf.Word64}).Draw(t, "ws")
	b := backtrace{ws: ws}
	last := uint64(0)
	for range rapid.IntRange(0, 12).Draw(t, "groups") {
		f := cbf.Frame{Kind: rapid.SampledFrom([]cbf.Kind{cbf.PC, cbf.RA, cbf.RA, cbf.RA, cbf.Async, cbf.Omitted}).Draw(t, "kind")}
		value := rapid.OneOf(
			rapid.Uint64Range(0, ws.Max()),
			rapid.Map(rapid.Int64Range(-70000, 70000), func(d int64) uint64 { return (last + uint64(d)) & ws.Max() }),
			rapid.Map(rapid.IntRange(0, 63), func(bit int) uint64 { return (1<<bit - 1) & ws.Max() }),
			rapid.Map(rapid.IntRange(0, 63), func(bit int) uint64 { return (^uint64(0) << bit) & ws.Max() }),
		).Draw(t, "value")
		if f.Kind == cbf.Omitted {
			f.Count = value
		} else {
			f.Address, last = value, value
		}
		run := rapid.SampledFrom([]int{1, 1, 1, 2, 8, 9, 10, 300}).Draw(t, "run")
		for range run {
			b.frames = append(b.frames, f)
		}
	}
	return b
}

func TestEncodeDecodeIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := genBacktrace(t)
		strict := rapid.Bool().Draw(t, "strict")
		ending := rapid.SampledFrom([]cbf.Ending{cbf.EndNone, cbf.EndMark, cbf.EndTruncated}).Draw(t, "ending")
		prefix := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "prefix")

		data, err := cbf.AppendFrames(slices.Clone(prefix), in.ws, in.frames, ending, cbf.EncodeOptions{Strict: strict})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(data, prefix) {
			t.Fatalf("the bytes before the backtrace changed: % x", data)
		}
		got, err := cbf.Decode(data[len(prefix):], cbf.DecodeOptions{Strict: strict})
		if err != nil {
			t.Fatalf("% x: %v", data, err)
		}
		want := in.frames
		if ending == cbf.EndTruncated {
			want = append(slices.Clone(want), cbf.Frame{Kind: cbf.Truncated})
		}
		if !slices.Equal(got.Frames, want) || got.WordSize != in.ws {
			t.Fatalf("% x:\n got %d %v\nwant %d %v", data, got.WordSize, got.Frames, in.ws, want)
		}
		if got.Complete != (ending != cbf.EndTruncated) || got.Trailing != 0 {
			t.Fatalf("ending %d: complete %v, %d trailing bytes", ending, got.Complete, got.Trailing)
		}
	})
}

func TestNeverLongerThanSwift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := genBacktrace(t)
		ours, err := cbf.AppendFrames(nil, in.ws, in.frames, cbf.EndNone, cbf.EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		swift := swiftEncode(uint(in.ws), in.frames)
		if len(ours) > len(swift) {
			t.Fatalf("%v\n ours % x\nswift % x", in.frames, ours, swift)
		}
		// Swift's output must mean the same to this package.
		got, err := cbf.Decode(swift, cbf.DecodeOptions{})
		if err != nil || !slices.Equal(got.Frames, in.frames) || !got.Complete {
			t.Fatalf("Swift's % x: %v, complete %v, %v", swift, got.Frames, got.Complete, err)
		}
	})
}

// Cut anywhere, the data decodes to a prefix of the frames, and an error exactly where
// an instruction is torn.
func TestCutData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := genBacktrace(t)
		data, err := cbf.AppendFrames(nil, in.ws, in.frames, cbf.EndMark, cbf.EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cut := rapid.IntRange(0, len(data)).Draw(t, "cut")
		got, err := cbf.Decode(data[:cut], cbf.DecodeOptions{})
		if len(got.Frames) > len(in.frames) || !slices.Equal(got.Frames, in.frames[:len(got.Frames)]) {
			t.Fatalf("% x: %v is no prefix of %v", data[:cut], got.Frames, in.frames)
		}
		var e *cbf.Error
		switch {
		case err == nil && !got.Complete:
			t.Fatalf("% x: neither complete nor an error", data[:cut])
		case err != nil && (!errors.As(err, &e) || !errors.Is(err, cbf.ErrUnexpectedEnd) || e.Offset > cut || got.Complete):
			t.Fatalf("% x: complete %v, %v", data[:cut], got.Complete, err)
		}
	})
}
