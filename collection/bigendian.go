//go:build armbe || arm64be || mips || mips64 || mips64p32 || ppc || ppc64 || s390 || s390x || sparc || sparc64

package collection

// Collection files are little-endian and mapped directly.
var _ = thresher_runs_on_little_endian_processors_only
