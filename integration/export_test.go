package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// decoded is a line of clew decode --format json.
type decoded struct {
	WordSize int            `json:"wordSize"`
	Frames   []decodedFrame `json:"frames"`
	Complete *bool          `json:"complete"`
	Images   []struct {
		Base, EndOfText stackjson.Address
		BuildID, Path   string
	} `json:"images"`
}

type decodedFrame struct {
	Kind    string            `json:"kind"`
	Address stackjson.Address `json:"address"`
}

// decode reads files back, one document a line.
func decode(t testing.TB, files ...string) (docs []decoded) {
	t.Helper()
	o := clew(t, append([]string{"decode", "--format", "json"}, files...)...).want(t, done)
	for line := range strings.Lines(o.stdout) {
		if err := schematest.CheckOutput(schema.Decode, []byte(line)); err != nil {
			t.Errorf("not as the schema says: %v", err)
		}
		var d decoded
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, d)
	}
	return docs
}

// sameFrames compares the frames that were read back with the stack as JSON: its physical
// frames, raw, and whether it is complete. The innermost is exported as a pc, a
// parked goroutine's too.
func sameFrames(t testing.TB, d *decoded, s *stackjson.Stack) {
	t.Helper()
	var want []decodedFrame
	for _, f := range program.Physical(s) {
		want = append(want, decodedFrame{string(f.Kind), f.PC})
	}
	want[0].Kind = "pc"
	got := d.Frames
	complete := s.Stop == stackjson.StopEnd
	if !complete && len(got) > 0 && got[len(got)-1].Kind == "truncated" {
		got = got[:len(got)-1]
	}
	if d.Complete == nil || !slices.Equal(got, want) || *d.Complete != complete || d.WordSize != 64 {
		t.Errorf("read back: %+v\nstack: %s", *d, show(s))
	}
}

// sameImages demands an image around every frame's lookup address, as the stack
// names it.
func sameImages(t testing.TB, d *decoded, s *stackjson.Stack) {
	t.Helper()
	for _, f := range s.Frames {
		at := f.PC
		if f.Kind == stackjson.KindRA {
			at--
		}
		found := false
		for _, img := range d.Images {
			if at >= img.Base && at < img.EndOfText && img.Path == f.Image && img.BuildID != "" {
				found = true
			}
		}
		if !found && f.Image != "" {
			t.Errorf("no image %s around %v in the image map", f.Image, at)
		}
	}
}

