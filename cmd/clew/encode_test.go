package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
