//go:build !noasm && !purego

#include "textflag.h"

#define CLEAR(v, number) VEOR v.B16, v.B16, v.B16
#define FMLA(v, number) VFMLA V30.S4, V31.S4, v.S4
#define SDOT(v, number) WORD $(0x4e9e97e0+number) // sdot v.4s, v31.16b, v30.16b, which the assembler lacks

#define SUMS(of) \
	of(V0, 0); of(V1, 1); of(V2, 2); of(V3, 3); of(V4, 4); of(V5, 5); \
	of(V6, 6); of(V7, 7); of(V8, 8); of(V9, 9); of(V10, 10); of(V11, 11); \
	of(V12, 12); of(V13, 13); of(V14, 14); of(V15, 15); of(V16, 16); of(V17, 17); \
	of(V18, 18); of(V19, 19); of(V20, 20); of(V21, 21); of(V22, 22); of(V23, 23)

// func int8NEON(n int)
TEXT ·int8NEON(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R0
	SUMS(CLEAR)
	CLEAR(V30, 30)
	CLEAR(V31, 31)
loop:
	SUMS(SDOT)
	SUBS $1, R0, R0
	BNE  loop
	RET

// func floatNEON(n int)
TEXT ·floatNEON(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R0
	SUMS(CLEAR)
	CLEAR(V30, 30)
	CLEAR(V31, 31)
loop:
	SUMS(FMLA)
	SUBS $1, R0, R0
	BNE  loop
	RET

// func read(p *byte, n int)
TEXT ·read(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1
loop:
	FLDPQ 0(R0), (F0, F1)
	FLDPQ 32(R0), (F2, F3)
	FLDPQ 64(R0), (F4, F5)
	FLDPQ 96(R0), (F6, F7)
	ADD   $128, R0, R0
	SUBS  $128, R1, R1
	BNE   loop
	RET
