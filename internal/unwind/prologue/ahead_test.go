package prologue

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

const (
	aheadPC = 0x10000
	aheadSP = 0x7fff0000
)

// ahead follows code that is stopped at its first byte, with a stack whose words are their own addresses but for some.
func ahead(code []byte, regs map[unwind.Register]uint64, words map[uint64]uint64, comes func(uint64, bool) Back) (rule.Rule, Proof, string) {
	var r unwind.Registers
	r.Set(unwind.AMD64RSP, aheadSP)
	for reg, v := range regs {
		r.Set(reg, v)
	}
	budget := maxAhead
	f := Stopped{Arch: unwind.AMD64, Registers: &r, PC: aheadPC, Comes: comes, Budget: &budget,
		Code: func(addr uint64, n int) []byte {
			if at := addr - aheadPC; at < uint64(len(code)) {
				return code[at:min(at+uint64(n), uint64(len(code)))]
			}
			return nil
		},
		Word: func(addr uint64) (uint64, bool) {
			if v, ok := words[addr]; ok {
				return v, true
			}
			return addr, addr >= aheadSP && addr < aheadSP+0x10000
		}}
	return Ahead(&f)
}

// TestAhead: what code shows of its return, and what ends the proof.
func TestAhead(t *testing.T) {
	back := func(answer Back) func(uint64, bool) Back { return func(uint64, bool) Back { return answer } }
	const r11 = unwind.Register(11)
	for name, c := range map[string]struct {
		code  []byte
		words map[uint64]uint64
		comes func(uint64, bool) Back
		proof Proof
		cfa   int64 // above SP
		why   string
	}{
		"a return":                              {code: []byte{0xc3}, proof: Proven, cfa: 8},
		"a frame that is taken down":            {code: []byte{0x48, 0x83, 0xc4, 0x18, 0x5b, 0xc3}, proof: Proven, cfa: 40},                                                                                  // add $24,%rsp; pop %rbx; ret
		"a size that is kept in the frame":      {code: []byte{0x4c, 0x8b, 0x5c, 0x24, 0x20, 0x4c, 0x01, 0xdc, 0xc3}, words: map[uint64]uint64{aheadSP + 0x20: 0x240}, proof: Proven, cfa: 0x248},            // mov 32(%rsp),%r11; add %r11,%rsp; ret
		"the same, built":                       {code: []byte{0x49, 0x89, 0xe3, 0x49, 0x83, 0xe3, 0x1f, 0x49, 0x81, 0xc3, 0, 2, 0, 0, 0x4c, 0x29, 0xdc, 0x4c, 0x01, 0xdc, 0xc3}, proof: Proven, cfa: 8},     // mov %rsp,%r11; and $31,%r11; add $512,%r11; sub %r11,%rsp; add ...
		"a stack that was aligned":              {code: []byte{0x48, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0xdc, 0xc3}, proof: Proven, cfa: 8},                                                     // mov %rsp,%rbx; and $-64,%rsp; mov %rbx,%rsp; ret
		"two ways":                              {code: []byte{0x74, 5, 0x48, 0x83, 0xc4, 8, 0xc3, 0x58, 0xc3}, proof: Proven, cfa: 16},                                                                      // je 1f; add $8,%rsp; ret; 1: pop %rax; ret
		"two heights":                           {code: []byte{0x74, 5, 0x48, 0x83, 0xc4, 16, 0xc3, 0x58, 0xc3}, why: reasonHeights},                                                                         // as before, add $16
		"a loop":                                {code: []byte{0xff, 0xc8, 0x75, 0xfc, 0x58, 0xc3}, proof: Proven, cfa: 16},                                                                                  // 1: dec %eax; jne 1b; pop; ret
		"a loop that moves the stack":           {code: []byte{0x50, 0x75, 0xfd, 0xc3}, why: reasonMeet},                                                                                                     // 1: push; jne 1b; ret
		"no way out":                            {code: []byte{0xeb, 0xfe}, why: reasonNoReturn},                                                                                                             // 1: jmp 1b
		"an indirect jump":                      {code: []byte{0xff, 0xe0}, proof: Guessed, cfa: 8},                                                                                                          // jmp *%rax
		"an indirect jump elsewhere":            {code: []byte{0x74, 2, 0x58, 0xc3, 0xff, 0xe0}, proof: Some, cfa: 16},                                                                                       // je 1f; pop; ret; 1: jmp *%rax
		"an indirect jump as at the return":     {code: []byte{0x74, 2, 0x58, 0xc3, 0x58, 0xff, 0xe0}, proof: Proven, cfa: 16},                                                                               // a tail call
		"a call of what is not known":           {code: []byte{0xe8, 0, 1, 0, 0, 0x58, 0xc3}, proof: Some, cfa: 16},                                                                                          // call; pop; ret
		"a call that comes back":                {code: []byte{0xe8, 0, 1, 0, 0, 0x58, 0xc3}, comes: back(Comes), proof: Proven, cfa: 16},                                                                    // the same
		"a call that does not":                  {code: []byte{0xe8, 0, 1, 0, 0, 0x58, 0xc3}, comes: back(ComesNot), why: reasonNoReturn},                                                                    // the same
		"a call, and a way without it":          {code: []byte{0x74, 5, 0xe8, 0, 1, 0, 0, 0x58, 0xc3}, proof: Proven, cfa: 16},                                                                               // the other function's code behind does not count
		"a word that the code has written":      {code: []byte{0x48, 0xc7, 0x44, 0x24, 8, 0x40, 0, 0, 0, 0x48, 0x8b, 0x44, 0x24, 8, 0x48, 0x01, 0xc4, 0xc3}, why: reasonSP},                                  // movq $64,8(%rsp); mov 8(%rsp),%rax; add %rax,%rsp; ret
		"the stack pointer from an old word":    {code: []byte{0xe8, 0, 1, 0, 0, 0x48, 0x8b, 0x64, 0x24, 0xf8, 0xc3}, comes: back(Comes), why: reasonSP},                                                     // call; mov -8(%rsp),%rsp; ret: the call has written there
		"instructions that overlap":             {code: []byte{0x74, 1, 0xb8, 0xc3, 0x90, 0x90, 0x90, 0x58, 0xc3}, why: reasonHeights},                                                                       // je into mov's operand, which is ret
		"a jump into its own middle":            {code: []byte{0xeb, 0xff, 0xc0, 0x58, 0xc3}, proof: Proven, cfa: 16},                                                                                        // jmp; inc %eax; pop; ret
		"a breakpoint":                          {code: []byte{0xcc, 0x58, 0xc3}, why: reasonNoReturn},                                                                                                       // int3
		"code that ends":                        {code: []byte{0x58}, why: reasonUndecoded},                                                                                                                  // pop
		"a register that the return rests on":   {code: []byte{0x4c, 0x89, 0xdc, 0xc3}, why: reasonSP},                                                                                                       // mov %r11,%rsp; ret, with %r11 unknown
		"a way with bytes that are no code":     {code: []byte{0x74, 2, 0x58, 0xc3, 0x06}, proof: Some, cfa: 16},                                                                                             // je 1f; pop; ret; 1: push %es
		"a thunk in the place of the return":    {code: []byte{0xe8, 7, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9, 0x48, 0x8d, 0x64, 0x24, 8, 0xc3}, proof: Proven, cfa: 8},                          // gcc's __x86_return_thunk
		"indirect jumps at two heights":         {code: []byte{0x74, 2, 0xff, 0xe0, 0x58, 0xff, 0xe0}, why: reasonNoReturn},                                                                                  // je 1f; jmp *%rax; 1: pop; jmp *%rax
		"a retpoline in the place of the jump":  {code: []byte{0x74, 2, 0x58, 0xc3, 0x58, 0xe8, 7, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9, 0x48, 0x89, 0x04, 0x24, 0xc3}, proof: Proven, cfa: 16}, // as an indirect jump
		"a push of the address":                 {code: []byte{0xe8, 0, 0, 0, 0, 0x58, 0xc3}, proof: Proven, cfa: 8},                                                                                         // call next; pop; ret
		"a frame by the frame pointer":          {code: []byte{0xc9, 0xc3}, proof: Proven, cfa: 0x110},                                                                                                       // leave; ret
		"below the place where the frame began": {code: []byte{0x48, 0x83, 0xec, 0x20, 0xc3}, why: reasonRA},                                                                                                 // sub $32,%rsp; ret
	} {
		r, proof, why := ahead(c.code, map[unwind.Register]uint64{unwind.AMD64RBP: aheadSP + 0x100}, c.words, c.comes)
		if proof != c.proof || why != c.why && !strings.Contains(why, c.why) || proof != Unproven && r.CFA.Offset != c.cfa {
			t.Errorf("%s: %s, %v, %q; want CFA %d, %v, %q", name, r.String(), proof, why, c.cfa, c.proof, c.why)
		}
	}
	r, _, _ := ahead([]byte{0x48, 0x83, 0xc4, 0x18, 0x5b, 0x4c, 0x89, 0xdd, 0xc3}, map[unwind.Register]uint64{r11: 5}, nil, nil) // add $24,%rsp; pop %rbx; mov %r11,%rbp; ret
	if got, want := r.Whole(), "cfa=rsp+40; ra=[cfa-8]; fp=r11; rbx=[cfa-16]"; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s...", got, want)
	}
}

