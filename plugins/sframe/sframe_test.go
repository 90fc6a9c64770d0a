package sframe

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/tablewalk/walktest"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/conformance"
)

var arches = []unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.S390X}

func TestConformance(t *testing.T) {
	for _, arch := range arches {
		t.Run(arch.String(), func(t *testing.T) {
			image, long, callers := deep(t, arch, 40)
			_, short, _ := deep(t, arch, 1)
			conformance.Run(t, func() unwind.Unwinder { return New() }, conformance.Options{
				Images: unwind.ImageDelta{Arch: arch, OS: "linux", Added: []unwind.Image{image, {ID: 3, Path: "/usr/bin/plain"}}},
				Walks: []conformance.Walk{
					{Name: "40 frames", Request: long, Callers: callers},
					{Name: "1 frame", Request: short},
				},
			})
		})
	}
}

func TestDeepStack(t *testing.T) {
	for _, arch := range arches {
		image, r, callers := deep(t, arch, 9_999)
		p := with(t, arch, 0, image)
		walktest.Wants(t, p, r, callers, unwind.StopEnd, "return address undefined")
		r.AllRegisters = false
		requests := []unwind.WalkRequest{r}
		allocs := testing.AllocsPerRun(3, func() {
			if results, err := p.Walk(context.Background(), requests); err != nil || len(results[0].Steps) != 9_999 {
				t.Fatalf("%v: %d steps", err, len(results[0].Steps))
			}
		})
		if allocs > 20 {
			t.Errorf("%v: %v allocations, more than the slice of steps and the end need", arch, allocs)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	image, r, _ := deep(t, unwind.AMD64, 3)
	p := with(t, unwind.AMD64, 0, image)
	if _, err := p.Walk(ctx, []unwind.WalkRequest{r}); !errors.Is(err, context.Canceled) {
		t.Errorf("Walk: %v", err)
	}
	if _, err := p.Update(ctx, unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{image}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Update: %v", err)
	}
}

// BenchmarkWalk makes steps whose rules are known already.
func BenchmarkWalk(b *testing.B) {
	for _, frames := range []int{50, 9_999} {
		b.Run(fmt.Sprint(frames), func(b *testing.B) {
			image, r, _ := deep(b, unwind.AMD64, frames)
			r.AllRegisters = false
			p, requests := with(b, unwind.AMD64, 0, image), []unwind.WalkRequest{r}
			b.ReportAllocs()
			for b.Loop() {
				if results, err := p.Walk(context.Background(), requests); err != nil || len(results[0].Steps) != frames {
					b.Fatalf("%v: %d steps", err, len(results[0].Steps))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(frames), "ns/frame")
		})
	}
}
