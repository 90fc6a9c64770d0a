package prologue

import "testing"

// TestImplicitRegisters: an instruction changes the registers that it names, and those that the manual says it
// changes too, no others. The CFA is found by the register in question alone: mov %rsp,REG; sub %rax,%rsp.
func TestImplicitRegisters(t *testing.T) {
	const byR11, byRDX, byRCX = "4989e3 4829c4", "4889e2 4829c4", "4889e1 4829c4"
	kept := map[string]string{byR11: "cfa=r11+8; ra=[cfa-8]; fp=unchanged", byRDX: "cfa=rdx+8; ra=[cfa-8]; fp=unchanged", byRCX: "cfa=rcx+8; ra=[cfa-8]; fp=unchanged"}
	for _, c := range []struct{ name, by, code string }{
		{"setne 0x53(%rsp)", byR11, "0f95442453"}, {"rol $8,%dx", byR11, "66c1c208"}, {"cmovae %rcx,%rax", byRDX, "480f43c1"},
		{"rep movsq", byRDX, "f348a5"}, {"imul %ecx,%eax", byRDX, "0fafc1"}, {"bsf %rax,%rax", byRCX, "480fbcc0"},
		{"lock cmpxchg %ebx,(%rdi)", byRDX, "f00fb11f"}, {"shlx %rax,%rdi,%rsi", byRDX, "c4e2f9f7f7"}, {"vpaddd %ymm2,%ymm1,%ymm0", byRDX, "c5f5fec2"},
		{"fadd %st(1),%st", byRCX, "d8c1"}, {"cqto", byRCX, "4899"},
	} {
		n := uint64(len(unhex(t, c.by+c.code)))
		t.Run(c.name, func(t *testing.T) { check64(t, c.by+c.code+"90 c3", at{off: n, kind: BodyNoFP, rule: kept[c.by]}) })
	}
	for _, c := range []struct{ name, by, code string }{
		{"mul %ebx", byRDX, "f7e3"}, {"imul %ebx", byRDX, "f7eb"}, {"cqto", byRDX, "4899"}, {"idiv %ebx", byRDX, "f7fb"}, {"rep movsq", byRCX, "f348a5"},
		{"cpuid", byRCX, "0fa2"}, {"rdtscp", byRCX, "0f01f9"}, {"vpcmpistri $0,%xmm1,%xmm0", byRCX, "c4e37963c100"}, {"pcmpistri $0,%xmm1,%xmm0", byRCX, "660f3a63c100"},
		{"shlx %rax,%rdi,%rdx", byRDX, "c4e2f9f7d7"}, {"vpmovmskb %ymm0,%edx", byRDX, "c5fdd7d0"}, {"vmovd %xmm0,%edx", byRDX, "c5f97ec2"},
		{"setne %dl", byRDX, "0f95c2"}, {"xadd %rdx,(%rdi)", byRDX, "480fc117"},
	} {
		n := uint64(len(unhex(t, c.by+c.code)))
		t.Run(c.name, func(t *testing.T) { check64(t, c.by+c.code+"90 c3", at{off: n}) })
	}
}

// TestBarrier: a read and write of the word at the top of the stack changes nothing.
func TestBarrier(t *testing.T) {
	check64(t, "f048830c2400 c3", at{off: 6, kind: Epilogue, rule: leafRule}) // lock orq $0,(%rsp)
	check64(t, "48830c2401 c3", at{off: 5})                                   // orq $1,(%rsp)
}
