package symbols_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/server/symbols"
)

// BenchmarkStarts finds the functions of libcrypto, BenchmarkModels simulates all of them.
func BenchmarkStarts(b *testing.B) {
	path := libcrypto(b)
	began := cpuTime(b)
	for b.Loop() {
		f, err := symbols.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if n := len(f.Model().Starts()); n < 10_000 {
			b.Fatalf("%d starts", n)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-began).Milliseconds())/float64(b.N), "cpu-ms/op")
}

// cpuTime is the processor time of this process: other work on the machine does not count.
func cpuTime(b *testing.B) time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
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
	began := cpuTime(b)
	for b.Loop() {
		f, err := symbols.Open(libcrypto(b))
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range starts {
			f.Model().At(s.Addr)
		}
	}
	used := cpuTime(b) - began
	b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(used.Microseconds())/float64(b.N*instructions), "cpu-µs/instruction")
}

func libcrypto(b *testing.B) string {
	testneed.Platform(b, "linux/amd64")
	const path = "/lib/x86_64-linux-gnu/libcrypto.so.3"
	if _, err := symbols.Open(path); err != nil {
		testneed.LeaveOut(b, "%v", err)
	}
	return path
}
