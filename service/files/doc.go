// Package files keeps uploaded and produced files: contents in a folder, records
// in the database.
//
// A Store is opened on its own folder and its own bucket. A file appears whole or
// not at all: its bytes are streamed under a temporary name, flushed, given their
// name, and then recorded in one transaction. Beside it lies a note of all that its
// record says, so that a file that the database does not know, because that was lost or is
// an older one, is taken in again when the folder is opened. A file that is deleted
// is marked first. What is neither known nor says what it is is moved to the folder
// lost+found; only files under temporary names and those marked are removed.
//
// Files never change. A file that is held, by a job that reads it, cannot be deleted.
package files
