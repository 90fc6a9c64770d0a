package cbf_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/clewdbg/clew/cbf"
)

func TestDecode(t *testing.T) {
	strict := cbf.DecodeOptions{Strict: true}
	tests := []struct {
		name     string
		data     []byte
		opts     cbf.DecodeOptions
		want     []cbf.Frame
		complete bool
		trailing int
		err      error // and at which offset
		offset   int
	}{
		{name: "no data", err: cbf.ErrUnexpectedEnd},
		{name: "version 1", data: []byte{0x06, 0}, err: cbf.ErrVersion},
		{name: "word size 3", data: []byte{0x03, 0}, err: cbf.ErrWordSize},
		{name: "nothing", data: []byte{2}, complete: true},
		{name: "end", data: []byte{2, 0}, complete: true},
		{name: "trunc", data: []byte{2, 1}, want: []cbf.Frame{truncated}},
		{name: "after end", data: []byte{2, 0, 0x28, 1}, complete: true, trailing: 2},
		{name: "after trunc", data: []byte{2, 1, 0xff}, want: []cbf.Frame{truncated}, trailing: 1},
		{name: "relative first", data: []byte{2, 0x20, 0xff}, want: []cbf.Frame{ra(1<<64 - 1)}, complete: true},
		{name: "relative first, strict", data: []byte{2, 0x40, 0x20, 0xff}, opts: strict, want: []cbf.Frame{omit(1)}, err: cbf.ErrRelativeFirst, offset: 2},
		{name: "sign extends to the word", data: []byte{1, 0x28, 0xff}, want: []cbf.Frame{ra(0xffffffff)}, complete: true},
		{name: "wraps at the word", data: []byte{0, 0x19, 0xff, 0xff, 0x30, 2}, want: []cbf.Frame{pc(0xffff), async(1)}, complete: true},
		{name: "omit keeps the base", data: []byte{2, 0x28, 7, 0x40, 0x20, 1}, want: []cbf.Frame{ra(7), omit(1), ra(8)}, complete: true},
		{name: "operand longer than the word", data: []byte{0, 0x2a, 1, 2, 3}, want: []cbf.Frame{ra(0x0203)}, complete: true},
		{name: "operand longer than the word, strict", data: []byte{0, 0x2a, 1, 2, 3}, opts: strict, err: cbf.ErrOperand, offset: 1},
		{name: "omit padded beyond the word", data: []byte{0, 0x63, 0, 0, 1, 2}, want: []cbf.Frame{omit(0x102)}, complete: true},
		{name: "omit padded, strict", data: []byte{0, 0x63, 0, 0, 1, 2}, opts: strict, err: cbf.ErrOperand, offset: 1},
		{name: "omit above the word", data: []byte{0, 0x62, 1, 0, 0}, err: cbf.ErrOperand, offset: 1},
		{name: "omit above 64 bits", data: []byte{2, 0x68, 1, 0, 0, 0, 0, 0, 0, 0, 0}, err: cbf.ErrOperand, offset: 1},
		{name: "huge omit", data: []byte{2, 0x67, 255, 255, 255, 255, 255, 255, 255, 255}, want: []cbf.Frame{omit(1<<64 - 1)}, complete: true},
		{name: "rep", data: []byte{2, 0x28, 7, 0x81, 0x20, 1}, want: []cbf.Frame{ra(7), ra(7), ra(7), ra(8)}, complete: true},
		{name: "rep after rep", data: []byte{2, 0x28, 7, 0x80, 0x88, 1}, want: repeat(ra(7), 3), complete: true},
		{name: "rep of omit", data: []byte{2, 0x41, 0x80}, want: repeat(omit(2), 2), complete: true},
		{name: "rep 0", data: []byte{2, 0x28, 7, 0x88, 0, 0x00}, want: []cbf.Frame{ra(7)}, complete: true},
		{name: "rep of nothing", data: []byte{2, 0x80}, err: cbf.ErrNothingToRepeat, offset: 1},
		{name: "rep, strict", data: []byte{2, 0x28, 7, 0x80}, opts: strict, want: []cbf.Frame{ra(7)}, err: cbf.ErrOpcode, offset: 3},
		{name: "rep above the limit", data: []byte{2, 0x28, 7, 0x8a, 0x10, 0, 1}, want: []cbf.Frame{ra(7)}, err: cbf.ErrRepeatLimit, offset: 3},
		{name: "rep above a limit of 2", data: []byte{2, 0x28, 7, 0x82}, opts: cbf.DecodeOptions{MaxRepeat: 2}, want: []cbf.Frame{ra(7)}, err: cbf.ErrRepeatLimit, offset: 3},
		{name: "rep at a limit of 2", data: []byte{2, 0x28, 7, 0x81}, opts: cbf.DecodeOptions{MaxRepeat: 2}, want: repeat(ra(7), 3), complete: true},
		{name: "huge rep", data: []byte{2, 0x28, 7, 0x8f, 255, 255, 255, 255, 255, 255, 255, 255}, want: []cbf.Frame{ra(7)}, err: cbf.ErrRepeatLimit, offset: 3},
		{name: "frame limit", data: []byte{2, 0x28, 7, 0x87}, opts: cbf.DecodeOptions{MaxFrames: 4}, want: repeat(ra(7), 4), err: cbf.ErrFrameLimit, offset: 4},
		{name: "reserved 02", data: []byte{2, 0x28, 7, 0x02}, want: []cbf.Frame{ra(7)}, err: cbf.ErrOpcode, offset: 3},
		{name: "reserved 0f", data: []byte{2, 0x0f}, err: cbf.ErrOpcode, offset: 1},
		{name: "reserved 90", data: []byte{2, 0x90}, err: cbf.ErrOpcode, offset: 1},
		{name: "reserved ff", data: []byte{2, 0xff}, err: cbf.ErrOpcode, offset: 1},
		{name: "address cut", data: []byte{2, 0x28, 7, 0x23, 1, 2}, want: []cbf.Frame{ra(7)}, err: cbf.ErrUnexpectedEnd, offset: 3},
		{name: "address missing", data: []byte{2, 0x10}, err: cbf.ErrUnexpectedEnd, offset: 1},
		{name: "omit cut", data: []byte{2, 0x61, 1}, err: cbf.ErrUnexpectedEnd, offset: 1},
		{name: "rep cut", data: []byte{2, 0x28, 7, 0x89, 1}, want: []cbf.Frame{ra(7)}, err: cbf.ErrUnexpectedEnd, offset: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cbf.Decode(tt.data, tt.opts)
			if !slices.Equal(got.Frames, tt.want) {
				t.Errorf("frames %v, want %v", got.Frames, tt.want)
			}
			if got.Complete != tt.complete || got.Trailing != tt.trailing {
				t.Errorf("complete %v, trailing %d; want %v, %d", got.Complete, got.Trailing, tt.complete, tt.trailing)
			}
			var e *cbf.Error
			if !errors.Is(err, tt.err) || (tt.err != nil && (!errors.As(err, &e) || e.Offset != tt.offset)) {
				t.Errorf("error %v, want %v at %d", err, tt.err, tt.offset)
			}
		})
	}
}