// TestExport writes a running program's stacks in every exchange format, and
// compares the stacks that are read back with the same stacks as JSON. The program does not
// move in between.
func TestExport(t *testing.T) {
	v := variantNamed(t, "linked-O1-g-fp")
	k := park(t, build(t, v), "syscall")
	all := clew(t, k.args("--goroutine", "all", "--format", "json")...).stacks(t)
	inC := slices.IndexFunc(all, func(s stackjson.Stack) bool { return slices.Contains(k.threads, s.Thread) })
	if inC < 0 {
		t.Fatal("no goroutine in C")
	}
	one := &all[inC]
	dir := t.TempDir()
	only := []string{"--goroutine", itoa(one.Goroutine)}

	t.Run("cbf", func(t *testing.T) {
		file := filepath.Join(dir, "one.cbf")
		clew(t, k.args(append(only, "--format", "cbf", "-o", file)...)...).want(t, done)
		docs := decode(t, file, filepath.Join(dir, "one.cif"))
		if len(docs) != 2 {
			t.Fatalf("%d documents", len(docs))
		}
		sameFrames(t, &docs[0], one)
		sameImages(t, &docs[1], one)
	})
	t.Run("depth", func(t *testing.T) {
		file := filepath.Join(dir, "few.cbf")
		clew(t, k.args(append(only, "--depth", "3", "--format", "cbf", "-o", file)...)...).want(t, truncated)
		docs := decode(t, file)
		few := *one
		few.Frames, few.Stop = few.Frames[:3], stackjson.StopTruncated
		sameFrames(t, &docs[0], &few)
	})
	t.Run("swift", func(t *testing.T) {
		file := filepath.Join(dir, "one.json")
		clew(t, k.args(append(only, "--format", "swift", "-o", file)...)...).want(t, done)
		docs := decode(t, file)
		if len(docs) != 1 {
			t.Fatalf("%d documents", len(docs))
		}
		sameFrames(t, &docs[0], one)
		sameImages(t, &docs[0], one)
	})
	t.Run("pprof-all", func(t *testing.T) {
		file := filepath.Join(dir, "all.pb.gz")
		o := clew(t, k.args("--goroutine", "all", "--format", "pprof", "-o", file)...)
		if o.code != done && o.code != truncated {
			t.Fatal(o)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Sample) != len(all) {
			t.Fatalf("%d samples of %d stacks", len(p.Sample), len(all))
		}
		for i, sample := range p.Sample {
			var got, want []string
			for _, l := range sample.Location {
				for _, line := range l.Line {
					got = append(got, line.Function.Name)
				}
			}
			for _, f := range all[i].Frames {
				if f.Function != "" {
					want = append(want, f.Function)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("sample %d: %q, the stack has %q", i, got, want)
			}
		}
	})
	t.Run("swift-all", func(t *testing.T) {
		file := filepath.Join(dir, "all.json")
		o := clew(t, k.args("--goroutine", "all", "--format", "swift", "-o", file)...)
		if o.code != done && o.code != truncated {
			t.Fatal(o)
		}
		docs := decode(t, file)
		if len(docs) != len(all) {
			t.Fatalf("%d envelopes of %d stacks", len(docs), len(all))
		}
		for i := range all {
			sameFrames(t, &docs[i], &all[i])
			sameImages(t, &docs[i], &all[i])
		}
	})
	t.Run("folder", func(t *testing.T) {
		folder := filepath.Join(dir, "stacks")
		o := clew(t, k.args("--goroutine", "all", "--format", "cbf", "-o", folder)...)
		if o.code != done && o.code != truncated {
			t.Fatal(o)
		}
		sameImages(t, &decode(t, filepath.Join(folder, "images.cif"))[0], one)
		for i := range all {
			sameFrames(t, &decode(t, filepath.Join(folder, fmt.Sprintf("goroutine-%d.cbf", all[i].Goroutine)))[0], &all[i])
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		if want := len(all) + 2; len(entries) != want { // index.json and images.cif
			t.Errorf("%d files in the folder, want %d", len(entries), want)
		}
		var index any
		text, err := os.ReadFile(filepath.Join(folder, "index.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &index); err != nil {
			t.Errorf("index.json: %v", err)
		}
		for i := range all {
			if name := fmt.Sprintf("goroutine-%d.cbf", all[i].Goroutine); !strings.Contains(string(text), name) {
				t.Errorf("index.json does not list %s", name)
			}
		}
	})
	t.Run("encode", func(t *testing.T) {
		for _, f := range []struct{ name, to string }{{"one.cbf", "cbf"}, {"one.cif", "image-map"}, {"one.json", "swift"}} {
			text := clew(t, "decode", "--format", "json", filepath.Join(dir, f.name)).want(t, done).stdout
			middle, again := filepath.Join(dir, "middle.json"), filepath.Join(dir, "again")
			write(t, middle, []byte(text))
			clew(t, "encode", "--to", f.to, "-o", again, middle).want(t, done)
			first, err := os.ReadFile(filepath.Join(dir, f.name))
			if err != nil {
				t.Fatal(err)
			}
			second, err := os.ReadFile(again)
			if err != nil {
				t.Fatal(err)
			}
			if string(first) != string(second) {
				t.Errorf("%s: decode and encode change the bytes", f.name)
			}
		}
	})
}
