package cfi

import "fmt"

// The encodings of pointers (LSB 5, 10.5.1): a format, how it is applied, and
// whether the pointer is found there only.
const (
	peAbsptr   = 0x00
	peULEB     = 0x01
	peUdata2   = 0x02
	peUdata4   = 0x03
	peUdata8   = 0x04
	peSigned   = 0x08
	peSLEB     = 0x09
	peSdata2   = 0x0a
	peSdata4   = 0x0b
	peSdata8   = 0x0c
	peFormat   = 0x0f
	pePCRel    = 0x10
	peTextRel  = 0x20
	peDataRel  = 0x30
	peFuncRel  = 0x40
	peAligned  = 0x50
	peApply    = 0x70
	peIndirect = 0x80
	peOmit     = 0xff
)

// formatSize is the size in bytes of a format, 0 for LEB128, -1 if unknown.
func formatSize(enc byte, addrSize int) int {
	switch enc & peFormat {
	case peAbsptr, peSigned:
		return addrSize
	case peULEB, peSLEB:
		return 0
	case peUdata2, peSdata2:
		return 2
	case peUdata4, peSdata4:
		return 4
	case peUdata8, peSdata8:
		return 8
	}
	return -1
}

// number reads a value in the format of an encoding, not applied to anything.
func number(r *reader, enc byte, addrSize int) uint64 {
	switch size := formatSize(enc, addrSize); {
	case size < 0:
		return r.fail()
	case enc&peFormat == peULEB:
		return r.uleb()
	case enc&peFormat == peSLEB:
		return uint64(r.sleb())
	case enc&peSigned != 0:
		return uint64(r.signed(size))
	default:
		return r.unsigned(size)
	}
}

// checkEncoding returns the reason why pointers to code cannot be read in that
// encoding, "" if they can. A pointer that is stored elsewhere (indirect) would
// need the target's memory; one that is relative to text, data or a function
// needs a base that call-frame information does not contain.
func (t *Table) checkEncoding(enc byte) string {
	switch {
	case enc == peOmit:
		return "pointers to code are left out"
	case enc&peIndirect != 0:
		return fmt.Sprintf("pointer encoding %#x is indirect", enc)
	case formatSize(enc, 8) < 0:
		return fmt.Sprintf("pointer encoding %#x has no known format", enc)
	}
	switch enc & peApply {
	case peAbsptr, pePCRel:
		return ""
	case peAligned:
		if enc == peAligned {
			return ""
		}
	case peDataRel:
		if t.opts.DataBase != 0 {
			return ""
		}
		return fmt.Sprintf("pointer encoding %#x is relative to data whose address is not known", enc)
	}
	return fmt.Sprintf("pointer encoding %#x is not known", enc)
}

// pointer reads a pointer to code as an address in the target; null is set
// where it is 0 as stored, or 0 as the linker saw it. The encoding was checked.
func (t *Table) pointer(r *reader, enc byte, addrSize int) (addr uint64, null bool) {
	if enc == peAligned {
		if size := uint64(addrSize); (t.section.Addr+uint64(r.pos))%size != 0 {
			r.skip(size - (t.section.Addr+uint64(r.pos))%size)
		}
	}
	at := t.section.Addr + uint64(r.pos)
	v := number(r, enc, addrSize)
	if v == 0 {
		return 0, true
	}
	switch enc & peApply {
	case pePCRel:
		v += at
	case peDataRel:
		v += t.opts.DataBase
	default:
		v += t.opts.Bias
	}
	v = truncate(v, addrSize)
	return v, v == t.opts.Bias
}

// truncate keeps as many bits as addresses have.
func truncate(v uint64, addrSize int) uint64 {
	if addrSize == 4 {
		return v & 0xffff_ffff
	}
	return v
}
