package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

const (
	backtraceJSON = `{"wordSize":64,"frames":[{"kind":"pc","address":"0x30"}],"complete":true}`
	imagesJSON    = `{"wordSize":64,"frames":[],"complete":true,"images":[]}`
)

func TestEncodeToFile(t *testing.T) {
	in := file(t, "in.json", []byte(backtraceJSON))
	out := filepath.Join(t.TempDir(), "x.cbf")
	if got := execute(encodeCommand(), "", "--to", "cbf", "-o", out, in); got != (execution{}) {
		t.Fatalf("%+v", got)
	}
	want := unhex(t, "02 18 30 00")
	if got := contentsOf(t, out); string(got) != string(want) {
		t.Errorf("% x, want % x", got, want)
	}
	// What fails leaves the file that was there.
	if got := execute(encodeCommand(), "", "--to", "image-map", "-o", out, in); got.code != exitFailed {
		t.Errorf("%+v", got)
	}
	if got := contentsOf(t, out); string(got) != string(want) {
		t.Errorf("% x, want % x", got, want)
	}
	// - is standard output.
	if got := execute(encodeCommand(), backtraceJSON, "--to", "cbf", "-o", "-", "-"); got != (execution{out: string(want)}) {
		t.Errorf("%+v", got)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, tt := range []struct{ to, text, wantText string }{
		{"cbf", "", "no document"},
		{"cbf", "{", "offset 1: the JSON object is cut off"},
		{"cbf", `{"wordSize":64,"frames":[{"kind":"pc"}],"complete":true}`, "document 1: frames[0]: address: missing"},
		{"cbf", imagesJSON, "only an image map"},
		{"cbf", backtraceJSON + backtraceJSON, "several documents"},
		{"image-map", backtraceJSON, "no image map"},
		{"image-map", imagesJSON + "\n" + imagesJSON, "several documents"},
		{"swift", backtraceJSON, `add "architecture"`},
		{"pprof", "", "no document"},
		{"pprof", imagesJSON, "only an image map"},
		{"pprof", `{"wordSize":64,"frames":[{"kind":"pc","address":"0x30","inlined":true,"function":"f"}],"complete":true}`, "in no frame"},
		{"pprof", backtraceJSON + strings.Replace(backtraceJSON, "{", `{"architecture":"arm64",`, 1), "several architectures"},
	} {
		got := execute(encodeCommand(), tt.text, "--to", tt.to, "-")
		if got.code != exitFailed || got.out != "" || len(lines(got.errors)) != 1 ||
			!strings.HasPrefix(got.errors, "clew: encode -: ") || !strings.Contains(got.errors, tt.wantText) {
			t.Errorf("%s to %s: %+v, want %q", tt.text, tt.to, got, tt.wantText)
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	if got := execute(encodeCommand(), "", "--to", "cbf", none); got.code != exitFailed || strings.Count(got.errors, none) != 1 {
		t.Errorf("%+v", got)
	}
	out := filepath.Join(none, "x.cbf")
	if got := execute(encodeCommand(), backtraceJSON, "--to", "cbf", "-o", out, "-"); got.code != exitFailed || strings.Count(got.errors, out) != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a folder was made")
	}
}

func TestEncodeUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"x"}, {"--to", "elf", "x"}, {"--to", "cbf"}, {"--to", "cbf", "x", "y"}} {
		if got := execute(encodeCommand(), "", args...); got.code != exitUsage || got.out != "" || len(lines(got.errors)) != 1 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// TestEncodePprof: two backtraces of processes whose images lie at one address, with
// inlined functions.
func TestEncodePprof(t *testing.T) {
	const text = `{"wordSize":64,"frames":[` +
		`{"kind":"pc","address":"0x1010","function":"in","file":"a.c","line":3,"inlined":true},` +
		`{"kind":"pc","address":"0x1010","function":"out","file":"a.c","line":9},` +
		`{"kind":"ra","address":"0x1020"},{"kind":"omit","count":2}],"complete":true,` +
		`"images":[{"base":"0x1000","endOfText":"0x2000","buildID":"ab12","path":"/bin/a"}]}`
	got := execute(encodeCommand(), text+"\n"+strings.Replace(text, "ab12", "cd34", 1), "--to", "pprof", "-")
	if got.code != 0 || got.errors != "" {
		t.Fatalf("%+v", got)
	}
	p, err := profile.ParseData([]byte(got.out))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sample) != 2 || len(p.Mapping) != 2 || len(p.Location) != 4 {
		t.Fatalf("%v", p)
	}
	for i, id := range []string{"ab12", "cd34"} {
		s := p.Sample[i]
		l := s.Location
		if len(l) != 2 || l[0].Address != 0x1010 || l[1].Address != 0x101f || l[0].Mapping.BuildID != id || len(l[1].Line) != 0 {
			t.Errorf("%+v", l)
		}
		if in := l[0].Line; len(in) != 2 || in[0].Function.Name != "in" || in[0].Line != 3 || in[1].Function.Name != "out" || in[1].Line != 9 {
			t.Errorf("%+v", in)
		}
		if s.Label["truncated"][0] != "2 frames left out" || s.Label["trust"] != nil {
			t.Errorf("%v", s.Label)
		}
	}
}
