package export

import (
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/google/pprof/profile"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/version"
	"github.com/clewdbg/clew/unwind"
)

func (s *Set) pprof(w io.Writer) error { return Pprof(w, s.Arch, s.counted(), s.Images) }

// Pprof writes the stacks as one profile, gzip-compressed
// (https://github.com/google/pprof/blob/main/proto/profile.proto): a sample for
// each, whose value is how many stacks it stands for, with labels for goroutine and thread, for how the stack ends,
// and for the lowest trust among its frames. images may be nil.
//
// A location's address is where the frame's call is, not where the call returns
// to: profile.proto wants an address within the calling instruction. Frames have
// their names and lines with them, so that pprof needs no files.
func Pprof(w io.Writer, arch unwind.Arch, stacks iter.Seq2[unwind.Stack, int], images *imagemap.ImageMap) error {
	b := newProfile(arch)
	for s, n := range stacks {
		b.stack(&s, n, images)
	}
	return b.write(w)
}

// counted are the stacks, or one of each group, with the number of those that it stands for.
func (s *Set) counted() iter.Seq2[unwind.Stack, int] {
	if s.Groups != nil {
		return s.Groups.counted()
	}
	return Once(s.Stacks)
}

// pprof writes the profile, gzip-compressed.
func (w *WallClock) pprof(out io.Writer, _ int) error {
	w.finished()
	return w.builder.write(out)
}

// Once is each stack for itself.
func Once(stacks iter.Seq[unwind.Stack]) iter.Seq2[unwind.Stack, int] {
	return func(yield func(unwind.Stack, int) bool) {
		stacks(func(s unwind.Stack) bool { return yield(s, 1) })
	}
}

// Profiled is a stack for a profile, with the images of its own process.
type Profiled struct {
	Stack  unwind.Stack
	Arch   unwind.Arch
	Images *imagemap.ImageMap // may be nil
}

// PprofOf is [Pprof] for stacks that need not be of one process, of one architecture. Frames without a
// trust have no such label. It keeps none of the stacks; an error among them ends it.
func PprofOf(w io.Writer, stacks iter.Seq2[Profiled, error]) error {
	b := newProfile(unwind.ArchUnknown)
	for s, err := range stacks {
		if err != nil {
			return err
		}
		b.arch = s.Arch
		if b.stack(&s.Stack, 1, s.Images); len(b.locations) > maxLocations {
			return ErrLocations
		}
	}
	return b.write(w)
}

// maxLocations bounds the different frames of a profile: each takes some 700 bytes until it is written. Programs have a
// few ten thousand.
const maxLocations = 1 << 19

// ErrLocations: stacks have too many different frames for a profile.
var ErrLocations = fmt.Errorf("more than %d different frames, too many for one profile; write it in parts", maxLocations)

func newProfile(arch unwind.Arch) *profileBuilder {
	return &profileBuilder{
		arch:      arch,
		functions: make(map[profile.Function]*profile.Function),
		locations: make(map[string]*profile.Location),
		mappings:  make(map[mappingKey]*profile.Mapping),
		out: &profile.Profile{
			SampleType:        []*profile.ValueType{{Type: "stack", Unit: "count"}},
			DefaultSampleType: "stack",
			PeriodType:        &profile.ValueType{Type: "stack", Unit: "count"},
			Period:            1,
			Comments:          []string{version.Get().String()},
		},
	}
}

func (b *profileBuilder) write(w io.Writer) error {
	if err := b.out.CheckValid(); err != nil {
		return fmt.Errorf("stacks as a profile: %w", err)
	}
	if err := b.out.Write(w); err != nil {
		return fmt.Errorf("stacks as a profile: %w", err)
	}
	return nil
}

// mappingKey tells images apart, also of several processes.
type mappingKey struct {
	start, limit  uint64
	path, buildID string
}

// profileBuilder adds every function, location and mapping once.
type profileBuilder struct {
	arch      unwind.Arch
	out       *profile.Profile
	functions map[profile.Function]*profile.Function
	locations map[string]*profile.Location // by address, mapping and lines
	mappings  map[mappingKey]*profile.Mapping
}

