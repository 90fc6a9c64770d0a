	.text
	.globl	signed_a, signed_b, signal, large
signed_a:
	.cfi_startproc
	hint	25
	.cfi_negate_ra_state
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	.cfi_def_cfa_register 29
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa 31, 0
	hint	29
	.cfi_negate_ra_state
	ret
	.cfi_endproc
signed_b:
	.cfi_startproc
	.cfi_b_key_frame
	hint	27
	.cfi_negate_ra_state
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	hint	31
	.cfi_negate_ra_state
	ret
	.cfi_endproc
large:
	.cfi_startproc
	sub	sp, sp, 65536
	.cfi_def_cfa_offset 65536
	nop
	.fill	70000, 1, 0
	add	sp, sp, 65536
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
signal:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa 31, 272
	.cfi_offset 30, -8
	.cfi_offset 29, -16
	nop
	.cfi_endproc
