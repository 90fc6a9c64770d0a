package wire

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
	pb "github.com/clewdbg/clew/unwind/wire/unwindv1"
	"google.golang.org/protobuf/proto"
)

// BenchmarkConvert is what one call costs besides transport and walking: a
// 64 KiB window to the plugin, 512 steps back, encoded and decoded. Copy is the
// window's way alone: four copies.
func BenchmarkConvert(b *testing.B) {
	window := make([]byte, 64<<10)
	request := unwind.WalkRequest{Arch: unwind.AMD64, MaxFrames: 600, Stack: unwind.Windows{{Addr: 0x1000, Data: window}}}
	request.Registers.Set(unwind.AMD64RIP, 1)
	result := unwind.WalkResult{Stop: unwind.StopEnd, Steps: make([]unwind.Step, 512)}
	for i := range result.Steps {
		s := &result.Steps[i]
		s.CFA, s.Rule, s.Trust = uint64(i), "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]", unwind.TrustFramePointer
		s.Caller.Set(unwind.AMD64RIP, 1)
		s.Caller.Set(unwind.AMD64RSP, 2)
		s.Caller.Set(unwind.AMD64RBP, 3)
	}
	requests, results := []unwind.WalkRequest{request}, []unwind.WalkResult{result}

	pass := func(b *testing.B, m, into proto.Message) {
		data, err := proto.Marshal(m)
		if err == nil {
			err = proto.Unmarshal(data, into)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			batch, err := nextBatch(requests)
			if err != nil {
				b.Fatal(err)
			}
			var got pb.WalkBatch
			pass(b, batch, &got)
			if _, err := requestFromWire(got.Requests[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("answer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			answer, err := answerToWire(requests, results)
			if err != nil {
				b.Fatal(err)
			}
			var got pb.WalkAnswer
			pass(b, answer, &got)
			if _, err := answerFromWire(requests, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("copy", func(b *testing.B) {
		to := make([]byte, len(window))
		for b.Loop() {
			for range 4 {
				copy(to, window)
			}
		}
	})
}
