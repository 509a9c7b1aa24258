// Package jsonscan reads JSON (RFC 8259) where it lies, made for texts that are
// mostly arrays of numbers: those become float32 at once, the rest is walked,
// checked and skipped. Positions are indexes into the text, and errors count
// bytes from its start.
package jsonscan
