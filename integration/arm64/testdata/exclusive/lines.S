// Each instruction has its line.
	.text
	.globl	count_lines
	.type	count_lines, %function
count_lines:
	.cfi_startproc
	mov	w3, #0
.Lagain:
	ldaxr	w1, [x0]
	add	w1, w1, #1
	cmp	w1, w3
	b.eq	.Lagain
	stlxr	w2, w1, [x0]
	cbnz	w2, .Lagain
	mov	w3, #1
	ret
	.cfi_endproc
	.size	count_lines, .-count_lines
	.section .note.GNU-stack,"",%progbits
