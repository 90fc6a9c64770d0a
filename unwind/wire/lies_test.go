package wire

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	pb "github.com/clewdbg/clew/unwind/wire/unwindv1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

func wantContract(t *testing.T, err error, reason string) {
	t.Helper()
	var contract *ContractError
	if !errors.As(err, &contract) {
		t.Fatalf("got %v, want a contract error with %q", err, reason)
	}
	if !strings.Contains(err.Error(), reason) {
		t.Fatalf("got %q, want it to say %q", err, reason)
	}
}

// liar is a plugin that does not go through the checks of this package.
type liar struct {
	pb.UnimplementedUnwinderServer
	answer *pb.WalkAnswer
}

func (l *liar) Walk(context.Context, *pb.WalkBatch) (*pb.WalkAnswer, error) { return l.answer, nil }

func askedOnce() []unwind.WalkRequest {
	return []unwind.WalkRequest{{Arch: unwind.AMD64, MaxFrames: 4}}
}

func honest() *pb.WalkAnswer {
	return &pb.WalkAnswer{
		Ends: []*pb.WalkEnd{{Steps: 2, Stop: pb.WalkEnd_STOP_END}},
		Cfa:  []uint64{1, 2}, Pc: []uint64{1, 2}, Sp: []uint64{1, 2}, Fp: []uint64{1, 2},
		Flags: []byte{7, 7}, Rule: []uint32{1, 2}, Note: []uint32{0, 1}, Strings: []string{"a", "b"},
		ExtraCount: []uint32{0, 1}, ExtraNumber: []uint32{3}, ExtraValue: []uint64{9},
	}
}

func TestLyingAnswers(t *testing.T) {
	l := &liar{answer: honest()}
	client := connect(t, func(s grpc.ServiceRegistrar) { pb.RegisterUnwinderServer(s, l) })
	if _, err := client.Walk(context.Background(), askedOnce()); err != nil {
		t.Fatalf("the honest answer: %v", err)
	}
	for _, lie := range []struct {
		reason string
		tell   func(*pb.WalkAnswer)
	}{
		{"0 results for 1 requests", func(a *pb.WalkAnswer) { a.Ends = nil }},
		{"2 results for 1 requests", func(a *pb.WalkAnswer) { a.Ends = append(a.Ends, &pb.WalkEnd{}) }},
		{"has 5 steps where at most 4", func(a *pb.WalkAnswer) { a.Ends[0].Steps = 5 }},
		{"has 4294967295 steps", func(a *pb.WalkAnswer) { a.Ends[0].Steps = math.MaxUint32 }},
		{"column cfa has 2 entries for 3", func(a *pb.WalkAnswer) { a.Ends[0].Steps = 3 }},
		{"column cfa has 1", func(a *pb.WalkAnswer) { a.Cfa = a.Cfa[1:] }},
		{"column pc has 0", func(a *pb.WalkAnswer) { a.Pc = nil }},
		{"column sp has 1", func(a *pb.WalkAnswer) { a.Sp = a.Sp[1:] }},
		{"column fp has 3", func(a *pb.WalkAnswer) { a.Fp = append(a.Fp, 1) }},
		{"column flags has 1", func(a *pb.WalkAnswer) { a.Flags = a.Flags[1:] }},
		{"column rule has 1", func(a *pb.WalkAnswer) { a.Rule = a.Rule[1:] }},
		{"column note has 1", func(a *pb.WalkAnswer) { a.Note = a.Note[1:] }},
		{"column extra_count has 1", func(a *pb.WalkAnswer) { a.ExtraCount = a.ExtraCount[1:] }},
		{"refers to string 3 of 2", func(a *pb.WalkAnswer) { a.Rule[1] = 3 }},
		{"refers to string 4294967295", func(a *pb.WalkAnswer) { a.Note[0] = math.MaxUint32 }},
		{"unknown trust 7", func(a *pb.WalkAnswer) { a.Flags[1] = 0x77 }},
		{"8589934590 further registers", func(a *pb.WalkAnswer) { a.ExtraCount = []uint32{math.MaxUint32, math.MaxUint32} }},
		{"1 further registers announced, 0 numbers", func(a *pb.WalkAnswer) { a.ExtraNumber = nil }},
		{"1 further registers announced, 1 numbers and 0", func(a *pb.WalkAnswer) { a.ExtraValue = nil }},
		{"unknown stop 99", func(a *pb.WalkAnswer) { a.Ends[0].Stop = 99 }},
		{"limit of 4 steps after 2", func(a *pb.WalkAnswer) { a.Ends[0].Stop = pb.WalkEnd_STOP_LIMIT }},
		{"asks for the memory 0x0-0x0", func(a *pb.WalkAnswer) { a.Ends[0].Stop = pb.WalkEnd_STOP_MEMORY }},
		{"UTF-8", func(a *pb.WalkAnswer) { a.Strings[0] = "\xff" }},
	} {
		l.answer = honest()
		lie.tell(l.answer)
		_, err := client.Walk(context.Background(), askedOnce())
		wantContract(t, err, lie.reason)
	}
	// A register that nobody knows is from a newer plugin, not a lie.
	l.answer = honest()
	l.answer.ExtraNumber[0] = 1 << 20
	if _, err := client.Walk(context.Background(), askedOnce()); err != nil {
		t.Errorf("unknown register: %v", err)
	}
	// A plugin that lacks a method does not speak this version.
	_, err := client.Describe(context.Background())
	wantContract(t, err, "Unimplemented")
}

