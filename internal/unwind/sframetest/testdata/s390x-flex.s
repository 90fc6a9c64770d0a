	.text
	.globl	floats, other_base
floats:
	.cfi_startproc
	ldgr	%f0, %r14
	.cfi_register 14, 16
	ldgr	%f2, %r11
	.cfi_register 11, 17
	nopr
	lgdr	%r11, %f2
	.cfi_restore 11
	lgdr	%r14, %f0
	.cfi_restore 14
	br	%r14
	.cfi_endproc
only_fp:
	.cfi_startproc
	stg	%r11, 88(%r15)
	.cfi_offset 11, -72
	nopr
	br	%r14
	.cfi_endproc
other_base:
	.cfi_startproc
	stmg	%r10, %r15, 80(%r15)
	.cfi_offset 10, -80
	.cfi_offset 11, -72
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	lgr	%r10, %r15
	.cfi_def_cfa_register 10
	aghi	%r15, -1024
	lmg	%r10, %r15, 80(%r10)
	.cfi_def_cfa 15, 160
	.cfi_restore 10
	.cfi_restore 11
	.cfi_restore 14
	br	%r14
	.cfi_endproc
