// Package catalog keeps named collections: durable, versioned, and open for search.
//
// There are only a few types. A Catalog holds the collections of one folder; a Source says
// where rows come from; a Version is a reference-counted version in use, which searches run
// on; IDs are the ids of a version's rows.
//
// # Versions
//
// A version never changes. Create, Append and Remove each build a new one in the background
// while the current one answers; a search finishes on the version it began with. Versions of
// a name are numbered from 1, and a number is never used again, even if the name was deleted
// and created anew. Only one version of a collection is built at a time: another change waits
// for up to Options.Patience and is then refused as a conflict that can be retried. Builds of
// different collections run one after the other. A version is written completely, so it is
// best to append many rows at a time.
//
// The files of a version are removed when it is no longer the newest, is not in use and has
// no pin. Pins are durable, uses are not.
//
// # Changes by rows
//
// A version can have a second form: its vectors are in a folder (package segments/folder) beside the files of the
// others, and Put, Append and Remove change it in place (changing.go). Put makes it, as a version of its own, whose first
// segment is the file of the one before. A Version in use is what the folder held at an instant; it goes from segment to
// segment, and Whole returns it as one collection. What is pinned is a copy, a version that is a file.
//
// # Durability
//
// A change is acknowledged once its rows are in flushed files in a flushed folder, and one
// transaction of the database has recorded it. A manifest next to the files repeats the
// record. After a crash the record is found and the version built again from those files; the
// same holds for the built version: files, manifest, record. So a crash at any time loses
// nothing that was acknowledged.
//
// When the folder is opened, it is compared with the database (reconcile.go). A version that
// the database does not know, because the database was lost or is older, or because the
// process died just before recording it, is adopted by its manifest; files without a manifest
// are moved to lost+found. Only files known to be useless are removed: those with temporary
// names, of versions marked as deleted, of versions that a complete newer one has replaced,
// and of versions recorded as failed.
//
// Rows read from a path under a root are not copied: the file is the operator's, and a build
// that finds it changed fails. A prepared collection is copied, because it is searched in
// place.
//
// # Memory
//
// Uploads are streamed to disk, and builds write through the new file's mapping. The budget
// counts the bytes of every open version, mapped or not, its ids, and the bytes that a build
// is going to map: about 6 bytes a coordinate, 4 of which are the rows as given. Integer ids
// take 12 bytes a row, string ids 12 and their text; row numbers take none.
package catalog
