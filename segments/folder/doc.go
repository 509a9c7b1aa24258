// Package folder keeps vectors that change in a folder on disk, through crashes: a segments.Set, whose writes are in
// a log before they are acknowledged.
//
// A folder holds
//
//	manifest.json     metric, dimension, type of the vectors, segments, and the first log that is needed
//	N.thresher        a segment, as a file of collection; its ids are beside it, as dataset.SavedIDs reads them
//	                  and so are its columns, as columns.Saved reads them
//	N.numbers         the numbers that the Set knows those rows by, if their ids are texts
//	N-M.deleted       the rows of segment N that are deleted, M of them (RoaringBitmap/roaring)
//	N.log             writes since the segments were made, in order
//
// A write is in the log and flushed (fsync) before it is acknowledged and before a search sees it; writers that come
// together share one flush. A seal or a merge begins a log, writes a segment, then the manifest, which is replaced by
// rename, and then removes what that does not name. So whenever a process is killed, the manifest and the logs from the
// one that it names on hold what was acknowledged, and opening the folder replays those logs. Replaying what a segment has
// already changes nothing.
//
// One process writes a folder, which it locks. Others may open it to read beside it: they see what the manifest and the logs had when
// they opened it, of which the last writes may not be acknowledged yet.
package folder
