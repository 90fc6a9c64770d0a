package symbols_test

import (
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/server/symbols"
)

// BenchmarkStarts finds the functions of libcrypto, BenchmarkModels simulates all of them.
func BenchmarkStarts(b *testing.B) {
	path := libcrypto(b)
	for b.Loop() {
		f, err := symbols.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if n := len(f.Model().Starts()); n < 10_000 {
			b.Fatalf("%d starts", n)
		}
	}
}

func BenchmarkModels(b *testing.B) {
	f, err := symbols.Open(libcrypto(b))
	if err != nil {
		b.Fatal(err)
	}
	starts := f.Model().Starts()
	var d prologue.Decoder
	instructions := 0
	for _, r := range f.CodeRanges() {
		code := f.Code(r.Start, int(r.End-r.Start))
		for at := 0; at < len(code); instructions++ {
			at += max(d.AMD64(code[at:], r.Start+uint64(at)).Len, 1)
		}
	}
	for b.Loop() {
		f, err := symbols.Open(libcrypto(b))
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range starts {
			f.Model().At(s.Addr)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*instructions), "µs/instruction")
}

func libcrypto(b *testing.B) string {
	testneed.Platform(b, "linux/amd64")
	const path = "/lib/x86_64-linux-gnu/libcrypto.so.3"
	if _, err := symbols.Open(path); err != nil {
		testneed.LeaveOut(b, "%v", err)
	}
	return path
}
