# A CFA on a register that is neither stack pointer nor frame pointer. binutils
# 2.40 writes rules on the stack pointer for it, without a warning; 2.44 leaves
# the function out; version 3 can say it. What lies where the wrong rules look
# for the return address is an address of code, so that nothing shows the
# mistake. It exits with 42.
	.text
	.globl	_start, by_rbx, wrong, right_again
_start:
	call	by_rbx
	mov	$42, %edi
	mov	$60, %eax
	syscall
by_rbx:
	.cfi_startproc
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	mov	%rsp, %rbx
	.cfi_def_cfa_register 3
	lea	_start(%rip), %rax
	push	%rax
wrong:
	push	%rax
	push	%rax
	call	leaf
	mov	%rbx, %rsp
right_again:
	.cfi_def_cfa_register 7
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
leaf:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
