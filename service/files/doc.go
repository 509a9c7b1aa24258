// Package files keeps uploaded and produced files: contents in a folder, records
// in the database.
//
// A Store is opened on its own folder and its own bucket. A file appears whole or
// not at all: its bytes are streamed under a temporary name, flushed, given their
// name, and then recorded in one transaction. What a process that died left
// behind is removed when the folder is opened again.
//
// Files never change. A file that is held, by a job that reads it, cannot be deleted.
package files
