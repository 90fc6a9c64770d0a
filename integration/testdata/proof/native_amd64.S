// The thunk of gcc's -mfunction-return=thunk, and functions whose frames have 64 bytes
// each; the table of the innermost says that its frame has two more.
	.text
	.globl __x86_return_thunk
	.type __x86_return_thunk, @function
__x86_return_thunk:
	call 1f
2:	pause
	lfence
	jmp 2b
1:	lea 8(%rsp), %rsp
	ret
	.size __x86_return_thunk, .-__x86_return_thunk

.macro honest name, callee
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	sub $56, %rsp
	.cfi_def_cfa_offset 64
	mov 56(%rsp), %rdi
	call told
	lea \callee(%rip), %rax
	call *%rax
	add $56, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size \name, .-\name
.endm

	.globl lies
	.type lies, @function
lies:
	.cfi_startproc
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	mov 8(%rsp), %rdi
	call told
	add $8, %rsp
	.cfi_def_cfa_offset 136
	int3
	ret
	.cfi_endproc
	.size lies, .-lies

	honest honest1, lies
	honest honest2, honest1
	honest honest3, honest2

// Two functions that call each other. The table says that a frame of odd, where it waits,
// ends where that of its next activation does.
.macro turn name, callee, size
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	sub $24, %rsp
	.cfi_def_cfa_offset 32
	mov %edi, 8(%rsp)
	mov 24(%rsp), %rdi
	call told
	mov 8(%rsp), %edi
	sub $1, %edi
	js 1f
	.cfi_def_cfa_offset \size
	call \callee
2:	.cfi_def_cfa_offset 32
	add $24, %rsp
	.cfi_def_cfa_offset 8
	ret
1:	.cfi_def_cfa_offset 32
	int3
	jmp 2b
	.cfi_endproc
	.size \name, .-\name
.endm

	turn even, odd, 32
	turn odd, even, 96

// Call the C library's vfork and longjmp, which keep their caller in registers.
.macro records name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	sub $24, %rsp
	.cfi_def_cfa_offset 32
	mov 24(%rsp), %rdi
	call told
	lea 1f(%rip), %rdi
	call told
.endm

.macro recorded name
	add $24, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size \name, .-\name
.endm

	records forks
	call vfork
1:
	recorded forks

// Calls code whose first instruction reads through a null pointer.
	.globl generated
	.type generated, @function
generated:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	mov %rdi, %rbx
	mov 8(%rsp), %rdi
	call told
	lea 1f(%rip), %rdi
	call told
	xor %edi, %edi
	call *%rbx
1:	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size generated, .-generated

	records jumps
	lea buffer(%rip), %rdi
	call _setjmp
1:	test %eax, %eax
	jne 2f
	lea buffer(%rip), %rdi
	mov $1, %esi
	call longjmp
2:
	recorded jumps
	.comm buffer, 256, 16

// Keeps its return address in a register, as vfork does.
	.globl popped
	.type popped, @function
popped:
	.cfi_startproc
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	mov 8(%rsp), %rdi
	call told
	add $8, %rsp
	.cfi_def_cfa_offset 8
	pop %rdi
	.cfi_def_cfa_offset 0
	.cfi_register rip, rdi
	mov $39, %eax
	syscall
	int3
	push %rdi
	.cfi_def_cfa_offset 8
	.cfi_offset rip, -8
	ret
	.cfi_endproc
	.size popped, .-popped
	.section .note.GNU-stack,"",@progbits
