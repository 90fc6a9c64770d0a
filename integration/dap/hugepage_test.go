package dap

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestHugePage: a client may ask for as many frames as an integer can count, and
// for any of them. It gets what there is, and the server, whose Delve would take
// memory for all of them, goes on.
func TestHugePage(t *testing.T) {
	testneed.Ptrace(t)
	exe, _ := plain(t)
	p := native(t, "opened-O2-fp-stripped")
	const depth = 70_000 // more than Delve is asked for at first
	for name, launch := range map[string]object{
		"Go, deep": {"program": exe, "args": []string{"deep", strconv.Itoa(depth)}},
		"native":   {"program": p.Path, "args": []string{"plain", "int3", t.TempDir() + "/record"}, "env": object{"NATIVE_LIBRARY": p.Library}},
	} {
		t.Run(name, func(t *testing.T) {
			launch["mode"], launch["outputMode"] = "exec", "remote"
			c := start(t, binary("clew")).dial()
			thread := threadOf(t, c.launch(launch))
			first := c.stack(thread, 0, math.MaxInt32)
			total := len(first.StackFrames)
			if total != first.TotalFrames || total < 10 || name == "Go, deep" && total < depth {
				t.Fatalf("%d frames of %d", total, first.TotalFrames)
			}
			for _, page := range [][2]int{{0, 1 << 40}, {total - 2, math.MaxInt32}, {2, math.MaxInt64 - 2}, {total - 1, 1}, {total, 1}, {math.MaxInt32, 1}, {1 << 40, math.MaxInt32}, {1 << 62, 1 << 62}} {
				got := c.stack(thread, page[0], page[1])
				want := first.StackFrames[min(page[0], total):]
				if len(want) > page[1] {
					want = want[:page[1]]
				}
				if !slices.Equal(got.StackFrames, want) || got.TotalFrames != total {
					t.Errorf("from %d, %d: %d frames of %d, want %d of %d", page[0], page[1], len(got.StackFrames), got.TotalFrames, len(want), total)
				}
			}
			c.disconnect()
		})
	}
	t.Run("JSON-RPC", func(t *testing.T) {
		s := serving(t, binary("clew"), "", nil, exe, "deep", "100")
		c := rpcTo(t, s)
		command(t, c, "continue")
		for _, depth := range []int{1000, math.MaxInt32, math.MaxInt64} {
			var out struct{ Locations []object }
			if err := c.Call("RPCServer.Stacktrace", object{"Id": -1, "Depth": depth}, &out); err != nil || len(out.Locations) < 100 {
				t.Fatalf("to a depth of %d: %d frames, %v", depth, len(out.Locations), err)
			}
		}
		_ = c.Call("RPCServer.Detach", map[string]bool{"Kill": true}, &struct{}{}) // it may end before it has answered
		if err := s.wait(); err != nil {
			t.Errorf("the server ends with %v: %s", err, s.stderr)
		}
	})
}
