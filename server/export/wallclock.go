package export

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/unwind"
)

// WallClock is a profile of many listings of one process: each stack counts for the
// time until the next listing, whether it ran or waited. It keeps what differs, so that
// its memory does not grow with the number of listings.
type WallClock struct {
	builder  *profileBuilder
	interval time.Duration
	samples  map[string]*profile.Sample
	start    time.Time
	last     time.Time
	shared   map[*unwind.Frame]places
	weight   int64 // of the stacks of this listing, in nanoseconds
}

// NewWallClock makes a profile without stacks; interval is what was meant to lie
// between listings.
func NewWallClock(arch unwind.Arch, interval time.Duration) *WallClock {
	b := newProfile(arch)
	b.out.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "wall", Unit: "nanoseconds"}}
	b.out.DefaultSampleType = "wall"
	b.out.PeriodType, b.out.Period = &profile.ValueType{Type: "wall", Unit: "nanoseconds"}, int64(interval)
	return &WallClock{builder: b, interval: interval, samples: make(map[string]*profile.Sample)}
}

// Next begins a listing. Its stacks stand for the time since the one before, the first
// ones for the interval.
func (w *WallClock) Next(now time.Time) {
	w.weight = int64(w.interval)
	if w.start.IsZero() {
		w.start = now
	} else {
		w.weight = int64(now.Sub(w.last))
	}
	w.last = now
	w.shared = make(map[*unwind.Frame]places)
}

// Add adds a stack of the listing. images may be nil.
func (w *WallClock) Add(s *unwind.Stack, images *imagemap.ImageMap) {
	sample := sampleOf(s, w.places(s.Frames, images))
	key := sampleKey(sample)
	known, ok := w.samples[key]
	if !ok {
		known = sample
		known.Value = []int64{0, 0}
		w.samples[key] = known
		w.builder.out.Sample = append(w.builder.out.Sample, known)
	}
	known.Value[0]++
	known.Value[1] += w.weight
}

// places are those of frames, which stacks of one listing may share.
func (w *WallClock) places(frames []unwind.Frame, images *imagemap.ImageMap) places {
	if len(frames) == 0 {
		return places{}
	}
	p, ok := w.shared[&frames[0]]
	if !ok {
		p = w.builder.frames(frames, images)
		w.shared[&frames[0]] = p
	}
	return p
}

// sampleKey is the same for samples with the same locations and labels.
func sampleKey(s *profile.Sample) string {
	key := make([]byte, 0, 8*len(s.Location)+64)
	for _, l := range s.Location {
		key = binary.LittleEndian.AppendUint64(key, l.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Label)) {
		key = append(append(append(append(key, 0), name...), 0), s.Label[name][0]...)
	}
	return string(key)
}

// finished is the profile with its times.
func (w *WallClock) finished() *profile.Profile {
	w.builder.out.TimeNanos = w.start.UnixNano()
	w.builder.out.DurationNanos = int64(w.last.Sub(w.start) + w.interval)
	return w.builder.out
}
