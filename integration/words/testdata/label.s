# Functions of an assembler: exported and local ones, with and without what says more of them.
	.text
	.globl first
first:
	nop
	call second
	ret
second:
	push %rbp
again:
	dec %rdi
	jnz again
	pop %rbp
	ret
third:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.globl typed
	.type typed, @function
typed:
	nop
	ret
	.size typed, .-typed
fourth:
	nop
	nop
	ret
	.section .text.other, "ax"
fifth:
	nop
	ret
	.globl sixth
sixth:
	nop
	ret
	.section .note.GNU-stack, "", @progbits
