// Package segments searches vectors that change: a Set is a list of immutable segments, each a collection with
// codes, of which deletions hide rows, and a tail of rows that have no codes yet.
//
// There are five types. A Set takes writes: Upsert, Delete. A Snapshot is what it held at one instant; searches
// read one and are not disturbed by writes. A Segment is a collection with an id for each row. An Upkeep is a
// seal or a merge on its way: segments that become one, with codes and without what was deleted. A Table
// numbers the ids that a user gives vectors.
//
// Ids are whole numbers from 0 on. Whoever has other ids has a Table of them. Equal scores are ordered by id, and so an
// answer is a function of which vectors are there under which ids: it does not depend on the order in which
// they were written, on the segments, or on merges.
package segments
