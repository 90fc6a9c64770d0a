package imagemap_test

import (
	"fmt"
	"testing"

	"github.com/clewdbg/clew/imagemap"
)

// library makes a map as a large program has it: libraries in a few folders.
func library(tb testing.TB, n int) *imagemap.ImageMap {
	images := make([]imagemap.Image, n)
	for i := range images {
		base := 0x7f0000000000 + uint64(i)*0x200000
		images[i] = imagemap.Image{
			Base: base, EndOfText: base + 0x1f3456, BuildID: make([]byte, 20),
			Path: fmt.Sprintf("/usr/lib/x86_64-linux-gnu/folder%d/libexample%d.so.6", i%20, i),
		}
	}
	return newMap(tb, imagemap.Word64, "Linux", images...)
}

const benchImages = 500

func perImage(b *testing.B, bytes int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchImages), "ns/image")
	b.ReportMetric(float64(bytes)/benchImages, "bytes/image")
}

func BenchmarkEncode(b *testing.B) {
	m := library(b, benchImages)
	var data []byte
	b.ReportAllocs()
	for b.Loop() {
		data = m.AppendCIF(data[:0], imagemap.EncodeOptions{})
	}
	perImage(b, len(data))
}

func BenchmarkDecode(b *testing.B) {
	data := library(b, benchImages).AppendCIF(nil, imagemap.EncodeOptions{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := imagemap.Decode(data, imagemap.DecodeOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	perImage(b, len(data))
}

func BenchmarkLookup(b *testing.B) {
	m := library(b, benchImages)
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		if _, ok := m.Lookup(0x7f0000000000 + i%benchImages*0x200000 + 0x1234); !ok {
			b.Fatal("not found")
		}
		i += 7
	}
}
