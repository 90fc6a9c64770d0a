# Rules that only version 3 can say.
	.text
	.globl	returns_by_register, realigned, outermost, signal, by_rbx
returns_by_register:
	.cfi_startproc
	pop	%rdx
	.cfi_def_cfa_offset 0
	.cfi_register 16, 1
	nop
	push	%rdx
	.cfi_def_cfa_offset 8
	.cfi_offset 16, -8
	ret
	.cfi_endproc
realigned:
	.cfi_startproc
	lea	8(%rsp), %r10
	.cfi_def_cfa 10, 0
	and	$-64, %rsp
	push	-8(%r10)
	push	%rbp
	.cfi_escape 0x10,0x6,0x2,0x76,0
	mov	%rsp, %rbp
	push	%r10
	.cfi_escape 0xf,0x3,0x76,0x78,0x6
	nop
	pop	%r10
	.cfi_def_cfa 10, 0
	pop	%rbp
	lea	-8(%r10), %rsp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
outermost:
	.cfi_startproc
	.cfi_undefined 16
	nop
	ret
	.cfi_endproc
by_rbx:
	.cfi_startproc
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	mov	%rsp, %rbx
	.cfi_def_cfa_register 3
	and	$-64, %rsp
	mov	%rbx, %rsp
	.cfi_def_cfa_register 7
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
signal:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f,0x4,0x77,0xa0,0x1,0x06
	nop
	ret
	.cfi_endproc
signal_plain:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa_offset 272
	nop
	ret
	.cfi_endproc
