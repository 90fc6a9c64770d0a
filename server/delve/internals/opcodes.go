package internals

import (
	"encoding/binary"
	"errors"
	"fmt"
	_ "unsafe" // for go:linkname

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// EntryFrameOpcodes is the name of the entry for what Delve executes of call-frame information.
const EntryFrameOpcodes = "frame-opcodes"

var opcodeEntries = []Entry{{
	Name: EntryFrameOpcodes, Where: "pkg/dwarf/frame/table.go, fnlookup",
	Breaks: "no line is stepped in arm64 code that signs return addresses: Delve takes the frame pointer, which such code need not keep, and fails",
	Proof:  "Check", check: checkOpcodes,
}}

// opcodes is Delve's table of call-frame instructions. It lacks one of arm64's.
//
//go:linkname opcodes github.com/go-delve/delve/pkg/dwarf/frame.fnlookup
var opcodes map[byte]func(*frame.FrameContext)

// negateRAState is DW_CFA_AARCH64_negate_ra_state (AADWARF64, "Call frame instructions"): from here on the return address is
// signed, or no longer. It has no operands, and changes neither the CFA nor where a register is saved.
const negateRAState = 0x2d

// checkOpcodes adds the instruction, and proves that Delve executes it and what follows.
func checkOpcodes() error {
	if opcodes == nil {
		return errors.New("there is no such table")
	}
	if opcodes[negateRAState] == nil {
		opcodes[negateRAState] = func(*frame.FrameContext) {}
	}
	const begin, size = 0x1000, 0x20
	cie := []byte{1, 0, 4, 0x78, 30, 0x0c, 31, 0} // version 1, alignment 4 and -8, x30; DW_CFA_def_cfa: sp+0
	program := []byte{0x41, negateRAState, 0x41, 0x0e, size}
	section := entry(0xffff_ffff, cie)
	section = append(section, entry(0, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, begin), size), program)...)
	entries, err := frame.Parse(section, binary.LittleEndian, 0, 8, 0)
	if err != nil {
		return err
	}
	fde, err := entries.FDEForPC(begin + 8)
	if err != nil {
		return err
	}
	row, err := fde.EstablishFrame(begin + 8)
	if err == nil && row.CFA.Offset != size {
		err = fmt.Errorf("a frame of %d bytes has %d", size, row.CFA.Offset)
	}
	return err
}

// entry is one of .debug_frame (DWARF 5, section 6.4.1).
func entry(id uint32, parts ...[]byte) []byte {
	body := binary.LittleEndian.AppendUint32(nil, id)
	for _, part := range parts {
		body = append(body, part...)
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}
