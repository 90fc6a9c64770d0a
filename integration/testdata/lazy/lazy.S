// A library whose functions are bound when they are first called. What chooses the function
// stops the program, below the dynamic linker; or the program stops later, above what the
// linker has left on the stack. There are no tables.
	.text
.macro function name
	.globl \name
	.type \name, @function
\name:
.endm

// lazy(told, picked): told is called with what \picked returns to, and the caller.
.macro calls name, picked
	function \name
	push %rbx
	sub $32, %rsp
	mov %rdi, %rbx
	mov 40(%rsp), %rdi
	call *%rbx
	lea 1f(%rip), %rdi
	call *%rbx
	call \picked@PLT
1:	add $32, %rsp
	pop %rbx
	ret
	.size \name, .-\name
.endm

	calls lazy, stops

	.globl stops
	.type stops, @gnu_indirect_function
stops:
	sub $24, %rsp
	int3
	lea nothing(%rip), %rax
	add $24, %rsp
	ret
	.size stops, .-stops

// later(told): binds what it calls, and calls a function that stops above the words that
// are left.
	function later
	push %rbx
	mov %rdi, %rbx
	mov 8(%rsp), %rdi
	call *%rbx
	lea 1f(%rip), %rdi
	call *%rbx
	call bound@PLT
	call keeps
1:	pop %rbx
	ret
	.size later, .-later

	.type keeps, @function
keeps:
	sub $1032, %rsp
	int3
	add $1032, %rsp
	ret
	.size keeps, .-keeps

	function bound
	ret
	.size bound, .-bound

	.type nothing, @function
nothing:
	ret
	.size nothing, .-nothing
	.section .note.GNU-stack,"",@progbits
