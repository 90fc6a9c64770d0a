package prologue

import (
	"bufio"
	"debug/elf"
	"encoding/hex"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestLengths compares lengths with those of x86asm, for all opcodes without VEX with all
// ModRM bytes and the prefixes that matter.
func TestLengths(t *testing.T) {
	var d Decoder
	compared := 0
	check := func(code []byte) {
		in, err := x86asm.Decode(code, 64)
		if err != nil || in.Op == 0 || known(code) {
			return
		}
		compared++
		if got := d.AMD64(code, 0); got.Len != in.Len || got.Flow == FlowUnknown {
			t.Errorf("% x: %d bytes, x86asm has %d: %v", code, got.Len, in.Len, in)
		}
	}
	tail := []byte{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x08, 0x19}
	for _, prefix := range [][]byte{{}, {0x66}, {0xf2}, {0xf3}, {0x48}, {0x41}, {0x66, 0x48}, {0x67}, {0x64}, {0x2e, 0x66}} {
		for _, escape := range [][]byte{{}, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}} {
			for op := range 256 {
				for modrm := range 256 {
					if rm := modrm & 7; rm != 0 && rm != 4 && rm != 5 {
						continue
					}
					for _, sib := range []byte{0x24, 0x25, 0xe5} {
						code := append(append(append([]byte{}, prefix...), escape...), byte(op), byte(modrm), sib)
						check(append(code, tail...))
					}
				}
			}
		}
	}
	t.Logf("%d forms compared", compared)
	if compared < 100_000 {
		t.Error("too few")
	}
}

// known are forms in which x86asm errs: it takes prefix 66 before a near branch for a
// shorter offset, EVEX for a prefix, and knows test registers, which 64-bit code lacks.
func known(code []byte) bool {
	at, operand := 0, false
	for legacyPrefix(code[at]) {
		operand = operand || code[at] == 0x66
		at++
	}
	if code[at]&0xf0 == 0x40 {
		at++
	}
	switch b := code[at]; {
	case b == 0x62, b == 0x0f && code[at+1]&^2 == 0x24:
		return true
	case b == 0xe8, b == 0xe9, b == 0x0f && code[at+1]&0xf0 == 0x80:
		return operand
	}
	return false
}

// TestLengthsOfLibraries compares with objdump, which knows VEX and EVEX too.
func TestLengthsOfLibraries(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Tool(t, "objdump")
	const path = "/lib/x86_64-linux-gnu/libc.so.6"
	f, err := elf.Open(path)
	if err != nil {
		testneed.LeaveOut(t, "%v", err)
	}
	defer f.Close()
	section := f.Section(".text")
	text, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("objdump", "-d", "-j", ".text", "--insn-width=16", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var d Decoder
	compared := 0
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		parts := strings.Split(lines.Text(), "\t")
		if len(parts) < 3 || strings.Contains(parts[2], "(bad)") {
			continue
		}
		addr, err := strconv.ParseUint(strings.Trim(parts[0], " :"), 16, 64)
		code, bad := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(parts[1]), " ", ""))
		if err != nil || bad != nil || addr < section.Addr {
			continue
		}
		compared++
		if got := d.AMD64(text[addr-section.Addr:], addr); got.Len != len(code) {
			t.Errorf("%#x % x: %d bytes: %s", addr, code, got.Len, parts[2])
		}
	}
	t.Logf("%d instructions compared", compared)
	if compared < 100_000 {
		t.Error("too few")
	}
}

func BenchmarkLength(b *testing.B) {
	code := []byte{0x48, 0x8b, 0x84, 0x24, 0x88, 0, 0, 0, 0x0f, 0xb6, 0x04, 0x25, 0, 0, 0, 0}
	var d Decoder
	for b.Loop() {
		d.AMD64(code, 0)
	}
}
