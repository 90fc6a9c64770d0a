#include "textflag.h"

// func Add(to *int32)
TEXT ·Add(SB), NOSPLIT, $0-8
	MOVD	to+0(FP), R0
again:
	LDAXRW	(R0), R1
	ADDW	$1, R1
	STLXRW	R1, (R0), R2
	CBNZW	R2, again
	RET