func TestLyingRanges(t *testing.T) {
	for reason, deltas := range map[string][]uint64{
		"3 deltas":                         {1, 2, 3},
		"range 0 is empty":                 {1, 0},
		"range 1 touches":                  {1, 2, 0, 1},
		"range 1 ends past":                {1, 2, 3, math.MaxUint64},
		"range 0 ends past":                {math.MaxUint64, 1},
		"range 1 ends past the address sp": {1, math.MaxUint64 - 1, 1, 1},
	} {
		_, err := rangesFromWire("Update", "coverage", &pb.Ranges{Deltas: deltas})
		wantContract(t, err, reason)
	}
}

// TestLyingHost feeds the plugin's side with what no host should send.
func TestLyingHost(t *testing.T) {
	good := func() *pb.WalkRequest {
		return &pb.WalkRequest{Arch: pb.Arch_ARCH_AMD64, MaxFrames: 1, Segment: &pb.Segment{High: 8},
			Registers: &pb.Registers{Number: []uint32{1}, Value: []uint64{2}}, Stack: []*pb.Window{{Data: []byte{1}}}}
	}
	if _, err := requestFromWire(good()); err != nil {
		t.Fatal(err)
	}
	for reason, change := range map[string]func(*pb.WalkRequest){
		"0 frames":                   func(r *pb.WalkRequest) { r.MaxFrames = 0 },
		"4294967295 frames":          func(r *pb.WalkRequest) { r.MaxFrames = math.MaxUint32 },
		"1 register numbers and 2":   func(r *pb.WalkRequest) { r.Registers.Value = []uint64{1, 2} },
		"unknown kind 9":             func(r *pb.WalkRequest) { r.Segment.Kind = 9 },
		"window 0 at 0xffffffffffff": func(r *pb.WalkRequest) { r.Stack[0].Addr, r.Stack[0].Data = math.MaxUint64, []byte{1, 2} },
	} {
		r := good()
		change(r)
		_, err := requestFromWire(r)
		wantContract(t, err, reason)
	}

	head := &pb.UpdateChunk{Piece: &pb.UpdateChunk_Head_{Head: &pb.UpdateChunk_Head{Arch: pb.Arch_ARCH_AMD64}}}
	image := &pb.UpdateChunk{Piece: &pb.UpdateChunk_Image_{Image: &pb.UpdateChunk_Image{}}}
	section := func(size uint64) *pb.UpdateChunk {
		return &pb.UpdateChunk{Piece: &pb.UpdateChunk_Section_{Section: &pb.UpdateChunk_Section{Name: "s", Size: size}}}
	}
	data := &pb.UpdateChunk{Piece: &pb.UpdateChunk_Data{Data: []byte{1, 2}}}
	for reason, chunks := range map[string][]*pb.UpdateChunk{
		"no head came":               {},
		"the head must come first":   {image},
		"and once":                   {head, head},
		"belongs to no image":        {head, section(1)},
		"2 bytes of data where 0":    {head, image, data},
		"lacks 1 bytes":              {head, image, section(3), data},
		"2 bytes of data where 1":    {head, image, section(1), data},
		"section \"s\" lacks 3":      {head, image, section(3), image},
		"section \"s\" of 109951162": {head, image, section(1 << 40)},
	} {
		var b deltaBuilder
		var err error
		for _, c := range chunks {
			if err = b.add(c); err != nil {
				break
			}
		}
		if err == nil {
			_, err = b.finish()
		}
		wantContract(t, err, reason)
	}
	_, err := appendRanges(unwind.RangeSet{{Start: 1, End: 5}}, &pb.YieldChunk{Ranges: &pb.Ranges{Deltas: []uint64{5, 1}}})
	wantContract(t, err, "a chunk starts at 0x5")
}

