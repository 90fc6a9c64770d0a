package wire

import (
	"context"
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"pgregory.net/rapid"
)

// recorder is an unwinder that keeps what it was told and answers as the test
// wants.
type recorder struct {
	describe func() (unwind.Description, error)
	update   func(unwind.ImageDelta) ([]unwind.ImageReport, error)
	yield    func(unwind.RangeSet) error
	walk     func(context.Context, []unwind.WalkRequest) ([]unwind.WalkResult, error)
}

func (r *recorder) Describe(context.Context) (unwind.Description, error) { return r.describe() }
func (r *recorder) Update(_ context.Context, d unwind.ImageDelta) ([]unwind.ImageReport, error) {
	return r.update(d)
}
func (r *recorder) Yield(_ context.Context, s unwind.RangeSet) error { return r.yield(s) }
func (r *recorder) Walk(ctx context.Context, q []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	return r.walk(ctx, q)
}

// connect serves u on a gRPC server within the process, with gRPC's default
// limits on the serving side.
func connect(t testing.TB, register func(grpc.ServiceRegistrar)) *Client {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///pipe",
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return listener.Dial() }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return NewClient(conn)
}

func serve(t testing.TB, u unwind.Unwinder) *Client {
	return connect(t, func(s grpc.ServiceRegistrar) { Register(s, u) })
}

var arches = []unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.I386, unwind.ARM, unwind.S390X}

func genRegisters() *rapid.Generator[unwind.Registers] {
	return rapid.Custom(func(t *rapid.T) unwind.Registers {
		var r unwind.Registers
		for range rapid.IntRange(0, 45).Draw(t, "registers") {
			r.Set(unwind.Register(rapid.Uint16Range(0, 80).Draw(t, "number")), rapid.Uint64().Draw(t, "value"))
		}
		return r
	})
}

// roles keeps PC, SP and FP only, as all but the last step may.
func roles(r unwind.Registers, a unwind.Arch) unwind.Registers {
	for reg := range r.All() {
		if reg != a.PC() && reg != a.SP() && reg != a.FP() {
			r.Forget(reg)
		}
	}
	return r
}

func genRequest() *rapid.Generator[unwind.WalkRequest] {
	return rapid.Custom(func(t *rapid.T) unwind.WalkRequest {
		r := unwind.WalkRequest{
			Arch:         rapid.SampledFrom(arches).Draw(t, "arch"),
			Registers:    genRegisters().Draw(t, "registers"),
			Kind:         unwind.PCKind(rapid.IntRange(0, 1).Draw(t, "kind")),
			Stack:        unwind.Windows{},
			MaxFrames:    rapid.IntRange(1, 8).Draw(t, "max"),
			AllRegisters: rapid.Bool().Draw(t, "all"),
		}
		if rapid.Bool().Draw(t, "segment") {
			low := rapid.Uint64().Draw(t, "low")
			r.Segment = unwind.Segment{Low: low, High: rapid.Uint64Min(max(low, 1)).Draw(t, "high"), Kind: unwind.SegmentKind(rapid.IntRange(0, 3).Draw(t, "kind"))}
		}
		for range rapid.IntRange(0, 3).Draw(t, "windows") {
			r.Stack = append(r.Stack, unwind.Window{
				Addr: rapid.Uint64Max(1<<60).Draw(t, "addr"),
				Data: rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "data"),
			})
		}
		if rapid.Bool().Draw(t, "function") {
			r.Function = &unwind.FunctionCode{
				Start: rapid.Uint64().Draw(t, "start"), Exact: rapid.Bool().Draw(t, "exact"),
				Code: rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "code"),
			}
		}
		return r
	})
}

