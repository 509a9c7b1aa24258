// Package columns keeps typed columns that describe the rows of a set of vectors, and selects rows by expressions over
// them, such as year >= 1999 and lang in ('go', 'rust').
//
// An expression is read from one of two languages, Parse from that of the command line and ParseJSON from Qdrant's
// filters, into one tree (Expr). A Table checks it against its columns and returns the rows as a bitmap (Select).
//
// There are two truth values. Null, and NaN among floats, matches no comparison, neither = nor !=, and not in no more
// than in; is null matches null. not turns what stands after it around, so that not (year = 1999) selects rows without
// a year, and year != 1999 does not.
package columns
