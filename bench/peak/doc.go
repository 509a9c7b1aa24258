// Package peak measures the peak rates of one core, for the roofline of bench: independent
// products of 8-bit and float32 numbers, and reads from each level of memory. It consists of
// benchmarks only.
package peak
