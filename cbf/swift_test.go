package cbf_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/cbf"
)

// swiftVectors returns the backtraces that a Swift 6.2.3 program emitted, with the
// lines that the same program printed for their frames.
func swiftVectors(tb testing.TB) map[string]struct{ data, listing []byte } {
	files, err := filepath.Glob("testdata/swift/*.json")
	if err != nil || len(files) != 3 {
		tb.Fatalf("%d vectors, %v", len(files), err)
	}
	out := map[string]struct{ data, listing []byte }{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var envelope struct{ Backtrace string }
		if err := json.Unmarshal(text, &envelope); err != nil {
			tb.Fatal(err)
		}
		data, err := base64.RawStdEncoding.DecodeString(envelope.Backtrace)
		if err != nil {
			tb.Fatal(err)
		}
		listing, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".txt")
		if err != nil {
			tb.Fatal(err)
		}
		_, listing, _ = bytes.Cut(listing, []byte("\n")) // the architecture
		listing, _, _ = bytes.Cut(listing, []byte("image "))
		out[filepath.Base(file)] = struct{ data, listing []byte }{data, listing}
	}
	return out
}

func TestSwiftVectors(t *testing.T) {
	for name, v := range swiftVectors(t) {
		t.Run(name, func(t *testing.T) {
			b, err := cbf.Decode(v.data, cbf.DecodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, f := range b.Frames {
				if f.Kind.HasAddress() {
					fmt.Fprintf(&got, "%s 0x%016x\n", f.Kind, f.Address)
				} else {
					fmt.Fprintf(&got, "%s\n", f)
				}
			}
			// The data ends without end or trunc. Swift's reader makes a
			// truncation of that; to this package it is complete.
			if !b.Complete {
				t.Error("not complete")
			}
			got.WriteString("trunc\n")
			if got.String() != string(v.listing) {
				t.Errorf("got\n%swant\n%s", got.String(), v.listing)
			}

			// Written again it is the same but for the first address, which is
			// absolute now.
			again, err := cbf.AppendFrames(nil, b.WordSize, b.Frames, cbf.EndNone, cbf.EncodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := bytes.Clone(v.data)
			want[1] |= 0x08
			if !bytes.Equal(again, want) {
				t.Errorf("written again\n got % x\nwant % x", again, want)
			}
			if model := swiftEncode(uint(b.WordSize), b.Frames); !bytes.Equal(model, v.data) {
				t.Errorf("the model of Swift's encoder is wrong:\n got % x\nwant % x", model, v.data)
			}
		})
	}
}
