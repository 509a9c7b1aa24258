// Package emulator lets tests ask kernels/emu, where it stands in for the CUDA
// driver, for what the driver's own calls do not tell: what is alive, what was
// run, how often somebody waited. Where there is a real driver it says so.
package emulator
