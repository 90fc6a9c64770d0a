package export

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/version"
	"github.com/clewdbg/clew/unwind"
)

func (s *Set) otlp(w io.Writer) error { return OTLP(w, s.Arch, s.Pid, s.counted(), s.Images) }

// OTLP writes the stacks as OpenTelemetry's ProfilesData (package
// opentelemetry.proto.profiles.v1development, which is in development: the module's
// version in go.mod is the protocol's). It has what [Pprof] has, with labels as attributes by
// the names of OpenTelemetry's conventions where there are any. pid is the process, 0 if
// it is not known.
func OTLP(w io.Writer, arch unwind.Arch, pid int, stacks iter.Seq2[unwind.Stack, int], images *imagemap.ImageMap) error {
	b := newProfile(arch)
	for s, n := range stacks {
		b.stack(&s, n, images)
	}
	return writeOTLP(w, arch, pid, b.out)
}

func (w *WallClock) otlp(out io.Writer, pid int) error {
	return writeOTLP(out, w.builder.arch, pid, w.finished())
}

func writeOTLP(w io.Writer, arch unwind.Arch, pid int, p *profile.Profile) error {
	d := newDictionary(p)
	producer := version.Get()
	scope := &otlp.ScopeProfiles{Scope: &common.InstrumentationScope{Name: "github.com/clewdbg/clew", Version: producer.String()}}
	for i := range p.SampleType {
		scope.Profiles = append(scope.Profiles, d.profile(p, i))
	}
	of := &resource.Resource{Attributes: []*common.KeyValue{{Key: "host.arch", Value: text(arch.String())}}}
	for _, a := range resourceAttributes(pid, p) {
		of.Attributes = append(of.Attributes, &common.KeyValue{Key: a[0], Value: text(a[1])})
	}
	if pid != 0 {
		of.Attributes = append(of.Attributes, &common.KeyValue{Key: "process.pid", Value: number(int64(pid))})
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(&otlp.ProfilesData{
		ResourceProfiles: []*otlp.ResourceProfiles{{Resource: of, ScopeProfiles: []*otlp.ScopeProfiles{scope}}}, Dictionary: d.out,
	})
	if err != nil {
		return fmt.Errorf("stacks for OpenTelemetry: %w", err)
	}
	_, err = w.Write(data)
	return err
}

func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(s, "\ufffd")}}
}

func number(n int64) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}
}

// dictionary adds every string, attribute and stack once. Of each table the first entry
// stands for none. IDs of a profile for pprof count from 1, so that they are the indices.
type dictionary struct {
	out        *otlp.ProfilesDictionary
	strings    map[string]int32
	attributes map[string]int32
	stacks     map[string]int32
	samples    []*otlp.Sample // without values
}

func newDictionary(p *profile.Profile) *dictionary {
	d := &dictionary{
		out: &otlp.ProfilesDictionary{
			MappingTable: []*otlp.Mapping{{}}, LocationTable: []*otlp.Location{{}}, FunctionTable: []*otlp.Function{{}},
			LinkTable: []*otlp.Link{{TraceId: make([]byte, 16), SpanId: make([]byte, 8)}}, StringTable: []string{""},
			AttributeTable: []*otlp.KeyValueAndUnit{{}}, StackTable: []*otlp.Stack{{}},
		},
		strings: map[string]int32{"": 0}, attributes: make(map[string]int32), stacks: make(map[string]int32),
	}
	for _, m := range p.Mapping {
		to := &otlp.Mapping{MemoryStart: m.Start, MemoryLimit: m.Limit, FileOffset: m.Offset, FilenameStrindex: d.string(m.File)}
		if m.BuildID != "" {
			to.AttributeIndices = []int32{d.attribute("process.executable.build_id.gnu", text(m.BuildID))}
		}
		d.out.MappingTable = append(d.out.MappingTable, to)
	}
	for _, f := range p.Function {
		d.out.FunctionTable = append(d.out.FunctionTable, &otlp.Function{
			NameStrindex: d.string(f.Name), SystemNameStrindex: d.string(f.SystemName), FilenameStrindex: d.string(f.Filename), StartLine: f.StartLine,
		})
	}
	for _, l := range p.Location {
		d.out.LocationTable = append(d.out.LocationTable, d.location(l))
	}
	for _, s := range p.Sample {
		d.samples = append(d.samples, &otlp.Sample{StackIndex: d.stack(s.Location), AttributeIndices: d.labels(s)})
	}
	return d
}