// genResult makes a result that is a legal answer to q.
func genResult(q unwind.WalkRequest) *rapid.Generator[unwind.WalkResult] {
	return rapid.Custom(func(t *rapid.T) unwind.WalkResult {
		n := rapid.IntRange(0, q.MaxFrames).Draw(t, "steps")
		r := unwind.WalkResult{
			Steps:  make([]unwind.Step, n),
			Stop:   unwind.WalkStop(rapid.IntRange(1, 5).Draw(t, "stop")),
			Reason: rapid.String().Draw(t, "reason"),
			CFA:    rapid.Uint64().Draw(t, "cfa"), PC: rapid.Uint64().Draw(t, "pc"),
			Need: unwind.Range{Start: 8, End: rapid.Uint64Min(9).Draw(t, "need")},
		}
		if n == q.MaxFrames {
			r.Stop = unwind.StopLimit
		}
		for i := range r.Steps {
			regs := genRegisters().Draw(t, "caller")
			if !q.AllRegisters && i < n-1 {
				regs = roles(regs, q.Arch)
			}
			r.Steps[i] = unwind.Step{
				CFA: rapid.Uint64().Draw(t, "cfa"), Caller: regs,
				CallerKind: unwind.PCKind(rapid.IntRange(0, 1).Draw(t, "kind")),
				Trust:      unwind.Trust(rapid.IntRange(0, 4).Draw(t, "trust")),
				Rule:       rapid.SampledFrom([]string{"", "cfa=rsp+8", "cfa=rbp+16", "ra=[cfa-8]"}).Draw(t, "rule"),
				Note:       rapid.SampledFrom([]string{"", "", "trampoline"}).Draw(t, "note"),
			}
		}
		return r
	})
}

func equal(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func TestWalkRoundTrip(t *testing.T) {
	u := &recorder{}
	client := serve(t, u)
	rapid.Check(t, func(t *rapid.T) {
		requests := rapid.SliceOfN(genRequest(), 1, 4).Draw(t, "requests")
		want := make([]unwind.WalkResult, len(requests))
		for i := range want {
			want[i] = genResult(requests[i]).Draw(t, "result")
		}
		var got []unwind.WalkRequest
		u.walk = func(_ context.Context, q []unwind.WalkRequest) ([]unwind.WalkResult, error) {
			got = q
			return want, nil
		}
		results, err := client.Walk(context.Background(), requests)
		if err != nil {
			t.Fatalf("walk: %v", err)
		}
		equal(t, "requests", got, requests)
		equal(t, "results", results, want)
	})
}

func TestUpdateRoundTrip(t *testing.T) {
	big := make([]byte, 3*chunkSize+17)
	for i := range big {
		big[i] = byte(i * 7)
	}
	delta := unwind.ImageDelta{
		Arch: unwind.ARM64, OS: "linux", PACMask: 0x7f << 48, Removed: []unwind.ImageID{4, 9},
		Added: []unwind.Image{
			{ID: 10, Base: 0x400000, Path: "/tmp/n\xffot text", BuildID: []byte{1, 2},
				Executable: unwind.NewRangeSet(unwind.Range{Start: 0x401000, End: 0x402000}),
				Sections:   []unwind.Section{{Name: ".eh_frame", Addr: 0x500000, Data: big}, {Name: ".sframe"}, {Name: ".text", Data: big[:chunkSize]}}},
			{ID: 11},
		},
	}
	reports := []unwind.ImageReport{
		{ID: 10, Coverage: unwind.NewRangeSet(unwind.Range{Start: 0, End: 1}, unwind.Range{Start: 8, End: 1<<64 - 1}), Problem: "half of it"},
		{ID: 11},
	}
	u := &recorder{}
	client := serve(t, u)
	var got unwind.ImageDelta
	u.update = func(d unwind.ImageDelta) ([]unwind.ImageReport, error) { got = d; return reports, nil }
	answer, err := client.Update(context.Background(), delta)
	if err != nil {
		t.Fatal(err)
	}
	// A slice of ranges and a set are different types with the same contents.
	for i := range got.Added {
		equal(t, "executable", unwind.NewRangeSet(got.Added[i].Executable...), unwind.NewRangeSet(delta.Added[i].Executable...))
		got.Added[i].Executable, delta.Added[i].Executable = nil, nil
	}
	equal(t, "delta", got, delta)
	equal(t, "reports", answer, reports)

	u.update = func(unwind.ImageDelta) ([]unwind.ImageReport, error) { return reports[:1], nil }
	_, err = client.Update(context.Background(), delta)
	wantContract(t, err, "1 reports about 2 images")
	u.update = func(unwind.ImageDelta) ([]unwind.ImageReport, error) {
		return []unwind.ImageReport{reports[1], reports[0]}, nil
	}
	_, err = client.Update(context.Background(), delta)
	wantContract(t, err, "report 0 is about image 11 instead of 10")
}

func TestYieldRoundTrip(t *testing.T) {
	var ranges unwind.RangeSet
	for i := range uint64(2*yieldChunk + 5) {
		ranges = append(ranges, unwind.Range{Start: i << 32, End: i<<32 + 1 + i})
	}
	for _, want := range []unwind.RangeSet{nil, ranges[:1], ranges} {
		u, got := &recorder{}, unwind.RangeSet{{Start: 1, End: 2}}
		u.yield = func(s unwind.RangeSet) error { got = s; return nil }
		if err := serve(t, u).Yield(context.Background(), want); err != nil {
			t.Fatal(err)
		}
		equal(t, "ranges", got, want)
	}
}

func TestDescribe(t *testing.T) {
	good := unwind.Description{
		Name: "fpwalk-2", Version: "1.2", Arches: []unwind.Arch{unwind.AMD64, unwind.S390X}, Trust: unwind.TrustFramePointer,
		Anywhere: true, WantsCode: true, Sections: []string{".eh_frame"},
	}
	u := &recorder{describe: func() (unwind.Description, error) { return good, nil }}
	client := serve(t, u)
	got, err := client.Describe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "description", got, good)

	for reason, change := range map[string]func(*unwind.Description){
		"no strategy name": func(d *unwind.Description) { d.Name = "Fp Walk\x1b[31m" },
		"unknown trust":    func(d *unwind.Description) { d.Trust = 9 },
		"the version has":  func(d *unwind.Description) { d.Version = strings.Repeat("1", 1000) },
		"it wants":         func(d *unwind.Description) { d.Sections = make([]string, 1000) },
	} {
		bad := good
		change(&bad)
		u.describe = func() (unwind.Description, error) { return bad, nil }
		_, err := client.Describe(context.Background())
		wantContract(t, err, reason)
	}
	u.describe = func() (unwind.Description, error) { return good, errors.New("no \xff today") }
	_, err = client.Describe(context.Background())
	var strategy *StrategyError
	if !errors.As(err, &strategy) || strategy.Message != "no \ufffd today" {
		t.Fatalf("got %v, want the strategy's own error", err)
	}
}