// TestAheadIsBounded: code with a million ways, code that goes on for ever, code that writes all of the stack.
func TestAheadIsBounded(t *testing.T) {
	var ways []byte
	for range 20 { // each doubles them: cmp; je; inc
		ways = append(ways, 0x74, 2, 0xff, 0xc0)
	}
	ways = append(ways, 0x58, 0xc3)
	if r, proof, why := ahead(ways, nil, nil, nil); proof != Proven || r.CFA.Offset != 16 {
		t.Errorf("2^20 ways: %v %q", proof, why)
	}
	var diverse []byte // each way leaves another register changed: states are joined, not listed
	for i := range byte(20) {
		diverse = append(diverse, 0x74, 5, 0xb8|i%4, i, 0, 0, 0)
	}
	if _, proof, why := ahead(append(diverse, 0xc3), nil, nil, nil); proof != Proven {
		t.Errorf("2^20 states: %v %q", proof, why)
	}
	if _, proof, why := ahead(append(make([]byte, 3*maxAhead), 0xc3), nil, nil, nil); proof != Unproven || why != reasonFar { // add %al,(%rax)
		t.Errorf("no end: %v %q", proof, why)
	}
	var pushes []byte
	for range maxCells + 1 {
		pushes = append(pushes, 0x50)
	}
	if _, _, why := ahead(append(pushes, 0xc3), nil, nil, nil); why != reasonWritten {
		t.Errorf("pushes: %q", why)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		code := make([]byte, 64)
		for i := range code {
			if code[i] = byte(random.Uint32()); random.IntN(4) == 0 {
				code[i] = []byte{0x74, 0xeb, 0x50, 0x58, 0xc3, 0xe8}[random.IntN(6)]
			}
		}
		ahead(code, nil, nil, nil)
	}
}

