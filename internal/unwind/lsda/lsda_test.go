package lsda

import (
	"encoding/binary"
	"reflect"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestAreas reads areas as gcc writes them, one behind the other.
func TestAreas(t *testing.T) {
	first := []byte{
		0xff, 0x9b, 21, // landing pads count from the function; types end 21 bytes on
		1, 9, 0x10, 5, 0x80, 1, 1, 0x20, 7, 0, 0, // call sites
		1, 0, 0, // what is done, filled up
		1, 2, 3, 4, // a type
	}
	first = append(first, 0, 0, 0) // filled up
	second := []byte{0xff, 0xff, 1, 8, 4, 5, 0, 0, 9, 6, 0x30, 0}
	want := [][]Site{{{0x10, 0x15, 0x80}, {0x20, 0x27, 0}}, {{4, 9, 0}, {9, 15, 0x30}}}
	if got := Areas(append(first, second...)); !reflect.DeepEqual(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	for what, bad := range map[string][]byte{
		"call sites beyond the section":  {0xff, 0xff, 1, 9, 4, 5, 0, 0},
		"call sites before the types":    {0xff, 0x9b, 2, 1, 4, 4, 5, 0, 0},
		"another encoding of call sites": {0xff, 0xff, 3, 4, 4, 5, 0, 0},
		"another base of landing pads":   {0x00, 0xff, 1, 4, 4, 5, 0, 0},
		"a call site that is cut off":    {0xff, 0xff, 1, 3, 4, 5, 0},
		"a call site without bytes":      {0xff, 0xff, 1, 4, 4, 0, 0, 0},
		"call sites out of order":        {0xff, 0xff, 1, 8, 9, 5, 0, 0, 4, 5, 0, 0},
	} {
		if got := Areas(bad); len(got) > 0 {
			t.Errorf("%s: %x", what, got)
		}
	}
}

// FuzzAreas: whatever a section holds, call sites are in order and within bounds.
func FuzzAreas(f *testing.F) {
	f.Add([]byte{0xff, 0xff, 1, 8, 4, 5, 0, 0, 9, 6, 0x30, 0})
	f.Add([]byte{0xff, 0x9b, 21, 1, 9, 0x10, 5, 0x80, 1, 1, 0x20, 7, 0, 0, 1, 0, 0, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, section []byte) {
		sites := 0
		for _, area := range Areas(section) {
			last := uint64(0)
			for _, s := range area {
				if s.Start < last || s.End <= s.Start || s.End > 2*maxOffset || s.Pad > maxOffset {
					t.Fatalf("%+v behind %#x", s, last)
				}
				last = s.End
				sites++
			}
		}
		if sites > len(section)/4 {
			t.Fatalf("%d call sites in %d bytes", sites, len(section))
		}
	})
}

// TestManyHeaders: headers that lie within each other's call sites cost no more than one of them.
func TestManyHeaders(t *testing.T) {
	var section []byte
	for start := uint64(1 << 22); start < 1<<22+1<<20; start += 2 {
		section = binary.AppendUvarint(section, start)
		section = append(section, 1, 0xff, 0xff, 0x01)    // as long as 1, to the landing pad 0x7fff
		section = append(section, 0xff, 0xff, 0xff, 0x00) // and what may be an area's length
	}
	began := time.Now()
	Areas(section)
	if took := time.Since(began); took > testneed.Patience(10*time.Second) {
		t.Errorf("%v for %d bytes", took, len(section))
	}
}
