package corefile

import (
	"bytes"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// TestR11MaskOfCore: the kernel's note counts unless it covers bits of addresses that are
// in use; without one the mask is derived, unless the processor could not sign.
func TestR11MaskOfCore(t *testing.T) {
	const whole, part, lie = 0x7f << 48, 0x3f << 48, 0x1fff << 40
	maps := []imagemap.Mapping{{Start: 0xffff_f000_0000, End: 0xffff_f000_1000}}
	linux := func(mask uint64) []byte {
		return bytes.Replace(note(ntPAC, word(0, mask)), []byte("CORE\x00"), []byte("LINUX"), 1)
	}
	for name, tc := range map[string]struct {
		hwcap uint64
		note  []byte
		want  uint64
	}{
		"a note":                   {procfs.HasPAC, linux(part), part},
		"none":                     {procfs.HasPAC, nil, whole},
		"a note that lies":         {procfs.HasPAC, linux(lie), whole},
		"a note that is cut off":   {procfs.HasPAC, bytes.Replace(note(ntPAC, word(0)), []byte("CORE\x00"), []byte("LINUX"), 1), whole},
		"another system's note":    {procfs.HasPAC, note(ntPAC, word(0, part)), whole},
		"a processor that cannot":  {0, nil, 0},
		"one that cannot, a note?": {1, linux(part), 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := processCore()
			c.notes = append(append(note(ntAuxv, word(atHwcap, tc.hwcap, 0, 0)), note(ntFile, files())...), tc.note...)
			f, err := Open(c.write(t))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if got := f.PACMask(maps); got != tc.want {
				t.Errorf("%#x, want %#x", got, tc.want)
			}
		})
	}
}
