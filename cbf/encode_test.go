package cbf_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/clewdbg/clew/cbf"
)

func pc(a uint64) cbf.Frame    { return cbf.Frame{Kind: cbf.PC, Address: a} }
func ra(a uint64) cbf.Frame    { return cbf.Frame{Kind: cbf.RA, Address: a} }
func async(a uint64) cbf.Frame { return cbf.Frame{Kind: cbf.Async, Address: a} }
func omit(n uint64) cbf.Frame  { return cbf.Frame{Kind: cbf.Omitted, Count: n} }

var truncated = cbf.Frame{Kind: cbf.Truncated}

func repeat(f cbf.Frame, n int) []cbf.Frame {
	out := make([]cbf.Frame, n)
	for i := range out {
		out[i] = f
	}
	return out
}

func TestEncodedBytes(t *testing.T) {
	tests := []struct {
		name   string
		ws     cbf.WordSize
		frames []cbf.Frame
		ending cbf.Ending
		strict bool
		want   []byte
	}{
		{"empty", cbf.Word64, nil, cbf.EndNone, false, []byte{2}},
		{"empty, ended", cbf.Word16, nil, cbf.EndMark, false, []byte{0, 0x00}},
		{"empty, truncated", cbf.Word32, nil, cbf.EndTruncated, false, []byte{1, 0x01}},
		{"first is absolute", cbf.Word64, []cbf.Frame{pc(5)}, cbf.EndNone, false, []byte{2, 0x18, 5}},
		{"a tie is relative", cbf.Word64, []cbf.Frame{pc(5), ra(6)}, cbf.EndNone, false, []byte{2, 0x18, 5, 0x20, 1}},
		{"absolute where shorter", cbf.Word64, []cbf.Frame{pc(0x12345678), ra(6)}, cbf.EndNone, false,
			[]byte{2, 0x1b, 0x12, 0x34, 0x56, 0x78, 0x28, 6}},
		{"the sign bit needs a byte", cbf.Word64, []cbf.Frame{async(0x80)}, cbf.EndNone, false, []byte{2, 0x39, 0x00, 0x80}},
		{"the top of the word is short", cbf.Word32, []cbf.Frame{ra(0xffffff80)}, cbf.EndNone, false, []byte{1, 0x28, 0x80}},
		{"relative wraps", cbf.Word16, []cbf.Frame{ra(0x0102), ra(0xfff2), ra(0x0112)}, cbf.EndNone, false,
			[]byte{0, 0x29, 0x01, 0x02, 0x28, 0xf2, 0x21, 0x01, 0x20}},
		{"all eight bytes", cbf.Word64, []cbf.Frame{ra(0x8000000000000001)}, cbf.EndNone, false,
			[]byte{2, 0x2f, 0x80, 0, 0, 0, 0, 0, 0, 1}},
		{"omit 1, 32, 33", cbf.Word64, []cbf.Frame{omit(1), omit(32), omit(33)}, cbf.EndNone, false,
			[]byte{2, 0x40, 0x5f, 0x60, 33}},
		{"omit 0 and 256", cbf.Word64, []cbf.Frame{omit(0), omit(256)}, cbf.EndNone, false, []byte{2, 0x60, 0, 0x61, 1, 0}},
		{"rep 1", cbf.Word64, repeat(ra(7), 2), cbf.EndMark, false, []byte{2, 0x28, 7, 0x80, 0}},
		{"rep 8", cbf.Word64, repeat(ra(7), 9), cbf.EndNone, false, []byte{2, 0x28, 7, 0x87}},
		{"rep 9", cbf.Word64, repeat(ra(7), 10), cbf.EndNone, false, []byte{2, 0x28, 7, 0x88, 9}},
		{"rep 256 before another frame", cbf.Word64, append(repeat(ra(7), 257), ra(8)), cbf.EndNone, false,
			[]byte{2, 0x28, 7, 0x89, 1, 0, 0x20, 1}},
		{"rep of omit", cbf.Word64, repeat(omit(40), 3), cbf.EndNone, false, []byte{2, 0x60, 40, 0x81}},
		{"a kind change is no repeat", cbf.Word64, []cbf.Frame{pc(7), ra(7)}, cbf.EndNone, false, []byte{2, 0x18, 7, 0x20, 0}},
		{"strict has no rep", cbf.Word64, repeat(ra(7), 3), cbf.EndNone, true, []byte{2, 0x28, 7, 0x20, 0, 0x20, 0}},
		{"omit first, then absolute", cbf.Word64, []cbf.Frame{omit(2), ra(1)}, cbf.EndNone, true, []byte{2, 0x41, 0x28, 1}},
		{"a truncated frame ends", cbf.Word64, append(repeat(ra(7), 2), truncated), cbf.EndNone, false,
			[]byte{2, 0x28, 7, 0x80, 1}},
		{"a long run is split", cbf.Word64, repeat(ra(7), cbf.MaxRepeat+3), cbf.EndNone, false,
			[]byte{2, 0x28, 7, 0x8a, 0x10, 0, 0, 0x81}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cbf.AppendFrames(nil, tt.ws, tt.frames, tt.ending, cbf.EncodeOptions{Strict: tt.strict})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, tt.want) {
				t.Errorf("\n got % x\nwant % x", got, tt.want)
			}
		})
	}
}

