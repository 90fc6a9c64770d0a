package envelope_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/envelope"
)

func vectors(tb testing.TB) []string {
	files, err := filepath.Glob("../../cbf/testdata/swift/*.json")
	if err != nil || len(files) != 3 {
		tb.Fatalf("%d vectors, %v", len(files), err)
	}
	return files
}

func read(tb testing.TB, file string) []byte {
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// The envelopes that a Swift 6.2.3 program emitted decode to the same values as the same
// program printed of them, line for line.
func TestSwiftListing(t *testing.T) {
	for _, file := range vectors(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			e, err := envelope.Unmarshal(read(t, file))
			if err != nil {
				t.Fatal(err)
			}
			backtrace, err := cbf.Decode(e.Backtrace, cbf.DecodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			images, err := imagemap.Decode(e.ImageMap, imagemap.DecodeOptions{})
			if err != nil {
				t.Fatal(err)
			}

			var got strings.Builder
			fmt.Fprintf(&got, "architecture %s\n", e.Architecture)
			for _, f := range backtrace.Frames {
				if f.Kind.HasAddress() {
					fmt.Fprintf(&got, "%s 0x%016x\n", f.Kind, f.Address)
				} else {
					fmt.Fprintln(&got, f)
				}
			}
			// Nothing in the data says truncated; Swift's reader makes that up
			// when it misses the end instruction.
			if !backtrace.Complete {
				t.Error("the backtrace is not complete")
			}
			fmt.Fprintln(&got, "trunc")
			for _, img := range images.All() {
				// Swift's listing writes build IDs without leading zeros.
				id := make([]string, len(img.BuildID))
				for i, b := range img.BuildID {
					id[i] = fmt.Sprintf("%x", b)
				}
				fmt.Fprintf(&got, "image 0x%016x 0x%016x %s %s %s\n", img.Base, img.EndOfText, strings.Join(id, ":"), img.Name, img.Path)
			}
			if want := string(read(t, strings.TrimSuffix(file, ".json")+".txt")); got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}

// Swift's output, read and written again, is the same JSON, but for escapes.
func TestSwiftBytes(t *testing.T) {
	for _, file := range vectors(t) {
		text := bytes.TrimSpace(read(t, file))
		e, err := envelope.Unmarshal(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := envelope.Marshal(e)
		if want := bytes.ReplaceAll(text, []byte(`\/`), []byte(`/`)); err != nil || !bytes.Equal(again, want) {
			t.Errorf("%s: %v\n got %s\nwant %s", file, err, again, want)
		}
	}
}

func TestUnmarshal(t *testing.T) {
	for _, tt := range []struct {
		text  string
		want  envelope.Envelope
		err   error
		field string
	}{
		{text: `{"architecture":"arm64","backtrace":"AgA"}`, want: envelope.Envelope{Architecture: "arm64", Backtrace: []byte{2, 0}}},
		{text: `{"architecture":"arm64","backtrace":"AgA=","imageMap":"AgAA"}`, want: envelope.Envelope{Architecture: "arm64", Backtrace: []byte{2, 0}, ImageMap: []byte{2, 0, 0}}},
		{text: `{"architecture":"arm64","backtrace":"Ag==","imageMap":null,"more":[1]}`, want: envelope.Envelope{Architecture: "arm64", Backtrace: []byte{2}}},
		{text: `{"architecture":"arm","backtrace":"","imageMap":""}`, want: envelope.Envelope{Architecture: "arm", Backtrace: []byte{}, ImageMap: []byte{}}},
		{text: `{"backtrace":"AgA"}`, err: envelope.ErrMissing, field: "architecture"},
		{text: `{"architecture":"","backtrace":"AgA"}`, err: envelope.ErrMissing, field: "architecture"},
		{text: `{"architecture":"arm64"}`, err: envelope.ErrMissing, field: "backtrace"},
		{text: `{"architecture":"arm64","backtrace":"A"}`, err: envelope.ErrBase64, field: "backtrace"},
		{text: `{"architecture":"arm64","backtrace":"Ag="}`, err: envelope.ErrBase64, field: "backtrace"},
		{text: `{"architecture":"arm64","backtrace":"Ag===="}`, err: envelope.ErrBase64, field: "backtrace"},
		{text: `{"architecture":"arm64","backtrace":"Ag","imageMap":"-_"}`, err: envelope.ErrBase64, field: "imageMap"},
	} {
		got, err := envelope.Unmarshal([]byte(tt.text))
		var fe *envelope.FieldError
		if !errors.Is(err, tt.err) || (tt.err != nil && (!errors.As(err, &fe) || fe.Field != tt.field)) {
			t.Errorf("%s: error %v, want %v of %q", tt.text, err, tt.err, tt.field)
		}
		if !equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.text, got, tt.want)
		}
	}
	var syntax *json.SyntaxError
	if _, err := envelope.Unmarshal([]byte(`{"architecture"`)); !errors.As(err, &syntax) {
		t.Errorf("cut JSON: %v", err)
	}
	var typ *json.UnmarshalTypeError
	if _, err := envelope.Unmarshal([]byte(`{"architecture":"arm","backtrace":7}`)); !errors.As(err, &typ) {
		t.Errorf("a number for a string: %v", err)
	}
	if _, err := envelope.Marshal(envelope.Envelope{}); !errors.Is(err, envelope.ErrMissing) {
		t.Errorf("Marshal without architecture: %v", err)
	}
}

// equal tells a missing image map from an empty one.
func equal(a, b envelope.Envelope) bool {
	return a.Architecture == b.Architecture && bytes.Equal(a.Backtrace, b.Backtrace) &&
		bytes.Equal(a.ImageMap, b.ImageMap) && (a.ImageMap == nil) == (b.ImageMap == nil)
}

func TestMarshalUnmarshalIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := envelope.Envelope{
			Architecture: rapid.StringN(1, 10, -1).Draw(t, "architecture"),
			Backtrace:    rapid.SliceOf(rapid.Byte()).Draw(t, "backtrace"),
		}
		if rapid.Bool().Draw(t, "with images") {
			in.ImageMap = rapid.SliceOf(rapid.Byte()).Draw(t, "images")
		}
		text, err := envelope.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(text, "=\n") && !strings.Contains(in.Architecture, "=") {
			t.Fatalf("padded, or not one line: %s", text)
		}
		got, err := envelope.Unmarshal(text)
		if err != nil || !equal(got, in) {
			t.Fatalf("%s: %v, %v; want %v", text, got, err, in)
		}
	})
}

// FuzzUnmarshal: any text decodes to an envelope or an error; an envelope is the same
// after it was written and read.
func FuzzUnmarshal(f *testing.F) {
	for _, file := range vectors(f) {
		f.Add(read(f, file))
	}
	f.Add([]byte(`{"architecture":"arm64","backtrace":"` + base64.StdEncoding.EncodeToString([]byte{2}) + `","imageMap":"A\/8="}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := envelope.Unmarshal(text)
		if err != nil {
			if !equal(e, envelope.Envelope{}) {
				t.Fatal("an error and a value")
			}
			return
		}
		again, err := envelope.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if reread, err := envelope.Unmarshal(again); err != nil || !equal(reread, e) {
			t.Fatalf("%s: %v, %v; want %v", again, reread, err, e)
		}
	})
}
