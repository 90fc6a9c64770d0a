package assembler

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// TestR16EveryEnd: all the ways to an end go through one gate. Above a frame that was only guessed none is one, as
// callers may be missing, or the frames may be what is left of an earlier stack.
func TestR16EveryEnd(t *testing.T) {
	const entryPC, clonePC, contextPC = 0x404010, 0x40b106, 0x40c010
	with0 := unwind.WalkResult{Stop: unwind.StopEnd, Reason: "no caller"}
	named := code{0x404000: {Name: "_start", Exact: true, Outermost: true}, 0x521000: {Name: "runtime.mcall", Exact: true, Go: true, SPDelta: 16, HasSPDelta: true},
		0x522000: {Name: "runtime.morestack", Exact: true, Go: true, HasSPDelta: true}}
	for start, fn := range synthetic {
		named[start] = fn
	}
	musl := []byte{0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05}
	glibc := []byte{0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74}
	for way, c := range map[string]struct {
		at      uint64 // the outermost frame
		code    CodeMap
		claim   unwind.Trust // of the strategy that says so, 0 for none
		running bool         // it says so at the end of a run
		reason  string
	}{
		"an outermost function of Go":  {exitPC, named, 0, false, "runtime.goexit"},
		"an outermost function of C":   {entryPC, named, 0, false, "_start"},
		"where a thread starts":        {clonePC, bytesAt{named, clonePC - 6, musl}, 0, false, threadStart},
		"where a context starts":       {contextPC, bytesAt{named, contextPC, glibc}, 0, false, contextStart},
		"tables, asked":                {midPC, named, unwind.TrustCFI, false, "no caller"},
		"tables, at the end of a run":  {midPC, named, unwind.TrustCFI, true, "no caller"},
		"a frame pointer, asked":       {midPC, marking{named}, unwind.TrustFramePointer, false, "no caller"},
		"a frame pointer, after a run": {midPC, marking{named}, unwind.TrustFramePointer, true, "no caller"},
		"the scheduler: mcall":         {mcallPC, named, 0, false, "the scheduler's stack begins here"},
		"the scheduler: morestack":     {0x522010, named, 0, false, "the scheduler's stack begins here"},
	} {
		for _, guessed := range []bool{false, true} {
			first := bySP(step(sp0+16, c.at, 0))
			found := &fake{name: "finds", steps: map[uint64][]unwind.Step{}, stop: map[uint64]unwind.WalkResult{}}
			a := with(found)
			switch a.Strategies[0].Description.Trust = unwind.TrustCFI; {
			case guessed:
				a.behind(&scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{leafPC: {first}}}})
			case c.claim == unwind.TrustFramePointer:
				a.Strategies[0].Description.Trust = c.claim
				found.steps[leafPC] = []unwind.Step{first}
			default:
				found.steps[leafPC] = []unwind.Step{first}
			}
			if c.claim != 0 {
				claims := found
				if c.claim == unwind.TrustFramePointer && guessed {
					claims = &fake{name: "chain", stop: map[uint64]unwind.WalkResult{}}
					chain := with(claims).Strategies
					a.Strategies = append(chain, a.Strategies...)
				}
				claims.stop[c.at] = with0
				if c.running && !guessed {
					claims.stop[leafPC] = with0
				}
			}
			segment := unwind.Segment{Low: cStack.Low, High: sp0 + 0x800, Kind: unwind.SegmentThread}
			th := thread(leafPC, sp0, 0, segment)
			th.Saved = &unwind.Saved{} // no goroutine runs
			tg := target(unwind.Windows{})
			tg.Executable = unwind.NewRangeSet(unwind.Range{Start: 0x400000, End: 0x530000})
			tg.Code = c.code
			s := a.Stack(context.Background(), tg, th, Options{})
			want := unwind.End
			if guessed {
				want = unwind.Truncated
			}
			if len(s.Frames) != 2 || s.Stop != want || !guessed && !strings.Contains(s.Reason, c.reason) || guessed && !strings.Contains(s.Reason, "guessed") {
				t.Errorf("%s, guessed %v: %#x, %s: %s", way, guessed, pcs(s), s.Stop, s.Reason)
			}
		}
	}
}

// bytesAt is code with own bytes at a place.
type bytesAt struct {
	code
	at    uint64
	bytes []byte
}

func (b bytesAt) Bytes(addr uint64, n int) []byte {
	page := make([]byte, 0x1000)
	copy(page[b.at&0xfff:], b.bytes)
	if addr&^0xfff != b.at&^0xfff {
		return nil
	}
	return page[addr&0xfff:][:min(n, int(0x1000-addr&0xfff))]
}

// TestOneGate: nothing but the gate says that a stack has ended.
func TestOneGate(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	places := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n := strings.Count(string(text), "unwind.End")
		if places += n; n > 0 && name != "ends.go" {
			t.Errorf("%s says that a stack has ended", name)
		}
	}
	if places != 1 {
		t.Errorf("%d places say that a stack has ended", places)
	}
}
