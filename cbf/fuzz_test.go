package cbf_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/clewdbg/clew/cbf"
)

// FuzzDecode: any bytes decode to frames, ended or with an error that names an offset
// in the data; frames that were read can be written and read back.
func FuzzDecode(f *testing.F) {
	for _, v := range swiftVectors(f) {
		f.Add(v.data, false)
	}
	f.Add([]byte{2, 0x28, 7, 0x8a, 0x10, 0, 0, 0x67, 255, 255, 255, 255, 255, 255, 255, 255, 0x01}, false)
	f.Add([]byte{0, 0x29, 0xff, 0xff, 0x10, 0x02, 0x5f, 0x62, 1, 0, 0}, true)
	f.Fuzz(func(t *testing.T, data []byte, strict bool) {
		got, err := cbf.Decode(data, cbf.DecodeOptions{Strict: strict, MaxRepeat: 1 << 10, MaxFrames: 1 << 12})
		if err != nil {
			var e *cbf.Error
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(data) || got.Complete {
				t.Fatalf("complete %v, %#v", got.Complete, err)
			}
		} else if cut := len(got.Frames) > 0 && got.Frames[len(got.Frames)-1].Kind == cbf.Truncated; cut == got.Complete {
			t.Fatalf("complete %v, %v", got.Complete, got.Frames)
		}
		if !got.WordSize.Valid() {
			if err == nil || len(got.Frames) > 0 {
				t.Fatal("frames of no word size")
			}
			return
		}
		again, err := cbf.AppendFrames(nil, got.WordSize, got.Frames, cbf.EndNone, cbf.EncodeOptions{Strict: strict})
		if err != nil {
			t.Fatal(err)
		}
		reread, err := cbf.Decode(again, cbf.DecodeOptions{Strict: strict})
		if err != nil || !slices.Equal(reread.Frames, got.Frames) {
			t.Fatalf("% x: %v, %v; want %v", again, reread.Frames, err, got.Frames)
		}
	})
}
