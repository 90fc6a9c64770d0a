package export

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

// endless is memory without gaps.
type endless struct{}

func (endless) ReadMemory(uint64, []byte) error { return nil }

// TestValuesEnd: behind the bounds of a listing nothing is read any more, and the error says which bound it was.
func TestValuesEnd(t *testing.T) {
	r := Values{Memory: endless{}, Until: time.Now().Add(time.Hour)}
	if err := r.ReadMemory(0, make([]byte, 8)); err != nil || r.read != 8 {
		t.Errorf("%v, %d bytes", err, r.read)
	}
	block := make([]byte, 1<<20)
	for range maxReadBytes>>20 + 1 {
		_ = r.ReadMemory(0, block)
	}
	if err := r.ReadMemory(0, block); !errors.Is(err, errBytes) {
		t.Error(err)
	}
	r = Values{Memory: endless{}, Until: time.Now().Add(-time.Second)}
	if err := r.ReadMemory(0, nil); !errors.Is(err, errTime) {
		t.Error(err)
	}
	stack := &unwind.Stack{Frames: make([]unwind.Frame, 2)}
	of := r.Of(stack, nil, nil)
	if len(of) != 2 || len(of[1]) != 1 || of[1][0].Unknown != errTime.Error() {
		t.Errorf("%+v", of)
	}
}

// TestValueLines: what is written of values, with what could take over a terminal escaped.
func TestValueLines(t *testing.T) {
	at := stackjson.Address(0x10)
	frame := 1
	for want, v := range map[string]stackjson.Value{
		"n = 3":                             {Name: "n", Value: "3", Kind: stackjson.KindLocal},
		"(n) = 3":                           {Name: "n", Value: "3", Kind: stackjson.KindLocal, Shadowed: true},
		"n = <optimized out>":               {Name: "n", OptimizedOut: true},
		`n = <unknown: \x1b[2J>`:            {Name: "n", Unknown: "\x1b[2J"},
		"rbx = 0x1  saved at 0x10, frame 1": {Name: "rbx", Value: "0x1", Kind: stackjson.KindRegister, RestsOn: []stackjson.Rest{{Register: "rbx", From: &frame, Saved: &at}}},
		"rbx = 0x1  unchanged":              {Name: "rbx", Value: "0x1", Kind: stackjson.KindRegister, RestsOn: []stackjson.Rest{{Register: "rbx"}}},
	} {
		if got := valueLine(&v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if strings.ContainsRune(valueLine(&v), 0x1b) {
			t.Errorf("%q", want)
		}
	}
}
