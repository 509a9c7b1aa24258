// Package database opens the service's bbolt databases. bbolt believes what it maps to
// memory: a file that was cut, or overwritten in the middle, makes it crash, run for ever
// or take all memory. Open therefore reads every page by itself first and gives bbolt
// only what is whole; Salvage copies what can still be read of the others.
package database