func TestIterator(t *testing.T) {
	data := []byte{2, 0x28, 7, 0x87, 0x90}
	d := cbf.NewDecoder(data, cbf.DecodeOptions{})
	for f, err := range d.All() {
		if err != nil || f != ra(7) {
			t.Fatalf("%v, %v", f, err)
		}
		break // in the middle of a repeat
	}
	var frames []cbf.Frame
	var last error
	for f, err := range d.All() {
		if last = err; err == nil {
			frames = append(frames, f)
		}
	}
	if !slices.Equal(frames, repeat(ra(7), 8)) || !errors.Is(last, cbf.ErrOpcode) || !errors.Is(last, d.Err()) {
		t.Errorf("then %v, %v", frames, last)
	}
	if d.Next() || d.Complete() || d.Trailing() != 0 || d.Offset() != 4 {
		t.Errorf("after the error: complete %v, trailing %d, offset %d", d.Complete(), d.Trailing(), d.Offset())
	}
}

// The texts reach the user as they are.
func TestTexts(t *testing.T) {
	_, err := cbf.Decode([]byte{2, 0x28, 7, 0x23, 1, 2}, cbf.DecodeOptions{})
	if got, want := err.Error(), "cbf: offset 3: data ends too early: operand of 4 bytes, 2 left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	_, err = cbf.AppendFrames(nil, cbf.Word16, []cbf.Frame{pc(1), ra(0x10000)}, cbf.EndNone, cbf.EncodeOptions{})
	if got, want := err.Error(), `frame 1: cbf: frame "ra 0x10000": address exceeds the machine word`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for f, want := range map[cbf.Frame]string{
		pc(0): "pc 0x0", async(16): "async 0x10", omit(3): "omit 3", truncated: "truncated", {Kind: 9}: "kind(9)",
	} {
		if f.String() != want {
			t.Errorf("%q, want %q", f, want)
		}
	}
}
