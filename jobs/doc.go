// Package jobs runs long computations over files of items: it reads the items in chunks,
// appends the answer of every chunk to output files, records durable progress, and resumes a
// killed or cancelled run.
//
// There are only a few types: a [Spec] names the files of one job, a [Source] yields its
// chunks in order, a [Work] function answers one chunk, and [Run] drives them. The caller
// defines items and answers.
//
// # Durability
//
// A chunk counts once three steps are done, in this order: its bytes are appended to every
// output, the outputs are flushed to the disk, and a record in the progress file counts the
// answered items, the length of every output and the caller's running totals. The file keeps
// the last two records, each with a checksum; a new one is written over the older and
// flushed. So a run that is killed at any time leaves outputs that are at least as long as
// recorded. Resuming truncates each to its recorded length and begins at the first item after
// the recorded ones, so that no item is answered twice, none is lost, and the order of the
// outputs is the order of the input.
//
// The same holds for a power failure if the disk keeps what it has acknowledged. Recorded
// bytes are assumed to be unchanged: an output edited in place without becoming shorter is
// not noticed.
//
// # One run at a time
//
// The progress file is locked while a job runs; a second run of the same job is refused with
// [ErrLocked]. Outputs are not locked, so two jobs must not share one.
package jobs
