# Functions that compilers write rarely, with rules of every form: each row's
# start in 1, 2 and 4 bytes, offsets of 1, 2 and 4 bytes.
	.text
	.globl	short, medium, long, large, huge
short:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register 6
	pop	%rbp
	.cfi_def_cfa 7, 8
	.cfi_restore 6
	ret
	.cfi_endproc
medium:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	.fill	300, 1, 0x90
	pop	%rbp
	.cfi_def_cfa_offset 8
	.cfi_restore 6
	ret
	.cfi_endproc
long:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	.fill	70000, 1, 0x90
	pop	%rbp
	.cfi_def_cfa_offset 8
	.cfi_restore 6
	ret
	.cfi_endproc
large:
	.cfi_startproc
	sub	$1000, %rsp
	.cfi_def_cfa_offset 1008
	add	$1000, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
huge:
	.cfi_startproc
	sub	$0x12340, %rsp
	.cfi_def_cfa_offset 0x12348
	nop
	add	$0x12340, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
