package cfi

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// cie is a common information entry.
type cie struct {
	instr, end int // its instructions, in the section
	codeAlign  uint64
	dataAlign  int64
	ra         unwind.Register // the return address's column
	encoding   byte            // of pointers to code
	sized      bool            // augmentation data has a length ('z')
	signal     bool            // 'S': the frames are a signal's trampoline
	goCode     bool            // made by Go's linker
	initial    initial         // the state after its instructions
}

// parseCIE reads the CIE at an offset (DWARF 5, 6.4.1; LSB 5, 10.6.1.1).
func (t *Table) parseCIE(off int) (*cie, *Error) {
	e, err := t.entryAt(off)
	if err != nil {
		return nil, err
	}
	fail := func(format string, args ...any) (*cie, *Error) {
		return nil, t.errorf(uint64(off), "CIE: "+format, args...)
	}
	if e.kind != entryCIE {
		return fail("missing")
	}
	r := reader{data: t.section.Data[:e.end], pos: e.body, big: t.big}
	version := r.byte()
	if !r.failed && version != 1 && version != 3 && version != 4 {
		return fail("version %d is not known", version)
	}
	aug := r.text()
	if version == 4 {
		addrSize, segment := int(r.byte()), r.byte()
		switch {
		case r.failed:
		case addrSize != t.addrSize:
			return fail("addresses have %d bytes, not %d", addrSize, t.addrSize)
		case segment != 0:
			return fail("it has segments")
		}
	}
	if string(aug) == "eh" { // gcc 2: a pointer to exception tables
		r.skip(uint64(t.addrSize))
		aug = nil
	}
	c := &cie{end: e.end, encoding: peAbsptr}
	c.codeAlign = r.uleb()
	c.dataAlign = r.sleb()
	column := uint64(0)
	if version == 1 {
		column = uint64(r.byte())
	} else {
		column = r.uleb()
	}
	if r.failed {
		return fail("it is cut off")
	}
	if _, ok := columnOf(column); !ok {
		return fail("return address column %d is not known", column)
	}
	c.ra = unwind.Register(column)
	if reason := t.parseAugmentation(c, &r, aug); reason != "" {
		return fail("%s", reason)
	}
	c.instr = r.pos
	c.goCode = t.madeByGo(c, version, len(aug) == 0)
	if reason := t.checkEncoding(c.encoding); reason != "" {
		return fail("%s", reason)
	}
	if e.end-c.instr > maxOpening {
		return fail("%d bytes of instructions", e.end-c.instr)
	}
	if err := t.runCIE(c); err != nil {
		return nil, err
	}
	return c, nil
}

// parseAugmentation reads the data of an augmentation string's letters, and
// returns its fault.
func (t *Table) parseAugmentation(c *cie, r *reader, aug []byte) (reason string) {
	if len(aug) == 0 {
		return ""
	}
	if aug[0] != 'z' {
		return fmt.Sprintf("augmentation %q is not known", aug)
	}
	c.sized = true
	size := r.uleb()
	if r.failed || size > uint64(r.left()) {
		return "augmentation data is cut off"
	}
	end := r.pos + int(size)
	data := reader{data: r.data[:end], pos: r.pos, big: r.big}
	r.pos = end
	for i, letter := range aug[1:] {
		switch letter {
		case 'R':
			c.encoding = data.byte()
		case 'L':
			data.byte()
		case 'P':
			// The personality routine is not wanted: read to pass it.
			enc := data.byte()
			if enc != peOmit {
				if enc&peApply == peAligned {
					if rest := (t.section.Addr + uint64(data.pos)) % uint64(t.addrSize); rest != 0 {
						data.skip(uint64(t.addrSize) - rest)
					}
				}
				number(&data, enc, t.addrSize)
			}
		case 'S':
			c.signal = true
		case 'B', 'G': // Arm: return addresses signed with key B, tagged stack
		default:
			// The size tells where the data ends, so an unknown letter does no harm
			// unless pointers' encoding may come after it.
			if bytes.IndexByte(aug[i+1:], 'R') >= 0 {
				return fmt.Sprintf("augmentation %q is not known", aug)
			}
			return ""
		}
		if data.failed {
			return fmt.Sprintf("data of augmentation %q is cut off", aug)
		}
	}
	return ""
}

// The instructions of a CIE by Go's linker (cmd/link/internal/ld, dwarf.go,
// writeframes): on amd64 DW_CFA_def_cfa rsp+8 and DW_CFA_offset of the return
// address at cfa-8 in the extended form, on arm64 DW_CFA_def_cfa sp+0,
// DW_CFA_same_value x30 and DW_CFA_val_offset sp+0.
var (
	goAMD64 = []byte{opDefCFA, 7, 8, opOffsetExtended, 16, 2}
	goARM64 = []byte{opDefCFA, 31, 0, opSameValue, 30, opValOffset, 31, 0}
)

// madeByGo recognises the CIE of Go's linker. Go's functions save no registers
// for their callers except the frame pointer, and their FDEs do not describe
// that.
func (t *Table) madeByGo(c *cie, version byte, plain bool) bool {
	want := goAMD64
	if t.opts.Arch == unwind.ARM64 {
		want = goARM64
	}
	if t.section.Kind != DebugFrame || version != 3 || !plain || c.codeAlign != 1 || c.dataAlign != -4 {
		return false
	}
	code := t.section.Data[c.instr:c.end]
	return bytes.HasPrefix(code, want) && !slices.ContainsFunc(code[len(want):], func(b byte) bool { return b != opNop })
}
