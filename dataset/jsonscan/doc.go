// Package jsonscan parses JSON (RFC 8259) in place, for texts that are mostly arrays of
// numbers: these become float32 directly; everything else is validated and skipped.
// Positions are indexes into the text, and errors count bytes from its start.
package jsonscan
