// Package db has what the service's stores share: opening, checking and mending bbolt
// databases; numbering records, listing them page by page and checking their format; and
// remembering idempotency keys.
//
// bbolt trusts the file that it maps into memory. A truncated or overwritten file makes it
// crash, loop forever or use all memory. Open therefore reads every page itself first and
// passes only sound files to bbolt; Mend makes another of what can be read of one that is not.
// Every record has a checksum (Seal), and whose it is can decode it (CheckRecord).
package db
