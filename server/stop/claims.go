package stop

import (
	"sync"

	"github.com/clewdbg/clew/server/delve"
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
func Claim(v View, th *delve.Thread, depth int) (note string) {
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

// claiming returns a function for what [Claim] fills in. begin has it found in the background, where that can be:
// while a strategy's process is asked, this one has nothing else to do, and a stack through tables needs
// Delve's frames at its end only. Both share Delve's lock: begun earlier, it would keep the first read of the stack waiting.
func (s *Stopped) claiming(th delve.Thread, depth int) (found func() (claims []unwind.Frame, note string), begin func()) {
	found = sync.OnceValues(func() ([]unwind.Frame, string) {
		note := Claim(s.View, &th, depth)
		return th.Claims, note
	})
	v, ok := s.View.(apart)
	if !ok || !v.Apart() {
		return found, nil
	}
	var once sync.Once
	return found, func() {
		once.Do(func() {
			go func() {
				defer func() { _ = recover() }() // the work that asks for them panics too, and says so
				found()
			}()
		})
	}
}

// claimSome fills in a bounded number of Delve's frames.
func claimSome(v View, th *delve.Thread) (note string) {
	if _, err := claim(v, th, someClaims); err != nil {
		return unclaimed(err)
	}
	return ""
}

// claim fills in Delve's frames, and returns them as Delve has them.
func claim(v View, th *delve.Thread, ask int) ([]unwind.Frame, error) {
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