// TestLargeRequests sends batches and single requests beyond a message's limit.
func TestLargeRequests(t *testing.T) {
	var registers unwind.Registers
	registers.Set(unwind.AMD64RIP, 1)
	window := func(n int) unwind.Windows { return unwind.Windows{{Addr: 0x1000, Data: make([]byte, n)}} }
	request := unwind.WalkRequest{Arch: unwind.AMD64, Registers: registers, MaxFrames: 1}

	u, calls, sizes := &recorder{}, 0, []int{}
	u.walk = func(_ context.Context, q []unwind.WalkRequest) ([]unwind.WalkResult, error) {
		calls++
		out := make([]unwind.WalkResult, len(q))
		for i := range q {
			n := 0
			for _, w := range q[i].Stack {
				n += len(w.Data)
			}
			sizes = append(sizes, n)
			out[i] = unwind.WalkResult{Stop: unwind.StopNoRule, CFA: uint64(n)}
		}
		return out, nil
	}
	client := serve(t, u)

	batch := make([]unwind.WalkRequest, 9)
	for i := range batch {
		batch[i] = request
		batch[i].Stack = window(1<<20 + i)
	}
	results, err := client.Walk(context.Background(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for i := range batch {
		if results[i].CFA != uint64(1<<20+i) {
			t.Errorf("result %d is about %d bytes, want %d: the order is lost", i, results[i].CFA, 1<<20+i)
		}
	}
	if calls != 5 {
		t.Errorf("9 requests of 1 MiB took %d calls, want 5", calls)
	}

	huge := request
	huge.Stack = append(window(100), window(10<<20)...)
	huge.Function = &unwind.FunctionCode{Code: make([]byte, maxCode)}
	sizes = nil
	if _, err := client.Walk(context.Background(), []unwind.WalkRequest{huge}); err != nil {
		t.Fatal(err)
	}
	if sizes[0] <= 1<<20 || sizes[0] > MaxRequest {
		t.Errorf("of a request that is too large %d bytes came", sizes[0])
	}
	if results, err := client.Walk(context.Background(), nil); err != nil || len(results) != 0 {
		t.Errorf("an empty batch gives %v, %v", results, err)
	}
}

func TestCancelledWalk(t *testing.T) {
	u := &recorder{walk: func(ctx context.Context, _ []unwind.WalkRequest) ([]unwind.WalkResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	client := serve(t, u)
	cause := errors.New("the user went on")
	ctx, cancel := context.WithCancelCause(context.Background())
	go cancel(cause)
	_, err := client.Walk(ctx, []unwind.WalkRequest{{Arch: unwind.AMD64, MaxFrames: 1}})
	if !errors.Is(err, cause) {
		t.Fatalf("got %v, want the cause of the cancellation", err)
	}
}
