// Package peak measures what one core can do at most, for the roofline of
// bench: products of 8-bit and float32 numbers that wait for nothing, and reads
// from each level of memory. Its benchmarks are all there is to it.
package peak