// TestBadRequests: a request that the caller built wrongly is not sent.
func TestBadRequests(t *testing.T) {
	client := serve(t, &recorder{})
	for _, r := range []unwind.WalkRequest{{}, {Arch: unwind.AMD64}, {Arch: unwind.AMD64, MaxFrames: -1}} {
		var wrong *RequestError
		if _, err := client.Walk(context.Background(), []unwind.WalkRequest{r}); !errors.As(err, &wrong) {
			t.Errorf("%+v: got %v, want a request error", r, err)
		}
	}
}

// TestNewerPeer makes sure that what a later version adds is passed over.
func TestNewerPeer(t *testing.T) {
	d, err := describeFromWire(&pb.DescribeResponse{Name: "x", Capabilities: []string{"teleport", capAnywhere}, Arches: []pb.Arch{99, pb.Arch_ARCH_ARM}})
	if err != nil || !d.Anywhere || d.WantsCode || len(d.Arches) != 1 {
		t.Errorf("got %+v, %v", d, err)
	}
	r, err := requestFromWire(&pb.WalkRequest{Arch: 77, MaxFrames: 1})
	if err != nil || r.Arch != unwind.ArchUnknown {
		t.Errorf("unknown architecture: %v, %v", r.Arch, err)
	}
	b := deltaBuilder{headSeen: true}
	if err := b.add(&pb.UpdateChunk{}); err != nil {
		t.Errorf("unknown piece: %v", err)
	}
}

// TestArchNumbers holds the two numberings together.
func TestArchNumbers(t *testing.T) {
	for _, a := range append([]unwind.Arch{unwind.ArchUnknown}, arches...) {
		want := "ARCH_" + strings.ToUpper(a.String())
		if got := pb.Arch(a).String(); got != want {
			t.Errorf("%v is %s on the wire, want %s", a, got, want)
		}
	}
	for tr := unwind.TrustNone; tr <= unwind.TrustContext; tr++ {
		want := "TRUST_" + strings.ToUpper(strings.ReplaceAll(tr.String(), "-", "_"))
		if got := pb.Trust(tr).String(); got != want {
			t.Errorf("%v is %s on the wire, want %s", tr, got, want)
		}
	}
	for s := unwind.StopLimit; s <= unwind.StopBroken; s++ {
		want := "STOP_" + strings.ToUpper(strings.ReplaceAll(s.String(), " ", "_"))
		if got := pb.WalkEnd_Stop(s).String(); got != want {
			t.Errorf("%v is %s on the wire, want %s", s, got, want)
		}
	}
	for k := unwind.SegmentThread; k <= unwind.SegmentSignal; k++ {
		if got, want := pb.Segment_Kind(k).String(), "KIND_"+strings.ToUpper(k.String()); got != want {
			t.Errorf("%v is %s on the wire, want %s", k, got, want)
		}
	}
}

// FuzzAnswer: any bytes give an error or results that agree with the request.
func FuzzAnswer(f *testing.F) {
	start, err := proto.Marshal(honest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(start)
	f.Fuzz(func(t *testing.T, data []byte) {
		var p pb.WalkAnswer
		if proto.Unmarshal(data, &p) != nil {
			return
		}
		results, err := answerFromWire(askedOnce(), &p)
		if err != nil {
			return
		}
		if len(results) != 1 || len(results[0].Steps) > 4 {
			t.Fatalf("%d results, %d steps", len(results), len(results[0].Steps))
		}
	})
}

// FuzzRequest: any bytes give an error or a request.
func FuzzRequest(f *testing.F) {
	p, _, err := requestToWire(&unwind.WalkRequest{Arch: unwind.ARM64, MaxFrames: 1, Stack: unwind.Windows{{Addr: 8, Data: []byte{1}}}})
	if err != nil {
		f.Fatal(err)
	}
	start, err := proto.Marshal(p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(start)
	f.Fuzz(func(t *testing.T, data []byte) {
		var p pb.WalkRequest
		if proto.Unmarshal(data, &p) != nil {
			return
		}
		if r, err := requestFromWire(&p); err == nil && r.MaxFrames < 1 {
			t.Fatalf("%d frames", r.MaxFrames)
		}
	})
}
