// Package files keeps uploaded and produced files: contents in a folder, records in the
// database.
//
// A Store has its own folder and its own bucket. A file appears atomically: its bytes are
// streamed under a temporary name, flushed, given their name, and then recorded in one
// transaction. A note next to it repeats its record, so that a file that the database does
// not know, because the database was lost or is older, is adopted when the folder is opened.
// A file that is deleted is marked first. Files that are neither known nor described by a
// note are moved to the folder lost+found; only files with temporary names and marked ones
// are removed.
//
// Files never change. A file that is held, by a job that reads it, cannot be deleted.
package files
