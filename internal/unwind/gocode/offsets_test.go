package gocode

import (
	"maps"
	"slices"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

func TestOffsets(t *testing.T) {
	body := []byte{
		0x48, 0x8b, 0x81, 0x98, 0, 0, 0, // mov 0x98(%rcx),%rax
		0x48, 0x05, 0xa0, 0, 0, 0, // add $0xa0,%rax
		0x48, 0x8b, 0x44, 0x24, 0x10, // mov 0x10(%rsp),%rax
		0x48, 0x8b, 0x05, 0x30, 0, 0, 0, // mov 0x30(%rip),%rax
	}
	code := Code(func(name string) [][]byte {
		if name == "f" {
			return [][]byte{body}
		}
		return nil
	})
	got, known := Offsets(unwind.AMD64, code, "f")
	if want := []int64{0x98, 0xa0}; !known || !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, known := Offsets(unwind.AMD64, code, "g"); known {
		t.Error("a function that is not there is known")
	}
	if _, known := Offsets(unwind.ARM64, code, "f"); known {
		t.Error("no code of arm64 is read")
	}
}
