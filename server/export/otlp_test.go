package export_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/google/pprof/profile"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/unwind"
)

// readOTLP reads data with the reader of OpenTelemetry's collector.
func readOTLP(t *testing.T, data []byte) pprofile.Profiles {
	t.Helper()
	p, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shownOTLP are the samples of one profile, in words: every index is looked up.
func shownOTLP(d pprofile.ProfilesDictionary, p pprofile.Profile) (out []string) {
	str := d.StringTable().At
	attributes := func(indices pcommon.Int32Slice) map[string]any {
		all := make(map[string]any)
		for _, i := range indices.All() {
			a := d.AttributeTable().At(int(i))
			all[str(int(a.KeyStrindex()))] = a.Value().AsRaw()
		}
		return all
	}
	for _, s := range p.Samples().All() {
		text := fmt.Sprintf("%d %v", s.Values().AsRaw(), attributes(s.AttributeIndices()))
		for _, i := range d.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
			l := d.LocationTable().At(int(i))
			m := d.MappingTable().At(int(l.MappingIndex()))
			text += fmt.Sprintf("\n  %#x %v in %s %v", l.Address(), attributes(l.AttributeIndices()), str(int(m.FilenameStrindex())), attributes(m.AttributeIndices()))
			for _, line := range l.Lines().All() {
				f := d.FunctionTable().At(int(line.FunctionIndex()))
				text += fmt.Sprintf("\n    %s %s:%d", str(int(f.NameStrindex())), str(int(f.FilenameStrindex())), line.Line())
			}
		}
		out = append(out, text)
	}
	return out
}

// TestOTLP: OpenTelemetry's own reader has every frame, inlined function, image with its
// build ID and attribute, and takes the tables for well-formed: the first entry of each is
// the empty one.
func TestOTLP(t *testing.T) {
	images, err := imagemap.New(imagemap.Word64, "", []imagemap.Image{{Base: 0x400000, EndOfText: 0x500000, Path: "/tmp/prog", BuildID: []byte{0xab, 0xcd}}})
	if err != nil {
		t.Fatal(err)
	}
	whole, short := mixed(), cut()
	whole.State = &unwind.State{Status: "waiting", WaitReason: "select", Labels: map[string]string{"tenant": "a"}}
	var b bytes.Buffer
	stacks := func(yield func(unwind.Stack, int) bool) { _ = yield(whole, 1) && yield(whole, 3) && yield(short, 1) }
	if err := export.OTLP(&b, unwind.AMD64, 4711, stacks, images); err != nil {
		t.Fatal(err)
	}
	p := readOTLP(t, b.Bytes())
	d := p.Dictionary()
	if r := p.ResourceProfiles().At(0).Resource().Attributes().AsRaw(); r["process.pid"] != int64(4711) || r["host.arch"] != "amd64" {
		t.Errorf("resource %v", r)
	}
	const frames = `
  0x401136 map[profile.frame.type:go] in /tmp/prog map[process.executable.build_id.gnu:abcd]
    main.add /src/app/main.go:7
    main.handler /src/app/main.go:12
  0x7f1b2e64cfb9 map[profile.frame.type:native] in  map[]
  0x7f1b2e700010 map[profile.frame.type:native] in  map[]
    std::map<int, int>::find map.h:3
  0x4 map[profile.frame.type:native] in  map[]
  0x46c1e0 map[profile.frame.type:go] in /tmp/prog map[process.executable.build_id.gnu:abcd]
    runtime.goexit :0`
	want := []string{
		"[1] map[clew.stop:end clew.trust:scan go.goroutine.id:1 go.goroutine.state:select tenant:a thread.id:4711]" + frames,
		"[3] map[clew.stop:end clew.trust:scan go.goroutine.state:select tenant:a]" + frames,
		"[1] map[clew.stop:truncated clew.truncated:limit of 1 frame thread.id:7]\n  0xfff map[profile.frame.type:native] in  map[]",
	}
	got := shownOTLP(d, p.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0))
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if d.StackTable().Len() != 3 {
		t.Errorf("%d stacks: equal ones are one", d.StackTable().Len())
	}
	if d.StringTable().At(0) != "" || d.MappingTable().At(0).MemoryLimit() != 0 || d.LocationTable().At(0).Lines().Len() != 0 || d.FunctionTable().At(0).NameStrindex() != 0 ||
		d.AttributeTable().At(0).KeyStrindex() != 0 || d.StackTable().At(0).LocationIndices().Len() != 0 || d.LinkTable().Len() != 1 {
		t.Error("a table does not begin with an empty entry")
	}
	// Written again by the reader's own writer, nothing is lost.
	again, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(p)
	if err != nil {
		t.Fatal(err)
	}
	if back := readOTLP(t, again); !slices.Equal(shownOTLP(back.Dictionary(), back.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)), want) {
		t.Error("another after the round trip")
	}
}

// TestOTLPWallClock: both values of a wall-clock profile are a profile of their own, with the
// sums that pprof's has.
func TestOTLPWallClock(t *testing.T) {
	w := export.NewWallClock(unwind.AMD64, 10*time.Millisecond)
	for i, s := range []unwind.Stack{mixed(), mixed(), cut()} {
		w.Next(time.Unix(100, int64(i)*30e6))
		w.Add(&s, nil)
	}
	plain, b := written(t, w, "pprof"), written(t, w, "otlp")
	want, err := profile.ParseData(plain)
	if err != nil {
		t.Fatal(err)
	}
	p := readOTLP(t, b)
	profiles := p.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
	if profiles.Len() != 2 {
		t.Fatalf("%d profiles", profiles.Len())
	}
	for i, of := range profiles.All() {
		if got := p.Dictionary().StringTable().At(int(of.SampleType().TypeStrindex())); got != want.SampleType[i].Type {
			t.Errorf("profile %d is of %s", i, got)
		}
		if int64(of.Time()) != want.TimeNanos || int64(of.DurationNano()) != want.DurationNanos || of.Period() != want.Period {
			t.Errorf("profile %d: times %d, %d, %d", i, of.Time(), of.DurationNano(), of.Period())
		}
		for n, s := range of.Samples().All() {
			if got := s.Values().At(0); got != want.Sample[n].Value[i] {
				t.Errorf("profile %d, sample %d: %d, want %d", i, n, got, want.Sample[n].Value[i])
			}
		}
	}
}

// TestOTLPResource: the service's name is what OpenTelemetry's variables say, else the executable's.
func TestOTLPResource(t *testing.T) {
	name := func() (string, string) {
		var b bytes.Buffer
		if err := export.OTLP(&b, unwind.AMD64, os.Getpid(), func(func(unwind.Stack, int) bool) {}, nil); err != nil {
			t.Fatal(err)
		}
		r := readOTLP(t, b.Bytes()).ResourceProfiles().At(0).Resource().Attributes()
		service, _ := r.Get("service.name")
		if zone, ok := r.Get("zone"); ok {
			return service.AsString(), zone.AsString()
		}
		return service.AsString(), ""
	}
	t.Setenv("OTEL_SERVICE_NAME", "")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "")
	own, err := os.Executable()
	if got, _ := name(); err == nil && got != filepath.Base(own) && runtime.GOOS == "linux" {
		t.Errorf("%q", got)
	}
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=shop%20front,zone=b, broken,=x")
	if got, zone := name(); got != "shop front" || zone != "b" {
		t.Errorf("%q, %q", got, zone)
	}
	t.Setenv("OTEL_SERVICE_NAME", "till")
	if got, _ := name(); got != "till" {
		t.Errorf("%q", got)
	}
}