// profile is one of the values of each sample.
func (d *dictionary) profile(p *profile.Profile, i int) *otlp.Profile {
	valueType := func(t *profile.ValueType) *otlp.ValueType {
		return &otlp.ValueType{TypeStrindex: d.string(t.Type), UnitStrindex: d.string(t.Unit)}
	}
	out := &otlp.Profile{
		SampleType: valueType(p.SampleType[i]), PeriodType: valueType(p.PeriodType), Period: p.Period,
		TimeUnixNano: uint64(max(p.TimeNanos, 0)), DurationNano: uint64(max(p.DurationNanos, 0)),
	}
	for n, s := range d.samples {
		out.Samples = append(out.Samples, &otlp.Sample{
			StackIndex: s.StackIndex, AttributeIndices: s.AttributeIndices, Values: []int64{p.Sample[n].Value[i]},
		})
	}
	return out
}

func (d *dictionary) string(s string) int32 {
	s = strings.ToValidUTF8(s, "\ufffd")
	i, ok := d.strings[s]
	if !ok {
		i = int32(len(d.out.StringTable))
		d.strings[s] = i
		d.out.StringTable = append(d.out.StringTable, s)
	}
	return i
}

func (d *dictionary) attribute(name string, value *common.AnyValue) int32 {
	key := name + "\x00" + value.String()
	i, ok := d.attributes[key]
	if !ok {
		i = int32(len(d.out.AttributeTable))
		d.attributes[key] = i
		d.out.AttributeTable = append(d.out.AttributeTable, &otlp.KeyValueAndUnit{KeyStrindex: d.string(name), Value: value})
	}
	return i
}

func (d *dictionary) location(l *profile.Location) *otlp.Location {
	to := &otlp.Location{Address: l.Address}
	if l.Mapping != nil {
		to.MappingIndex = int32(l.Mapping.ID)
	}
	kind := "native"
	for _, line := range l.Line {
		to.Lines = append(to.Lines, &otlp.Line{FunctionIndex: int32(line.Function.ID), Line: line.Line, Column: line.Column})
		if isGo(line.Function) {
			kind = "go"
		}
	}
	to.AttributeIndices = []int32{d.attribute("profile.frame.type", text(kind))}
	return to
}

// isGo says whether a function is Go's, in assembly too.
func isGo(f *profile.Function) bool {
	return strings.HasSuffix(f.Filename, ".go") || strings.HasPrefix(f.Name, "runtime.") || strings.HasSuffix(f.Filename, ".s") && strings.Contains(f.Name, ".")
}

func (d *dictionary) stack(locations []*profile.Location) int32 {
	if len(locations) == 0 {
		return 0
	}
	to, key := &otlp.Stack{}, strings.Builder{}
	for _, l := range locations {
		to.LocationIndices = append(to.LocationIndices, int32(l.ID))
		fmt.Fprintf(&key, "%d ", l.ID)
	}
	i, ok := d.stacks[key.String()]
	if !ok {
		i = int32(len(d.out.StackTable))
		d.stacks[key.String()] = i
		d.out.StackTable = append(d.out.StackTable, to)
	}
	return i
}

// attributeNames are those of clew's own labels. Labels of the program's have their own names.
var attributeNames = map[string]string{
	"thread": "thread.id", "threadName": "thread.name", "goroutine": "go.goroutine.id", "state": "go.goroutine.state",
	"stop": "clew.stop", "truncated": "clew.truncated", "trust": "clew.trust",
}

func (d *dictionary) labels(s *profile.Sample) (out []int32) {
	for _, name := range slices.Sorted(maps.Keys(s.Label)) {
		value := text(s.Label[name][0])
		if n, err := strconv.ParseInt(s.Label[name][0], 10, 64); err == nil && (name == "thread" || name == "goroutine") {
			value = number(n)
		}
		own, ok := attributeNames[name]
		if !ok {
			own = name
		}
		out = append(out, d.attribute(own, value))
	}
	return out
}