// stack adds a sample for n stacks. Of several, the one that is shown has no ID.
func (b *profileBuilder) stack(s *unwind.Stack, n int, images *imagemap.ImageMap) {
	sample := b.sample(s, images)
	sample.Value = []int64{int64(n)}
	if s.Goroutine != 0 && n == 1 {
		sample.Label["goroutine"] = []string{strconv.FormatUint(s.Goroutine, 10)}
	}
	if s.Thread != 0 && n == 1 {
		sample.Label["thread"] = []string{strconv.FormatUint(s.Thread, 10)}
	}
	b.out.Sample = append(b.out.Sample, sample)
}

// sample makes a sample of a stack, without a value and without IDs.
func (b *profileBuilder) sample(s *unwind.Stack, images *imagemap.ImageMap) *profile.Sample {
	return sampleOf(s, b.frames(s.Frames, images))
}

func sampleOf(s *unwind.Stack, p places) *profile.Sample {
	sample := &profile.Sample{Location: p.locations, Label: labels(s)}
	if len(p.locations) > 0 && p.lowest != unwind.TrustNone {
		sample.Label["trust"] = []string{p.lowest.String()}
	}
	return sample
}

// places are the locations of a stack's frames, and the lowest trust among them.
type places struct {
	locations []*profile.Location
	lowest    unwind.Trust
}

func (b *profileBuilder) frames(frames []unwind.Frame, images *imagemap.ImageMap) places {
	out := places{lowest: unwind.TrustContext}
	var lines []profile.Line // inlined functions of the frame that is coming, innermost first
	for i := range frames {
		f := &frames[i]
		if f.Function != "" {
			lines = append(lines, profile.Line{Function: b.function(f), Line: int64(f.Line), Column: int64(f.Column)})
		}
		if f.Inlined {
			continue
		}
		out.lowest = min(out.lowest, f.Trust)
		out.locations = append(out.locations, b.location(f, lines, images))
		lines = nil
	}
	return out
}

// labels are what is known of a stack beside its frames and IDs.
func labels(s *unwind.Stack) map[string][]string {
	out := map[string][]string{"stop": {s.Stop.String()}}
	if s.Reason != "" && truncated(s) {
		out["truncated"] = []string{s.Reason}
	}
	if s.ThreadName != "" {
		out["threadName"] = []string{s.ThreadName}
	}
	if s.State == nil {
		return out
	}
	out["state"] = []string{Status(s.State)}
	for name, value := range s.State.Labels {
		if _, taken := out[name]; !taken {
			out[name] = []string{value}
		}
	}
	return out
}

func (b *profileBuilder) function(f *unwind.Frame) *profile.Function {
	key := profile.Function{Name: f.Function, SystemName: f.Function, Filename: f.File}
	fn, ok := b.functions[key]
	if !ok {
		fn = &profile.Function{ID: uint64(len(b.functions) + 1), Name: key.Name, SystemName: key.SystemName, Filename: key.Filename}
		b.functions[key] = fn
		b.out.Function = append(b.out.Function, fn)
	}
	return fn
}

func (b *profileBuilder) location(f *unwind.Frame, lines []profile.Line, images *imagemap.ImageMap) *profile.Location {
	addr := uint64(f.PC.Lookup(b.arch))
	mapping := b.mapping(addr, images)
	key := strconv.FormatUint(addr, 16)
	if mapping != nil {
		key += fmt.Sprintf(" in %d", mapping.ID)
	}
	for _, l := range lines {
		key += fmt.Sprintf(" %d:%d:%d", l.Function.ID, l.Line, l.Column)
	}
	loc, ok := b.locations[key]
	if !ok {
		loc = &profile.Location{ID: uint64(len(b.locations) + 1), Address: addr, Line: lines, Mapping: mapping}
		b.locations[key] = loc
		b.out.Location = append(b.out.Location, loc)
	}
	return loc
}

func (b *profileBuilder) mapping(addr uint64, images *imagemap.ImageMap) *profile.Mapping {
	if images == nil {
		return nil
	}
	img, ok := images.Lookup(addr)
	if !ok {
		return nil
	}
	key := mappingKey{img.Base, img.EndOfText, img.Path, string(img.BuildID)}
	m, ok := b.mappings[key]
	if !ok {
		// The image's lowest byte is the file's first.
		m = &profile.Mapping{
			ID: uint64(len(b.mappings) + 1), Start: img.Base, Limit: img.EndOfText, File: img.Path, BuildID: hex.EncodeToString(img.BuildID),
			// The profile has all that is known; pprof must not look for more in files.
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
		}
		b.mappings[key] = m
		b.out.Mapping = append(b.out.Mapping, m)
	}
	return m
}