func TestEncoderRefuses(t *testing.T) {
	e := cbf.NewEncoder(nil, cbf.Word32, cbf.EncodeOptions{})
	for _, tt := range []struct {
		frame cbf.Frame
		want  error
	}{
		{ra(1 << 32), cbf.ErrAddressRange},
		{omit(1 << 32), cbf.ErrCountRange},
		{cbf.Frame{}, cbf.ErrKind},
		{cbf.Frame{Kind: 99}, cbf.ErrKind},
	} {
		var fe *cbf.FrameError
		if err := e.Append(tt.frame); !errors.Is(err, tt.want) || !errors.As(err, &fe) || fe.Frame != tt.frame {
			t.Errorf("%v: %v, want %v", tt.frame, err, tt.want)
		}
	}
	// The refused frames left no trace.
	if err := e.Append(ra(1)); err != nil {
		t.Fatal(err)
	}
	if got, err := e.Finish(cbf.EndMark); err != nil || !bytes.Equal(got, []byte{1, 0x28, 1, 0}) {
		t.Errorf("% x, %v", got, err)
	}
	if err := e.Append(ra(1)); !errors.Is(err, cbf.ErrFinished) {
		t.Errorf("Append after Finish: %v", err)
	}
	if _, err := e.Finish(cbf.EndNone); !errors.Is(err, cbf.ErrFinished) {
		t.Errorf("Finish after Finish: %v", err)
	}

	e.Reset(nil, 48, cbf.EncodeOptions{})
	if err := e.Append(ra(1)); !errors.Is(err, cbf.ErrWordSize) {
		t.Errorf("Append with a word of 48 bits: %v", err)
	}
	if _, err := e.Finish(cbf.EndNone); !errors.Is(err, cbf.ErrWordSize) {
		t.Errorf("Finish with a word of 48 bits: %v", err)
	}

	e.Reset(nil, cbf.Word64, cbf.EncodeOptions{})
	if err := e.Append(truncated); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Finish(cbf.EndMark); !errors.Is(err, cbf.ErrFinished) {
		t.Errorf("Finish with end after a truncated frame: %v", err)
	}
	if got, err := e.Finish(cbf.EndTruncated); err != nil || !bytes.Equal(got, []byte{2, 1}) {
		t.Errorf("% x, %v", got, err)
	}
	if _, err := e.Finish(cbf.EndNone); !errors.Is(err, cbf.ErrFinished) {
		t.Errorf("a second Finish after a truncated frame: %v", err)
	}
}
