//go:build race

package main

// raced says that memory includes what the race detector notes.
const raced = true
