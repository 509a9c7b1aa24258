// Package backup copies the data folder of a server, while it serves or not, so that the copy is
// the folder's state at one instant, and restores such copies.
//
// There are only a few types: a [Source] is a data folder whose databases this process has open,
// a [Runner] makes one backup after the other of it, and [Restore] makes a data folder of a backup.
//
// # One instant
//
// Records name files, so a copy of the databases needs the files that they name. A backup begins
// a writing transaction, which keeps all others from changing records, then reading ones; while
// it lasts, every file that a record names gets a second name in the folder .backup of the data
// folder, by a hard link. That takes milliseconds, and nothing but changes waits for it. From then
// on deletions do not matter: the databases are copied through the reading transactions, first to the
// same folder, because a database that has to grow waits for them, and the files under their second
// names. Where the file system has no hard links the files are copied
// instead, and changes wait for that.
//
// Files of records are never written to once they have their name, except for those of unfinished
// offline jobs. Their progress file is copied first and their outputs, which only grow, afterwards:
// a job continues from what its progress file says, and cuts the outputs back to it.
//
// # What a backup shares with the one before
//
// A hard link to a file of the data folder would protect it from deletion, and not from damage in
// place. So files are copied, unless the newest backup of the same folder has a file of the same
// name, length and time, whose bytes are compared and found equal: then it gets another name in the
// new backup. A file that was damaged in an older backup is therefore never linked again. A file that
// is appended to, such as the transcript of a tournament, is copied if it has grown since, and shared
// if it has not: nothing is ever written to a file of a backup.
//
// # What looks like a backup
//
// A backup is written to a folder whose name begins with a dot, flushed, checked, described by
// backup.json in it, and renamed; it is removed the other way round. So a backup or a removal that
// was killed leaves nothing that looks like a backup, and the next backup removes what it left.
package backup
