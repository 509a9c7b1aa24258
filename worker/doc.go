// Package worker searches for the program that started it: it answers calls over a socket or a
// pair of pipes, keeps collections by number, and takes arrays from memory that both programs
// map. docs/worker.md is the protocol; package thresher of Python is a client.
//
// What arrives is not trusted: every length, offset, name, type and shape is checked, and an
// error names the argument. Only memory that cannot shrink is mapped, and files that the
// client names as the rows of a collection.
package worker
