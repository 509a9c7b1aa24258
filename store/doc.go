// Package store keeps things in a data folder so that neither a crash nor a damaged disk loses more than
// the bytes it hit. It knows nothing of what they are.
//
// There are files that survive a crash (Disk, Writer), the notes beside them that say what they are
// (Disk.PutNote, Note), databases that are an index of them (Open, Check, Mend), and a folder for what
// nobody recognises (LostFound). For databases it has what all users of them need: buckets, sealed and
// numbered records (Seal, Sequence), idempotency keys (FindKey, PutKey, AdoptKey), and verdicts (Item).
//
// bbolt trusts the file that it maps into memory. A truncated or overwritten file makes it
// crash, loop forever or use all memory. Open therefore reads every page itself first and
// passes only sound files to bbolt; Mend makes another of what can be read of one that is not.
// Every record has a checksum (Seal), and whose it is can decode it (CheckRecord).
package store
