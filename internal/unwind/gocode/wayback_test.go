package gocode

import (
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// The code of asmcgocall behind its two calls of C, as Go 1.26 has it.
var (
	depthAMD64 = []byte{
		0x48, 0x8b, 0x7c, 0x24, 0x08, // mov 8(%rsp),%rdi
		0x48, 0x8b, 0x77, 0x10, // mov 16(%rdi),%rsi
		0x48, 0x2b, 0x34, 0x24, // sub (%rsp),%rsi
		0x64, 0x48, 0x89, 0x3c, 0x25, 0xf8, 0xff, 0xff, 0xff, // mov %rdi,%fs:-8
		0x48, 0x89, 0xf4, // mov %rsi,%rsp
	}
	sameAMD64  = []byte{0x48, 0x8b, 0x34, 0x24, 0x48, 0x89, 0xf4} // mov (%rsp),%rsi; mov %rsi,%rsp
	depthARM64 = words(0xaa0003e9, 0xf94003fc, 0x9400050f, 0xf9400785, 0xf94007e6, 0xcb0600a5, 0xaa0903e0, 0x910000bf)
	sameARM64  = words(0xf94007e2, 0x9100005f)
)

func words(list ...uint32) (out []byte) {
	for _, w := range list {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	return out
}

// Where asmcgocall keeps the way back is read from its code, not from a version.
func TestWayBack(t *testing.T) {
	for name, c := range map[string]struct {
		arch unwind.Arch
		code []byte
		want WayBack
		ok   bool
	}{
		"amd64":           {unwind.AMD64, depthAMD64, WayBack{0, 8, 16}, true},
		"amd64, no g":     {unwind.AMD64, sameAMD64, WayBack{0, -1, -1}, true},
		"arm64":           {unwind.ARM64, depthARM64, WayBack{8, 0, 8}, true},
		"arm64, no g":     {unwind.ARM64, sameARM64, WayBack{8, -1, -1}, true},
		"amd64, cut off":  {unwind.AMD64, depthAMD64[:13], WayBack{}, false},
		"arm64, cut off":  {unwind.ARM64, depthARM64[:24], WayBack{}, false},
		"amd64, nonsense": {unwind.AMD64, []byte{6, 6, 6}, WayBack{}, false},
		"nothing":         {unwind.AMD64, nil, WayBack{}, false},
	} {
		if got, _, ok := ReadWayBack(c.arch, c.code); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v %t, want %+v %t", name, got, ok, c.want, c.ok)
		}
	}
}
