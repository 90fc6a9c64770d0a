package dwarfline

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestManyUnits: of millions of units those count that a file may have, the fault is named once, and units that describe
// no code take little memory.
func TestManyUnits(t *testing.T) {
	p, outer, _ := twoUnits(t, "-gdwarf-5")
	delete(p, ".debug_aranges") // all units are read for an address
	abbrevs := len(p[".debug_abbrev"])
	p[".debug_abbrev"] = append(p[".debug_abbrev"], 1, 0x3c, 0, 0, 0, 0) // a partial unit without attributes
	part := []byte{9, 0, 0, 0, 5, 0, 3, 8, byte(abbrevs), byte(abbrevs >> 8), byte(abbrevs >> 16), 0, 1}
	p[".debug_info"] = append(p[".debug_info"], bytes.Repeat(part, maxUnits)...)
	before := heap()
	table := New(p.source())
	for range 2 {
		if calls, err := table.Calls(outer); err != nil || len(calls) != 3 {
			t.Fatalf("%+v, %v", calls, err)
		}
		if problems := table.Problems(); len(problems) != 1 || !errors.Is(problems[0], errTooManyUnits) {
			t.Errorf("problems %v", problems)
		}
	}
	const most = 450
	if each := int(heap()-before-int64(len(p[".debug_info"]))) / maxUnits; each > most {
		t.Errorf("%d bytes for each unit", each)
	} else {
		t.Logf("%d bytes for each unit", each)
	}
	second := New(p.source())
	if calls, err := second.Calls(outer); err != nil || len(calls) != 3 {
		t.Errorf("the second file: %+v, %v", calls, err)
	}
	third := New(p.source())
	if _, err := third.Calls(outer); !errors.Is(err, ErrUnknown) || len(third.Problems()) != 1 {
		t.Errorf("the third file, behind two million units: %v, problems %v", err, third.Problems())
	}
	runtime.KeepAlive(table)
	runtime.KeepAlive(second)
	for end := time.Now().Add(testneed.Patience(10 * time.Second)); allUnits.Load() >= maxUnits; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(end) {
			t.Fatalf("%d units are counted when no file is in use", allUnits.Load())
		}
	}
	if calls, err := New(p.source()).Calls(outer); err != nil || len(calls) != 3 {
		t.Errorf("the next file: %+v, %v", calls, err)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
