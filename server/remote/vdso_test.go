package remote

import (
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// TestVDSO: the kernel's library is found by the auxiliary vector, in memory that ends anywhere.
func TestVDSO(t *testing.T) {
	const stack, argvAt, base = 0x7ffd_0000_0ff0, 0x6a4010, 0x7000
	initial := func(words ...uint64) (out []byte) {
		for _, w := range words {
			out = binary.LittleEndian.AppendUint64(out, w)
		}
		return append(out, make([]byte, 2*pageSize-(stack%pageSize)-len(out)%pageSize)...)
	}
	pointer := func(to uint64) unwind.Window {
		return unwind.Window{Addr: argvAt, Data: binary.LittleEndian.AppendUint64(nil, to)}
	}
	library := unwind.Window{Addr: base, Data: elfImage(t, 3, nil)}
	for name, c := range map[string]struct {
		memory         unwind.Windows
		started, found bool
	}{
		"arguments, environment, vector": {unwind.Windows{pointer(stack), library, {Addr: stack, Data: initial(1, 2, 0, 3, 0, 6, 4096, 33, base, 0, 0)}}, true, true},
		"no arguments":                   {unwind.Windows{pointer(stack), library, {Addr: stack, Data: initial(0, 0, 33, base, 0, 0)}}, true, true},
		"no such key":                    {unwind.Windows{pointer(stack), library, {Addr: stack, Data: initial(1, 0, 0, 6, 4096, 0, 0)}}, true, false},
		"no library there":               {unwind.Windows{pointer(stack), {Addr: stack, Data: initial(1, 0, 0, 33, base, 0, 0)}}, true, false},
		"the runtime has not started":    {unwind.Windows{pointer(0), library}, false, false},
		"arguments that are overwritten": {unwind.Windows{pointer(^uint64(0)), library}, true, false},
		"no end":                         {unwind.Windows{pointer(stack), {Addr: stack, Data: initial(1, 2, 3)[:16]}}, true, false},
		"nothing can be read":            {nil, true, false},
	} {
		p := speak(t, &MachineServer{FakeServer: FakeServer{thread: 7}, registers: named(map[string]uint64{"Rip": 0x497854, "Rsp": stack}), least: 1,
			variables: map[string]uint64{"runtime.argv": argvAt}, memory: c.memory})
		img, started, found := p.vdso()
		if started != c.started || found != c.found || found && (img.base != base || img.path != vdsoPath) {
			t.Errorf("%s: %+v, %v, %v", name, img, started, found)
		}
	}
}
