// Package db has what the service's stores share: opening, checking and salvaging bbolt
// databases; numbering records, listing them page by page and checking their format; and
// remembering idempotency keys.
//
// bbolt trusts the file that it maps into memory. A truncated or overwritten file makes it
// crash, loop forever or use all memory. Open therefore reads every page itself first and
// passes only sound files to bbolt; Salvage copies what can be read of the others.
package db
