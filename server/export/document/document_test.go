package document_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/envelope"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/server/export/document"
)

// failer is what testing's and rapid's T have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func vectors(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("../../../cbf/testdata/swift/*.json")
	if err != nil || len(files) != 3 {
		tb.Fatalf("%d vectors, %v", len(files), err)
	}
	return files
}

func readFile(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// one reads data that holds one document.
func one(tb failer, data []byte, o document.Options) *document.Document {
	tb.Helper()
	all := slices.Collect(document.Read(data, o))
	if len(all) != 1 {
		tb.Fatalf("%d documents", len(all))
	}
	return all[0]
}

func toJSON(tb failer, d *document.Document) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := d.WriteJSON(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func fromJSON(tb failer, text []byte) *document.Document {
	tb.Helper()
	var out *document.Document
	for d, err := range document.Parse(text) {
		if err != nil || out != nil {
			tb.Fatalf("%v, %v: %s", out, err, text)
		}
		out = d
	}
	return out
}

// The JSON of Swift's vectors says the same as Swift's own listing.
func TestSwiftListing(t *testing.T) {
	for _, file := range vectors(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			d := one(t, readFile(t, file), document.Options{})
			if d.Err != nil || d.Format != document.Swift {
				t.Fatalf("%v, %v", d.Format, d.Err)
			}
			text := toJSON(t, d)
			if err := schematest.CheckOutput(schema.Decode, text); err != nil {
				t.Error(err)
			}
			var doc struct {
				Architecture string
				Complete     bool
				Frames       []struct {
					Kind, Address string
					Count         uint64
				}
				Images []struct{ Base, EndOfText, BuildID, Name, Path string }
			}
			if err := json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			wide := func(a string) string { return "0x" + strings.Repeat("0", 18-len(a)) + a[2:] }
			var got strings.Builder
			fmt.Fprintf(&got, "architecture %s\n", doc.Architecture)
			for _, f := range doc.Frames {
				if f.Kind == "omit" {
					fmt.Fprintf(&got, "omit %d\n", f.Count)
				} else {
					fmt.Fprintf(&got, "%s %s\n", f.Kind, wide(f.Address))
				}
			}
			if !doc.Complete {
				t.Error("not complete")
			}
			fmt.Fprintln(&got, "trunc") // Swift's reader makes that up
			for _, img := range doc.Images {
				var id []string // without leading zeros in the listing
				for i := 0; i < len(img.BuildID); i += 2 {
					s := strings.TrimPrefix(img.BuildID[i:i+2], "0")
					id = append(id, s)
				}
				fmt.Fprintf(&got, "image %s %s %s %s %s\n", wide(img.Base), wide(img.EndOfText), strings.Join(id, ":"), img.Name, img.Path)
			}
			if want := string(readFile(t, strings.TrimSuffix(file, ".json")+".txt")); got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}

// bytesOf writes data in hexadecimal, "02 00".
func bytesOf(tb testing.TB, hex string) []byte {
	var out []byte
	for _, h := range strings.Fields(hex) {
		var b byte
		if _, err := fmt.Sscanf(h, "%02x", &b); err != nil {
			tb.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// The cases of the package comment, and what lies between them.
func TestRecognise(t *testing.T) {
	for _, tt := range []struct {
		what, name, data string
		want             document.Format
	}{
		{"a backtrace without frames", "", "02", document.CBF},
		{"a backtrace, end marked", "", "02 00", document.CBF},
		{"no platform, no images", "", "02 00 00", document.ImageMap},
		{"the same, misnamed", "x.cbf", "02 00 00", document.ImageMap},
		{"a backtrace, misnamed", "x.cif", "02 18 30 28 31", document.CBF},
		{"fits both", "", ambiguous, document.CBF},
		{"fits both", "x.cbf", ambiguous, document.CBF},
		{"fits both", "x.CIF", ambiguous, document.ImageMap},
		{"a padded backtrace", "", "02 18 30 00 00 00", document.CBF},
		{"a backtrace cut off", "", "02 18 30 28", document.CBF},
		{"an image map cut off after its platform", "", "02 03 4c 69 6e 01", document.ImageMap},
		{"the same, misnamed", "x.cbf", "02 03 4c 69 6e 01", document.CBF},
		{"an image map cut off after its information byte", "x.cif", "02", document.CBF},
		{"neither", "", "7f 45 4c 46", document.CBF},
		{"neither", "x.cif", "7f 45 4c 46", document.ImageMap},
		{"nothing", "", "", document.CBF},
		{"an object", "x.cbf", "20 0a 7b", document.Swift},
		{"white space", "", "20 0a", document.CBF},
	} {
		if got := document.Recognise(bytesOf(t, tt.data), document.Options{Name: tt.name}); got != tt.want {
			t.Errorf("%s %q: %v, want %v", tt.what, tt.name, got, tt.want)
		}
	}
}

// ambiguous is a backtrace of pc 0x61, some ra and an omit, and a map with a platform of
// 24 characters and no images.
const ambiguous = "02 18 61 28 61 28 61 28 61 28 61 28 61 28 61 28 61 28 61 28 61 28 61 28 61 40 00"

func TestAmbiguousIsBoth(t *testing.T) {
	data := bytesOf(t, ambiguous)
	for _, f := range []document.Format{document.CBF, document.ImageMap} {
		if d := one(t, data, document.Options{Format: f}); d.Err != nil || !d.Complete {
			t.Errorf("%v: %v", f, d.Err)
		}
	}
}

func frames(ws cbf.WordSize) *rapid.Generator[[]cbf.Frame] {
	return rapid.Custom(func(t *rapid.T) []cbf.Frame {
		var out []cbf.Frame
		for range rapid.IntRange(0, 8).Draw(t, "runs") {
			f := cbf.Frame{Kind: cbf.Kind(rapid.IntRange(int(cbf.PC), int(cbf.Omitted)).Draw(t, "kind"))}
			if f.Kind == cbf.Omitted {
				f.Count = rapid.Uint64Range(1, ws.Max()).Draw(t, "count")
			} else {
				f.Address = rapid.Uint64Range(0, ws.Max()).Draw(t, "address")
			}
			for range rapid.SampledFrom([]int{1, 1, 2, 300}).Draw(t, "repeats") {
				out = append(out, f)
			}
		}
		if rapid.Bool().Draw(t, "truncated") {
			out = append(out, cbf.Frame{Kind: cbf.Truncated})
		}
		return out
	})
}

func imageMap(ws imagemap.WordSize) *rapid.Generator[*imagemap.ImageMap] {
	return rapid.Custom(func(t *rapid.T) *imagemap.ImageMap {
		images := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) imagemap.Image {
			base := rapid.Uint64Range(0, ws.Max()-1).Draw(t, "base")
			path := rapid.OneOf(rapid.String(), rapid.StringMatching(`(/[a-z<&]{1,5}){1,4}`),
				rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "path")
			return imagemap.Image{
				Base: base, EndOfText: rapid.Uint64Range(base+1, ws.Max()).Draw(t, "end"),
				BuildID: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "id"), Path: path,
			}
		}), 0, 5).Draw(t, "images")
		m, err := imagemap.New(ws, rapid.StringN(0, 20, 255).Draw(t, "platform"), images)
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}

// Data -> document -> JSON -> document -> data loses nothing, whatever the
// format and the dialect.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ws := rapid.SampledFrom([]cbf.WordSize{16, 32, 64}).Draw(t, "word size")
		want := frames(ws).Draw(t, "frames")
		maps := imageMap(imagemap.WordSize(ws)).Draw(t, "images")
		complete := len(want) == 0 || want[len(want)-1].Kind != cbf.Truncated
		backtrace, err := cbf.AppendFrames(nil, ws, want, cbf.EndNone, cbf.EncodeOptions{Strict: rapid.Bool().Draw(t, "strict")})
		if err != nil {
			t.Fatal(err)
		}
		cif := maps.AppendCIF(nil, imagemap.EncodeOptions{})
		swift, err := envelope.Marshal(envelope.Envelope{Architecture: "arm64", Backtrace: backtrace, ImageMap: cif})
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []struct {
			format document.Format
			data   []byte
		}{{document.CBF, backtrace}, {document.ImageMap, cif}, {document.Swift, swift}} {
			text := toJSON(t, one(t, in.data, document.Options{Format: in.format}))
			if err := schematest.CheckOutput(schema.Decode, text); err != nil {
				t.Fatalf("%v: %v\n%s", in.format, err, text)
			}
			d := fromJSON(t, text)
			if again := toJSON(t, d); !bytes.Equal(again, text) {
				t.Fatalf("JSON\n%s\nagain\n%s", text, again)
			}
			strict := rapid.Bool().Draw(t, "write strictly")
			if in.format == document.ImageMap {
				data, err := d.Encode(document.ImageMap, strict)
				if err != nil || !bytes.Equal(data, cif) {
					t.Fatalf("%v\n% x\n% x", err, data, cif)
				}
				continue
			}
			data, err := d.Encode(in.format, strict)
			if err != nil {
				t.Fatal(err)
			}
			got := one(t, data, document.Options{Format: in.format})
			if got.Err != nil || !slices.Equal(got.Frames, want) || got.Complete != complete || got.WordSize != ws {
				t.Fatalf("%v, %v; want %v", got, got.Err, want)
			}
			if in.format == document.Swift {
				if got.Architecture != "arm64" || !got.Images.Equal(maps) {
					t.Fatalf("%v, %v", got.Architecture, got.Images)
				}
				if data, err = d.Encode(document.CBF, strict); err != nil {
					t.Fatal(err)
				}
			}
			// Strictly written, it can be read strictly: there is no rep.
			b, err := cbf.Decode(data, cbf.DecodeOptions{Strict: strict})
			if err != nil || !slices.Equal(b.Frames, want) {
				t.Fatalf("%v, %v; want %v", b, err, want)
			}
		}
	})
}

// A fault is reported with its place, and the rest is kept.
func TestDamage(t *testing.T) {
	for _, tt := range []struct {
		what     string
		format   document.Format
		data     []byte
		offset   int64
		wantText string
		frames   int
		images   int // -1: no map
		json     bool
	}{
		{"unknown instruction", document.CBF, bytesOf(t, "02 18 30 28 31 07"), 5, "unknown instruction", 2, -1, true},
		{"operand cut off", document.CBF, bytesOf(t, "02 18 30 2f 31"), 3, "too early", 1, -1, true},
		{"version", document.CBF, bytesOf(t, "7f 45 4c 46"), 0, "version", 0, -1, false},
		{"count cut off", document.ImageMap, bytesOf(t, "02 01 41"), 3, "image count", 0, 0, true},
		{"second image cut off", document.ImageMap, bytesOf(t, "02 00 02 00 10 10 00 00 80"), 9, "image 1: ", 0, 1, true},
		{"paths lost", document.ImageMap, bytesOf(t, "02 00 02 00 10 10 00 90 00 00 20 10 00 90 00"), 7, "of 1 more", 0, 2, true},
		{"both", document.Swift, []byte(`{"architecture":"arm64","backtrace":"AhgwBw","imageMap":"AgAB"}`), 3, "backtrace: unknown instruction 0x07; offset 3: imageMap: ", 1, 0, true},
		{"images only", document.Swift, []byte(`{"architecture":"arm64","backtrace":"","imageMap":"AgAA"}`), 0, "backtrace: ", 0, 0, true},
		{"words of two sizes", document.Swift, []byte(`{"architecture":"arm64","backtrace":"AgA","imageMap":"AQAA"}`), 0, "imageMap: the image map has 32-bit", 0, -1, true},
		{"no base64", document.Swift, []byte(` {"architecture":"arm64","backtrace":"*"}`), 1, "base64", 0, -1, false},
		{"JSON cut off", document.Swift, []byte(`{"architecture":`), 16, "cut off", 0, -1, false},
		{"no JSON", document.Swift, []byte(`{"architecture"}`), 15, "invalid character", 0, -1, false},
		{"another JSON", document.Swift, []byte(`{"wordSize":64}`), 0, "architecture", 0, -1, false},
	} {
		t.Run(tt.what, func(t *testing.T) {
			d := one(t, tt.data, document.Options{Format: tt.format})
			if d.Err == nil || d.Err.Offset != tt.offset || !strings.Contains(d.Err.Message(), tt.wantText) {
				t.Fatalf("%v; want offset %d, %q", d.Err, tt.offset, tt.wantText)
			}
			if !strings.HasPrefix(d.Err.Error(), fmt.Sprintf("offset %d: ", tt.offset)) || errors.Unwrap(d.Err) == nil {
				t.Errorf("%v", d.Err)
			}
			if len(d.Frames) != tt.frames || (d.Images == nil) != (tt.images < 0) || d.Images != nil && d.Images.Len() != tt.images {
				t.Errorf("%d frames, %v", len(d.Frames), d.Images)
			}
			text := toJSON(t, d)
			if !tt.json {
				if len(text) != 0 {
					t.Errorf("JSON of nothing: %s", text)
				}
				return
			}
			if err := schematest.CheckOutput(schema.Decode, text); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
			// The error goes into the JSON and comes back; the written form of the
			// backtrace says that it is not whole.
			again := fromJSON(t, text)
			if again.Err == nil || again.Err.Offset != tt.offset || again.Err.Message() != d.Err.Message() {
				t.Errorf("%v, was %v", again.Err, d.Err)
			}
			if tt.frames > 0 {
				data, err := again.Encode(document.CBF, false)
				if err != nil || data[len(data)-1] != 1 {
					t.Errorf("% x, %v", data, err)
				}
			}
		})
	}
}

func TestSeveralEnvelopes(t *testing.T) {
	a, b := `{"architecture":"arm64","backtrace":"AgA"}`, `{"architecture":"arm","backtrace":"*"}`
	all := slices.Collect(document.Read([]byte("\n"+a+"\n"+b+a+"\n[1] {"), document.Options{}))
	if len(all) != 5 {
		t.Fatalf("%d documents", len(all))
	}
	for i, want := range []string{"", "offset 44:", "", "offset 125:", "offset 130:"} {
		got := ""
		if all[i].Err != nil {
			got = all[i].Err.Error()
		}
		if !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("document %d: %q, want %q", i, got, want)
		}
	}
	for range document.Read([]byte(a+a), document.Options{}) {
		break // a reader may stop
	}
}

func TestNoPlatform(t *testing.T) {
	// One image, no platform field; with one it would be a platform of a byte.
	data := bytesOf(t, "02 01 00 10 10 00 00")
	if d := one(t, data, document.Options{Format: document.ImageMap, NoPlatform: true}); d.Err != nil || d.Images.Len() != 1 {
		t.Errorf("%v", d.Err)
	}
	if d := one(t, data, document.Options{Format: document.ImageMap}); d.Err == nil {
		t.Error("read although it has no platform")
	}
}

// A few bytes can stand for any number of frames; reading them comes to an end.
func TestHostileRepeats(t *testing.T) {
	data := bytesOf(t, "02 18 30")
	for range 1000 {
		data = append(data, 0x8a, 0x10, 0, 0) // 2^20 more
	}
	d := one(t, data, document.Options{})
	if d.Err == nil || !errors.Is(d.Err, cbf.ErrFrameLimit) || len(d.Frames) != cbf.MaxFrames {
		t.Errorf("%v, %d frames", d.Err, len(d.Frames))
	}
	var b bytes.Buffer
	if err := d.WriteText(&b); err != nil || b.Len() > 1000 {
		t.Errorf("%v, %d bytes of text", err, b.Len())
	}
}
