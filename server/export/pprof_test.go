package export_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/unwind"
)

func pprofOf(t *testing.T, stacks ...unwind.Stack) []byte {
	t.Helper()
	images, err := imagemap.New(imagemap.Word64, "", []imagemap.Image{
		{Base: 0x400000, EndOfText: 0x500000, Path: "/tmp/prog", BuildID: []byte{0xab, 0xcd}},
		{Base: 0x7f1b2e600000, EndOfText: 0x7f1b2e800000, Path: "/usr/lib/libc.so.6"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := export.Pprof(&b, unwind.AMD64, export.Once(slices.Values(stacks)), images); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPprof(t *testing.T) {
	p, err := profile.ParseData(pprofOf(t, mixed(), cut()))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sample) != 2 {
		t.Fatalf("%d samples", len(p.Sample))
	}
	s := p.Sample[0]
	for name, want := range map[string]string{"goroutine": "1", "thread": "4711", "stop": "end", "trust": "scan"} {
		if got := s.Label[name]; len(got) != 1 || got[0] != want {
			t.Errorf("label %s is %q, want %q", name, got, want)
		}
	}
	// The inlined function shares the location of the frame that it lies in.
	if len(s.Location) != 5 {
		t.Fatalf("%d locations", len(s.Location))
	}
	first := s.Location[0]
	if len(first.Line) != 2 || first.Line[0].Function.Name != "main.add" || first.Line[1].Function.Name != "main.handler" || first.Line[1].Line != 12 {
		t.Errorf("the innermost location is %+v", first)
	}
	if first.Address != 0x401136 || s.Location[1].Address != 0x7f1b2e64cfb9 {
		t.Errorf("addresses %#x, %#x: an instruction stays, a return address goes into its call (R9)", first.Address, s.Location[1].Address)
	}
	if m := first.Mapping; m == nil || m.File != "/tmp/prog" || m.BuildID != "abcd" || m.Start != 0x400000 || m.Limit != 0x500000 {
		t.Errorf("mapping %+v", m)
	}
	if m := s.Location[3].Mapping; m != nil {
		t.Errorf("an address in no image has mapping %+v", m)
	}
	cutLabels := p.Sample[1].Label
	if cutLabels["truncated"] == nil || cutLabels["thread"][0] != "7" || cutLabels["goroutine"] != nil {
		t.Errorf("the labels of the other stack are %v", cutLabels)
	}
}

// TestPprofTool: the reference reader shows the frames in their order.
func TestPprofTool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stacks.pb.gz")
	if err := os.WriteFile(path, pprofOf(t, mixed()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "pprof", "-traces", path).CombinedOutput()
	if err != nil {
		t.Fatalf("go tool pprof: %v\n%s", err, out)
	}
	rest := string(out)
	for _, name := range []string{"main.add (inline)", "main.handler", "libc.so.6", "find", "runtime.goexit"} {
		_, after, found := strings.Cut(rest, name)
		if !found {
			t.Fatalf("%s is missing, or not in its place:\n%s", name, out)
		}
		rest = after
	}
}
