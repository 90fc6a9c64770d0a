package listing

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// c is a frame of native code.
func c(function, file, image string) unwind.Frame {
	return unwind.Frame{Function: function, File: file, Image: image, Strategy: "dwarfcfi"}
}

// g is one of Go code.
func g(function string) unwind.Frame {
	return unwind.Frame{Function: function, File: "/src/x.go", Image: "/app", Strategy: unwind.StrategyGopclntab}
}

func TestOurs(t *testing.T) {
	o := Ours{Module: "example.com/shop", Image: "/app", Patterns: []string{"example.com/lib/...", "libours.so*", "ns::Work"}}
	for f, want := range map[*unwind.Frame]bool{
		{Function: "main.handle", File: "/src/x.go"}:                              true,
		ptr(g("main.(*T).handle")):                                                true,
		ptr(g("example.com/shop/db.Open")):                                        true,
		ptr(g("example.com/shop.Run[go.shape.struct { example.com/other/x.T }]")): true,
		ptr(g("example.com/shopping.Run")):                                        false,
		ptr(g("net/http.(*conn).serve")):                                          false,
		ptr(g("example.com/lib/deep/er.F")):                                       true,
		ptr(g("example.com/library.F")):                                           false,
		ptr(g("runtime.gopark")):                                                  false,
		ptr(g("main._Cfunc_query")):                                               false,
		ptr(c("_cgo_0c2a_Cfunc_query", "go-build/cgo-gcc-prolog", "/app")):        false,
		ptr(c("query", "/src/main.go", "/app")):                                   true,
		ptr(c("sqlite3_step", "/pkg/mod/x/sqlite@v1.2/sqlite3.c", "/app")):        false,
		ptr(c("sqlite3_step", "/src/vendor/sqlite/sqlite3.c", "/app")):            false,
		ptr(c("unknown_in_stripped", "", "/app")):                                 false,
		ptr(c("rd_kafka_metadata", "rdkafka.c", "/usr/lib/librdkafka.so.1")):      false,
		ptr(c("", "", "/opt/libours.so.2")):                                       true,
		ptr(c("ns::Worker::run", "w.cc", "/opt/other.so")):                        true,
		ptr(c("start_thread", "nptl.c", "/lib/libc.so.6")):                        false,
		{}: false,
	} {
		if got := o.Has(f); got != want {
			t.Errorf("%q of %q: %v", f.Function, f.Image, got)
		}
	}
	if CheckPattern("[") == nil || CheckPattern("lib*") != nil {
		t.Error("patterns")
	}
}

func ptr(f unwind.Frame) *unwind.Frame { return &f }

func TestHeadline(t *testing.T) {
	o := Ours{Image: "/app"}
	kafka := unwind.Stack{Frames: []unwind.Frame{
		c("__futex_abstimed_wait_common64", "futex-internal.c", "/lib/libc.so.6"), c("___pthread_cond_timedwait64", "cond.c", "/lib/libc.so.6"),
		c("cnd_timedwait_abs", "t.c", "/lib/librdkafka.so"), c("rd_kafka_metadata", "m.c", "/lib/librdkafka.so"), c("_cgo_1_Cfunc_m", "cgo-gcc-prolog", "/app"),
		g("runtime.asmcgocall"), g("main._Cfunc_m"), g("github.com/x/kafka.Metadata"), g("main.handle"), g("main.main"),
	}}
	h := o.Headline(&kafka)
	if !h.Ours || h.Own.Function != "main.handle" || h.Entry == nil || h.Entry.Function != "github.com/x/kafka.Metadata" || h.Waits != "futex wait" {
		t.Errorf("%+v", h)
	}
	server := unwind.Stack{State: &unwind.State{Status: "waiting", WaitReason: "IO wait"}, Frames: []unwind.Frame{g("runtime.gopark"), g("net.(*TCPListener).Accept"), g("net/http.Serve"), g("main.main")}}
	if h := o.Headline(&server); !h.idle(&server) || h.Own.Function != "main.main" || h.Entry.Function != "net/http.Serve" {
		t.Errorf("%+v", h)
	}
	none := unwind.Stack{Frames: []unwind.Frame{c("__poll", "poll.c", "/lib/libc.so.6"), c("loop", "uv.c", "/lib/libuv.so")}}
	if h := o.Headline(&none); h.Ours || h.Entry != nil || h.Own.Function != "__poll" || !h.idle(&none) {
		t.Errorf("%+v", h)
	}
	for function, want := range map[string]string{
		"__GI___lll_lock_wait": "futex wait", "futex_wait": "futex wait", "__libc_pause": "pause", "epoll_pwait": "epoll wait", "__clock_nanosleep_time64": "sleep", "__read_nocancel": "read",
		"main.read": "", "reader": "", "pthread_mutex_lock": "", "": "",
	} {
		if got := Waits(function); got != want {
			t.Errorf("%s: %q", function, got)
		}
	}
}

// TestRanks: one goroutine that waits in the user's own code comes before groups of servers that have nothing to do.
func TestRanks(t *testing.T) {
	gs := NewGroups(Stack)
	add := func(id uint64, n int, reason string, frames ...unwind.Frame) {
		for i := range n {
			gs.Add(&unwind.Stack{Goroutine: id + uint64(i), Frames: frames, State: &unwind.State{Status: "waiting", WaitReason: reason}})
		}
	}
	add(100, 9, "IO wait", g("runtime.gopark"), g("net.(*TCPListener).Accept"), g("main.main"))
	add(200, 9, "select", g("runtime.gopark"), g("net/http.(*persistConn).writeLoop"))
	add(300, 9, "sleep", g("runtime.gopark"), g("main.tick"))
	add(400, 9, "GC worker (idle)", g("runtime.gopark"))
	add(1, 1, "chan receive", g("runtime.gopark"), g("main.waits"))
	if got := gs.Sorted("suspicion")[0]; got.Goroutines[0] != 1 {
		t.Errorf("%+v comes first", got.Goroutines)
	}
}
