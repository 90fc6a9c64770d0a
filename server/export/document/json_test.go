package document_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/export/document"
)

func TestParseRefuses(t *testing.T) {
	const rest = `"wordSize":64,"complete":true,"frames":`
	for _, tt := range []struct{ text, wantText string }{
		{`{`, "offset 1: the JSON object is cut off"},
		{`{"wordSize":64,]`, "offset 15: "},
		{`[1]`, "document 1: a JSON array is out of place"},
		{`{"frames":[],"complete":true}`, "wordSize: missing"},
		{`{"wordSize":64,"complete":true}`, "frames: missing"},
		{`{"wordSize":64,"frames":[]}`, "complete: missing"},
		{`{"wordSize":24,"frames":[],"complete":true}`, "wordSize: 24"},
		{`{"wordSize":640,"frames":[],"complete":true}`, "document 1: wordSize: a JSON number 640 is"},
		{`{` + rest + `null}`, "frames: not a list"},
		{`{` + rest + `{}}`, "frames: not a list"},
		{`{` + rest + `[{}]}`, `frames[0]: kind: ""`},
		{`{` + rest + `[{"kind":"up"}]}`, `frames[0]: kind: "up"`},
		{`{` + rest + `[{"kind":"truncated"},{"kind":"pc","address":"0x1"}]}`, "frames[1]: nothing can follow"},
		{`{` + rest + `[{"kind":"truncated"}]}`, "complete: true, but"},
		{`{` + rest + `[{"kind":"pc"}]}`, "frames[0]: address: missing"},
		{`{` + rest + `[{"kind":"omit"}]}`, "frames[0]: count: missing"},
		{`{` + rest + `[{"kind":"omit","count":-1}]}`, "frames[0]: count: a JSON number -1"},
		{`{` + rest + `[{"kind":"pc","address":"0X1"}]}`, `"0X1" is not an address`},
		{`{` + rest + `[{"kind":"pc","address":1}]}`, "frames[0]: "},
		{`{` + rest + `[],"images":{}}`, "images: not a list"},
		{`{` + rest + `[],"images":[{"endOfText":"0x2"}]}`, "images[0]: base: missing"},
		{`{` + rest + `[],"images":[{"base":"0x2"}]}`, "images[0]: endOfText: missing"},
		{`{` + rest + `[],"images":[{"base":"0x2","endOfText":"0x1"}]}`, "end of text is not above"},
		{`{` + rest + `[],"images":[{"base":"0x2","endOfText":"0x3","buildID":"1"}]}`, "images[0]: buildID: "},
		{`{` + rest + `[],"images":[{"base":"0x2","endOfText":"0x3","path":7}]}`, "images[0]: path: a JSON number is"},
		{`{` + rest + `[]} {}`, "document 2: wordSize: missing"},
	} {
		var last error
		for d, err := range document.Parse([]byte(tt.text)) {
			if (d == nil) == (err == nil) {
				t.Errorf("%s: %v and %v", tt.text, d, err)
			}
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), tt.wantText) {
			t.Errorf("%s: %v, want %q", tt.text, last, tt.wantText)
		}
	}
	for d, err := range document.Parse([]byte(" \n")) {
		t.Errorf("of nothing: %v, %v", d, err)
	}
	for d, err := range document.Parse([]byte(`{` + rest + `[{"kind":"pc","address":"0x1","more":1}],"images":null,"more":{}}`)) {
		if err != nil || len(d.Frames) != 1 || d.Images != nil {
			t.Errorf("fields that are not known: %v, %v", d, err)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		text string
		to   document.Format
		want error
	}{
		{`{"wordSize":64,"frames":[],"complete":true}`, document.ImageMap, document.ErrNoImages},
		{`{"wordSize":64,"frames":[],"complete":true}`, document.Swift, document.ErrNoArchitecture},
		{`{"wordSize":64,"frames":[],"complete":true,"images":[]}`, document.CBF, document.ErrNoBacktrace},
		{`{"wordSize":16,"frames":[{"kind":"pc","address":"0x10000"}],"complete":true}`, document.CBF, cbf.ErrAddressRange},
		{`{"wordSize":16,"frames":[{"kind":"pc","address":"0x10000"}],"complete":true,"architecture":"arm"}`, document.Swift, cbf.ErrAddressRange},
	} {
		d := fromJSON(t, []byte(tt.text))
		if data, err := d.Encode(tt.to, false); !errors.Is(err, tt.want) || data != nil {
			t.Errorf("%s to %v: % x, %v; want %v", tt.text, tt.to, data, err, tt.want)
		}
	}
	if _, err := new(document.Document).Encode(document.Unknown, false); err == nil {
		t.Error("written as unknown")
	}
}

// The form of bytes that are not UTF-8, as Python's os.fsencode reads it.
func TestPathText(t *testing.T) {
	m, err := imagemap.New(imagemap.Word64, "", []imagemap.Image{{Base: 1, EndOfText: 2, Path: "/\xff\"é<\x80\xe2"}})
	if err != nil {
		t.Fatal(err)
	}
	text := toJSON(t, &document.Document{WordSize: 64, Images: m})
	if want := `"path":"/\udcff\"é<\udc80\udce2"`; !strings.Contains(string(text), want) {
		t.Errorf("%s, want %s", text, want)
	}
	for in, want := range map[string]string{
		`"\udcff"`:             "\xff",
		`"a\\udcff"`:           `a\udcff`,
		`"\uD83D\udca9\udc80"`: "\U0001f4a9\x80", // a pair is one character, though its second half looks like a byte
		`"\udc7f\ud83d"`:       "\ufffd\ufffd",   // halves that are neither
		`null`:                 "",
	} {
		d := fromJSON(t, []byte(`{"wordSize":64,"frames":[],"complete":true,"images":[{"base":"0x1","endOfText":"0x2","path":`+in+`}]}`))
		if got := d.Images.Images()[0].Path; got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, name := range document.FormatNames() {
		if f, err := document.ParseFormat(name); err != nil || f.String() != name {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	for _, name := range []string{"", "unknown", "CBF"} {
		if f, err := document.ParseFormat(name); err == nil {
			t.Errorf("%q is %v", name, f)
		}
	}
}

// TestCalls: what symbols add is read back, and written in no other format.
func TestCalls(t *testing.T) {
	d := &document.Document{
		WordSize: cbf.Word64, Complete: true,
		Frames: []cbf.Frame{{Kind: cbf.PC, Address: 0x10}, {Kind: cbf.RA, Address: 0x20}, {Kind: cbf.RA, Address: 0x30}},
		Calls:  [][]document.Call{{{Function: "a<\"b\">", File: "/src/\xff.c", Line: 1}, {}, {Function: "c"}}, nil, {{Function: "e", Line: 8, Column: 2, TailCall: true}, {Function: "d", Line: 7, Column: 3}}},
	}
	var b, text strings.Builder
	if err := d.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteText(&text); err != nil || !strings.Contains(text.String(), "e [tail call]") {
		t.Errorf("%s, %v", text.String(), err)
	}
	for again, err := range document.Parse([]byte(b.String())) {
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again.Calls, d.Calls) || !reflect.DeepEqual(again.Frames, d.Frames) {
			t.Errorf("%s\n%+v", b.String(), again)
		}
		with, err := again.Encode(document.CBF, true)
		if err != nil {
			t.Fatal(err)
		}
		again.Calls = nil
		if without, err := again.Encode(document.CBF, true); err != nil || string(with) != string(without) {
			t.Errorf("% x, without functions % x, %v", with, without, err)
		}
	}
}
