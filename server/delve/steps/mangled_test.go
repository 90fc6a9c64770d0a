package steps

import (
	"encoding/binary"
	"testing"
)

// TestMangledWith: the guard is found through the global offset table, as in glibc's library, and without one, as in a static
// program; not where the code uses another register, returns before, or the memory cannot be read.
func TestMangledWith(t *testing.T) {
	const pc, table, variable, guard = 0x3a4d8, 0x19f000 + 3632, 0x7000, 0x1234_5678_9abc_def0
	memory := map[uint64]uint64{table: variable, variable: guard}
	word := func(addr uint64) (uint64, bool) {
		v, ok := memory[addr]
		return v, ok
	}
	const (
		save    = 0xa9005013 // stp x19, x20, [x0]
		page    = 0xb0000b22 // adrp x2, 0x19f000
		entry   = 0xf9471842 // ldr x2, [x2, #3632]
		load    = 0xf9400043 // ldr x3, [x2]
		mangle  = 0xca0303c4 // eor x4, x30, x3
		flipped = 0xca1e0064 // eor x4, x3, x30
		otherly = 0xca0503c4 // eor x4, x30, x5
		add     = 0x9138c042 // add x2, x2, #3632
		loadTo  = 0xf9400042 // ldr x2, [x2]
		back    = 0xd65f03c0 // ret
	)
	for name, c := range map[string]struct {
		code []uint32
		want uint64
	}{
		"a library":           {[]uint32{page, entry, load, save, mangle}, guard},
		"the other way round": {[]uint32{page, entry, load, flipped}, guard},
		"by an addition":      {[]uint32{page, add, loadTo, load, mangle}, guard},
		"a variable":          {[]uint32{page, 0xf9471843, mangle}, variable}, // ldr x3, [x2, #3632]
		"another register":    {[]uint32{page, entry, load, otherly}, 0},
		"it returns before":   {[]uint32{page, entry, load, back, mangle}, 0},
		"no address":          {[]uint32{entry, load, mangle}, 0},
		"no memory":           {[]uint32{page, load, mangle}, 0},
		"no code":             {nil, 0},
	} {
		var code []byte
		for _, w := range c.code {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		if got, ok := mangledWith(code, pc, word); got != c.want || ok != (c.want != 0) {
			t.Errorf("%s: %#x, %v; want %#x", name, got, ok, c.want)
		}
	}
}
