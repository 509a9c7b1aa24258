// Package catalog keeps named collections: durable, in versions, open for
// search.
//
// There are only a few types. A Catalog holds the collections of one folder; a
// Source says where rows come from; a Version is what searches run on, counted
// while it is used; IDs tell what a version's rows are called.
//
// # Versions
//
// A version never changes. Create, Append and Remove each make a new one in the
// background while the one before answers; searches finish on the version they
// began with. Versions of a name count up from 1 and are never used again, not
// even after the name was deleted and created anew. One collection makes one
// version at a time: what would change it meanwhile waits for its turn, for
// Options.Patience, and is then refused as a conflict that can be tried again. Different collections wait in line for the machine. A
// version is written as a whole, so that rows are best appended many at a time.
//
// The files of a version go when it is no longer the newest, no use of it is
// left and no pin is on it. Pins are durable, uses are not.
//
// # What is durable when
//
// A change is acknowledged once its rows are in files that were flushed, as was
// their folder, and one transaction of the database has recorded it. Beside the
// files lies a manifest that says the same as the record. A process that dies after
// that finds the record and builds again from those files; the same holds for the
// built version: files, manifest, record. So whatever instant a process dies at, all
// that was acknowledged is there.
//
// When the folder is opened, it and the database are compared (reconcile.go). A version
// that the database does not know, because it was lost or is an older one, or because
// the process died just before the record, is adopted by its manifest; what has
// none is moved to lost+found. What goes is known to be of no use: files under temporary
// names, versions marked as deleted, those that a whole newer one has replaced, and
// those recorded as failed.
//
// Rows read from a path under a root are not copied: the file is the operator's,
// and a build that finds it changed fails. A prepared collection is copied, for it is
// searched in place.
//
// # Memory
//
// Uploads are streamed to disk and builds through the new file's mapping. What
// counts against the budget are the bytes of every open version, mapped or not,
// its ids, and those that a build is going to map: about 6 bytes a coordinate, of
// which the rows as given are 4. Ids take 12 bytes a row as integers, and 12 and
// their text as strings; row numbers take none.
package catalog
