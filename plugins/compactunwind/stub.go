package compactunwind

import (
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// The shape of __stub_helper, as ld64 and lld write it: a head that all stubs
// jump to, and an entry for each, which names the symbol and jumps to the head.
const (
	helperHeadX86  = 0x10 // lea r11, [rip+x] (7 bytes); push r11 (2); jmp [rip+x]; nop
	helperLeaX86   = 7
	helperEntryX86 = 10 // push imm32 (5 bytes); jmp head (5)
	helperPushX86  = 5

	helperSaveARM64 = 0x0c // adr x17; ...; stp x16, x17, [sp, #-16]!
	helperHeadARM64 = 0x18 // adrp; ldr; br
)

// stub returns the rule in stubs of imported functions. They only jump, so that no
// call returns to them.
func (im *image) stub(addr uint64, kind unwind.PCKind) (*tablewalk.Rule, error) {
	if kind == unwind.KindReturn {
		return nil, fmt.Errorf("%#x lies in stubs of imported functions, which call no one", addr)
	}
	var pushed int64 // bytes below the return address, or below the CFA on arm64
	if im.helper.Contains(addr) {
		pushed = im.pushedInHelper(addr - im.helper.Start)
	}
	if im.arch != unwind.AMD64 && im.arch != unwind.ARM64 {
		return nil, nil
	}
	entry := rule.Entry(im.arch)
	entry.CFA.Offset += pushed
	return &tablewalk.Rule{Rule: entry}, nil
}

// pushedInHelper returns the number of bytes pushed before an offset in
// __stub_helper.
func (im *image) pushedInHelper(off uint64) int64 {
	switch {
	case im.arch == unwind.ARM64 && off >= helperSaveARM64 && off < helperHeadARM64:
		return 16
	case im.arch == unwind.ARM64:
		return 0
	case off < helperLeaX86+2: // up to and including push r11, which has not run
		return 8
	case off < helperHeadX86:
		return 16
	case (off-helperHeadX86)%helperEntryX86 < helperPushX86:
		return 0
	}
	return 8
}
