package stop

import (
	"sync"

	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/unwind"
)

// Bounds on the frames that Delve is asked for. It allocates all of them before it
// walks, so it is asked for more than FirstClaims only once a stack has as many.
const (
	MaxClaims   = 1 << 24
	FirstClaims = 1 << 16
	// someClaims are enough for ordinary stacks, and for one that is not held: its
	// frames have no names.
	someClaims = 1 << 10
)

// Claim fills in Delve's frames: depth physical ones if there are so many; 0 stands
// for a number that covers ordinary stacks. Delve counts inlined calls as frames:
// they are additional. Where more of them bring no more physical ones Delve's stack
// has no end: it repeats its last frame, which then looks like an inlined call. The
// note says why Delve failed; the stack is made without it. Test: TestRepeatedClaims.
func Claim(v View, th *reading.Thread, depth int) (note string) {
	if depth <= 0 {
		depth = someClaims
	}
	before := 0
	for ask := min(depth+depth/2, FirstClaims); ; ask *= 2 {
		claims, err := claim(v, th, ask)
		if err != nil {
			return unclaimed(err)
		}
		found := physical(claims)
		if len(claims) < ask || found >= depth || found == before || ask > MaxClaims {
			return ""
		}
		before = found
	}
}

// apart is a [View] whose debugger can be asked while its memory is read.
type apart interface{ Apart() bool }

// claims are Delve's frames of a stack, found when they are needed first.
type claims struct {
	view  View
	over  func() error // not nil once the result is no longer wanted
	depth int          // that Delve is asked to
	grows bool         // the stack has no limit: see of

	begun sync.Once
	mu    sync.Mutex
	th    reading.Thread
	asked bool
	note  string // why Delve failed
}

// of returns what Delve has of a stack with so many frames. Where no depth is wanted Delve is asked for more
// frames only once the stack has as many: its own stack may have no end. Example: a thread of a static C program, whose
// outermost frame Delve finds again and again. Test: TestEndlessClaims.
func (c *claims) of(frames int) []unwind.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked {
		c.note = Claim(c.view, &c.th, c.depth)
		c.asked = true
	}
	for c.grows && c.note == "" && physical(c.th.Claims) >= c.depth && frames+leastDepth >= c.depth && c.depth <= MaxClaims && c.over() == nil {
		c.depth = max(2*c.depth, frames+2*leastDepth)
		c.note = Claim(c.view, &c.th, c.depth)
	}
	return c.th.Claims
}

// begin has them found in the background, where that can be: a stack through tables, or by Go's, needs
// Delve's frames at its end only. While a strategy's process is asked, this one has nothing else to do; begun earlier, it takes
// processor time from the work before.
func (c *claims) begin() {
	v, ok := c.view.(apart)
	if !ok || !v.Apart() {
		return
	}
	c.begun.Do(func() {
		go func() {
			defer func() { _ = recover() }() // the work that asks for them panics too, and says so
			c.of(0)
		}()
	})
}

// claimSome fills in a bounded number of Delve's frames.
func claimSome(v View, th *reading.Thread) (note string) {
	if _, err := claim(v, th, someClaims); err != nil {
		return unclaimed(err)
	}
	return ""
}

// claim fills in Delve's frames, and returns them as Delve has them.
func claim(v View, th *reading.Thread, ask int) ([]unwind.Frame, error) {
	th.Claims = nil
	claims, err := v.Claims(*th, ask)
	if err == nil {
		th.Claims = withoutEmptyEnd(claims)
	}
	return claims, err
}

func unclaimed(err error) string { return "Delve's own frames are not known: " + err.Error() }

func physical(claims []unwind.Frame) (n int) {
	for i := range claims {
		if !claims[i].Inlined {
			n++
		}
	}
	return n
}

// withoutEmptyEnd leaves out the frames without a PC that Delve's stack of a
// thread ends with. They claim nothing, and how many there are depends on how
// often Delve was asked: it keeps the walk of a thread without a goroutine for as
// long as the program stands, and goes on with it when it is asked again, at the
// end too. Example: a thread in runtime.futex has 9 frames at first, and 2 more,
// with the PC 0, whenever its stack is walked once more.
// Test: TestEmptyEnd, and TestExportIsThatOfStack of integration/dap, where one
// thread is walked in each of a dozen exports.
func withoutEmptyEnd(claims []unwind.Frame) []unwind.Frame {
	for n := len(claims); n > 1 && claims[n-1].PC.Raw() == 0; n-- {
		claims = claims[:n-1]
	}
	return claims
}
