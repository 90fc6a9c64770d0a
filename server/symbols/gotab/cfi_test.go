package gotab_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A cfaRow says that CFA = SP + offset for addresses in [start, end).
type cfaRow struct {
	start, end uint64
	offset     int64
}

// goDebugFrame reads the .debug_frame that Go's linker writes for amd64: CIE
// version 3, SP-based rules only. Entries of other producers, which start with
// another CIE, are left out.
func goDebugFrame(data []byte) ([]cfaRow, error) {
	le := binary.LittleEndian
	goCIE := map[uint32]bool{}
	var rows []cfaRow
	for off := uint32(0); int(off)+8 <= len(data); {
		size, id := le.Uint32(data[off:]), le.Uint32(data[off+4:])
		body := data[off+8 : off+4+size]
		switch {
		case id == 0xffffffff:
			// version 3, no augmentation, code alignment 1, data alignment -4
			goCIE[off] = bytes.HasPrefix(body, []byte{3, 0, 1, 0x7c})
		case goCIE[id]:
			fde, err := goFDE(body)
			if err != nil {
				return nil, fmt.Errorf("FDE at %#x: %w", off, err)
			}
			rows = append(rows, fde...)
		}
		off += 4 + size
	}
	return rows, nil
}

func goFDE(body []byte) ([]cfaRow, error) {
	le := binary.LittleEndian
	start := le.Uint64(body)
	end := start + le.Uint64(body[8:])
	p := body[16:]
	var rows []cfaRow
	pc, cfa := start, int64(8)
	advance := func(n uint64) {
		if n > 0 {
			rows = append(rows, cfaRow{pc, pc + n, cfa})
		}
		pc += n
	}
	for len(p) > 0 {
		op := p[0]
		p = p[1:]
		switch {
		case op == 0: // nop
		case op>>6 == 1: // advance_loc
			advance(uint64(op & 0x3f))
		case op == 2: // advance_loc1
			advance(uint64(p[0]))
			p = p[1:]
		case op == 3: // advance_loc2
			advance(uint64(le.Uint16(p)))
			p = p[2:]
		case op == 4: // advance_loc4
			advance(uint64(le.Uint32(p)))
			p = p[4:]
		case op == 0x13: // def_cfa_offset_sf
			n, v := 0, int64(0)
			for shift := 0; ; shift += 7 {
				b := p[n]
				n++
				v |= int64(b&0x7f) << shift
				if b < 0x80 {
					if b&0x40 != 0 {
						v |= -1 << (shift + 7)
					}
					break
				}
			}
			p = p[n:]
			cfa = v * -4
		default:
			return nil, fmt.Errorf("opcode %#x", op)
		}
	}
	if pc < end {
		advance(end - pc)
	}
	return rows, nil
}