// TestAheadARM64: the return address is in x30, or saved.
func TestAheadARM64(t *testing.T) {
	for name, c := range map[string]struct {
		code []uint32
		want string
	}{
		"a leaf":   {[]uint32{0xd503201f, 0xd65f03c0}, "cfa=sp; ra=x30; fp=unchanged"},                    // nop; ret
		"a record": {[]uint32{0xf9400bf3, 0xa8c27bfd, 0xd65f03c0}, "cfa=sp+32; ra=[cfa-24]; fp=[cfa-32]"}, // ldr x19, [sp, #16]; ldp x29, x30, [sp], #32; ret
		"adds":     {[]uint32{0xa9407bfd, 0x910103ff, 0xd65f03c0}, "cfa=sp+64; ra=[cfa-56]; fp=[cfa-64]"}, // ldp x29, x30, [sp]; add sp, sp, #64; ret
		"a branch": {[]uint32{0xb4000040, 0xd503201f, 0xd65f03c0}, "cfa=sp; ra=x30; fp=unchanged"},        // cbz x0, ret; nop; ret
	} {
		var code []byte
		for _, w := range c.code {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		var r unwind.Registers
		arch := unwind.ARM64
		r.Set(arch.SP(), aheadSP)
		r.Set(arch.LR(), 0x4000)
		r.Set(arch.FP(), aheadSP+0x100)
		budget := 100
		found, proof, why := Ahead(&Stopped{Arch: arch, Registers: &r, PC: aheadPC, Budget: &budget,
			Code: func(addr uint64, n int) []byte { return codeFrom(code, addr, n) },
			Word: func(addr uint64) (uint64, bool) { return addr, true }})
		if got := found.String(); proof != Proven || got != c.want {
			t.Errorf("%s: %s, %v %q; want %s", name, got, proof, why, c.want)
		}
		if budget > 100-len(c.code) {
			t.Errorf("%s: %d left", name, budget)
		}
	}
}

func codeFrom(code []byte, addr uint64, n int) []byte {
	at := addr - aheadPC
	if at >= uint64(len(code)) {
		return nil
	}
	return code[at:min(at+uint64(n), uint64(len(code)))]
}
