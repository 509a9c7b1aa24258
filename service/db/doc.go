// Package db is what the service's stores share of their databases, which are bbolt's:
// how a file is opened, checked and salvaged; how
// records are numbered, listed page by page and told apart by their format; and how
// idempotency keys are remembered.
//
// bbolt trusts the file that it maps to memory. One that was cut short or overwritten makes
// it crash, loop for ever or take all memory. Open therefore reads every page itself first
// and gives bbolt only files that are sound; Salvage copies what can be read of the others.
package db
