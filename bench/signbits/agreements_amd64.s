//go:build !noasm && !purego

#include "textflag.h"

// The vectors of four queries and 64 atoms are sums in Z0 to Z15, four of each query.

// ZERO clears a query's sums, BIAS sets them to minus the double word at from.
#define ZERO(a, b, c, d) \
	VPXORD a, a, a \
	VPXORD b, b, b \
	VPXORD c, c, c \
	VPXORD d, d, d
#define BIAS(from, a, b, c, d) \
	VPXORD a, a, a \
	VPSUBD.BCST from, a, a \
	VMOVDQA64 a, b \
	VMOVDQA64 a, c \
	VMOVDQA64 a, d

// STEP loads the next line of each vector of atoms and fetches those of a later panel.
#define STEP \
	PREFETCHT1 (SI)(BX*1) \
	PREFETCHT1 64(SI)(BX*1) \
	PREFETCHT1 128(SI)(BX*1) \
	PREFETCHT1 192(SI)(BX*1) \
	VMOVDQU64 (SI), Z16 \
	VMOVDQU64 64(SI), Z17 \
	VMOVDQU64 128(SI), Z18 \
	VMOVDQU64 192(SI), Z19

// MULTIPLY adds the products of four codes, AGREE the number of ones in 32 bits of an exclusive or.
#define MULTIPLY(from, a, b, c, d) \
	VPBROADCASTD from, Z20 \
	VPDPBUSD Z20, Z16, a \
	VPDPBUSD Z20, Z17, b \
	VPDPBUSD Z20, Z18, c \
	VPDPBUSD Z20, Z19, d
#define AGREE(from, a, b, c, d) \
	VPBROADCASTD from, Z20 \
	VPXORD Z20, Z16, Z21 \
	VPXORD Z20, Z17, Z22 \
	VPXORD Z20, Z18, Z23 \
	VPXORD Z20, Z19, Z24 \
	VPOPCNTD Z21, Z21 \
	VPOPCNTD Z22, Z22 \
	VPOPCNTD Z23, Z23 \
	VPOPCNTD Z24, Z24 \
	VPADDD Z21, a, a \
	VPADDD Z22, b, b \
	VPADDD Z23, c, c \
	VPADDD Z24, d, d

// HEADS stores the terms of the heads, by Z16 to Z19, at the values of query i.
#define HEAD(at, v, scale) \
	VCVTDQ2PS v, v \
	VMULPS Z20, v, v \
	VMULPS scale, v, v \
	VMOVUPS v, at(R13)
#define HEADS(i, a, b, c, d) \
	VBROADCASTSS (32*i)(DI), Z20 \
	HEAD(256*i, a, Z16) \
	HEAD(256*i+64, b, Z17) \
	HEAD(256*i+128, c, Z18) \
	HEAD(256*i+192, d, Z19)

// TESTS makes the values of query i, by the norms in Z16 to Z19, and its mask of those of at least the cut.
#define VALUE(at, v, norm, mask) \
	VCVTDQ2PS v, v \
	VFMADD132PS Z20, Z21, v \
	VFMADD213PS at(R13), norm, v \
	VMOVUPS v, at(R13) \
	VCMPPS $29, Z22, v, mask
#define TESTS(i, a, b, c, d) \
	VBROADCASTSS (32*i+4)(DI), Z20 \
	VBROADCASTSS (32*i+8)(DI), Z21 \
	VBROADCASTSS (32*i+16)(DI), Z22 \
	VALUE(256*i, a, Z16, K1) \
	VALUE(256*i+64, b, Z17, K2) \
	VALUE(256*i+128, c, Z18, K3) \
	VALUE(256*i+192, d, Z19, K4) \
	KUNPCKWD K1, K2, K1 \
	KUNPCKWD K3, K4, K3 \
	KUNPCKDQ K1, K3, K1 \
	KMOVQ K1, (8*i)(R12)

#define TERMS(from) \
	VMOVUPS (from), Z16 \
	VMOVUPS 64(from), Z17 \
	VMOVUPS 128(from), Z18 \
	VMOVUPS 192(from), Z19

// func agreeAVX512(panel *uint8, ahead, head, signs int, codes *int8, stride int, queries *simd.ScanQuery, groups int, heads, norms *float32, masks *uint64, values *float32)
TEXT ·agreeAVX512(SB), NOSPLIT, $0-96
	MOVQ ahead+8(FP), BX
	MOVQ codes+32(FP), R8
	MOVQ stride+40(FP), R9
	LEAQ (R9)(R9*2), R10
	MOVQ queries+48(FP), DI
	MOVQ groups+56(FP), R11
	MOVQ masks+80(FP), R12
	MOVQ values+88(FP), R13

group:
	MOVQ panel+0(FP), SI
	MOVQ R8, DX
	MOVQ head+16(FP), CX
	BIAS(20(DI), Z0, Z1, Z2, Z3)
	BIAS(52(DI), Z4, Z5, Z6, Z7)
	BIAS(84(DI), Z8, Z9, Z10, Z11)
	BIAS(116(DI), Z12, Z13, Z14, Z15)

codes:
	STEP
	MULTIPLY((DX), Z0, Z1, Z2, Z3)
	MULTIPLY((DX)(R9*1), Z4, Z5, Z6, Z7)
	MULTIPLY((DX)(R9*2), Z8, Z9, Z10, Z11)
	MULTIPLY((DX)(R10*1), Z12, Z13, Z14, Z15)
	ADDQ $256, SI
	ADDQ $4, DX
	SUBQ $4, CX
	JNZ  codes
	MOVQ heads+64(FP), AX
	TERMS(AX)
	HEADS(0, Z0, Z1, Z2, Z3)
	HEADS(1, Z4, Z5, Z6, Z7)
	HEADS(2, Z8, Z9, Z10, Z11)
	HEADS(3, Z12, Z13, Z14, Z15)
	MOVQ signs+24(FP), CX
	ZERO(Z0, Z1, Z2, Z3)
	ZERO(Z4, Z5, Z6, Z7)
	ZERO(Z8, Z9, Z10, Z11)
	ZERO(Z12, Z13, Z14, Z15)

signs:
	STEP
	AGREE((DX), Z0, Z1, Z2, Z3)
	AGREE((DX)(R9*1), Z4, Z5, Z6, Z7)
	AGREE((DX)(R9*2), Z8, Z9, Z10, Z11)
	AGREE((DX)(R10*1), Z12, Z13, Z14, Z15)
	ADDQ $256, SI
	ADDQ $4, DX
	SUBQ $32, CX
	JNZ  signs
	MOVQ norms+72(FP), AX
	TERMS(AX)
	TESTS(0, Z0, Z1, Z2, Z3)
	TESTS(1, Z4, Z5, Z6, Z7)
	TESTS(2, Z8, Z9, Z10, Z11)
	TESTS(3, Z12, Z13, Z14, Z15)
	LEAQ (R8)(R9*4), R8
	ADDQ $128, DI
	ADDQ $32, R12
	ADDQ $1024, R13
	DECQ R11
	JNZ  group
	VZEROUPPER
	RET
