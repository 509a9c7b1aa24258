// Package offline answers files of searches offline, in the shape of the OpenAI
// Batch API: a batch names an uploaded file, is validated, answered in chunks in
// the order of its input, and hands its answers over as files.
//
// There are only a few types: a [Spec] says what is wanted, a [Batch] is what
// clients see of it, and a [Manager] keeps batches in the database and answers
// them, so many at a time, the others in the order of their creation.
//
// # Input
//
// Two kinds of file are answered. A file of requests has one JSON object a line,
//
//	{"custom_id":"a","method":"POST","url":"/v1/collections/films/search","body":{"queries":[[..]],"k":10}}
//
// whose lines may name different collections and options; lines of a chunk that
// agree in both are searched together. A matrix (npy, fvecs, Parquet and what else
// package dataset reads) has one query a row, and [Spec.Search] holds the options.
//
// A line that cannot be answered has its error in the error file, and only there;
// the others are answered. A matrix that cannot be read to its end, an empty file
// and a custom_id that occurs twice are found by validation, before anything is
// searched, and fail the batch. Finding them takes 16 bytes of memory a line.
//
// # Output
//
// Answers are in the order of the input, and do not depend on how often the server
// was killed meanwhile: nothing in them tells the time. Requests have lines of the
// Batch API's form, with took_ms 0; matrices have results as package dataset writes
// them. The timeout of a request is not heeded, for what is found in a time differs from
// run to run: a batch has a completion window. When that ends, requests that are left
// have errors of the code batch_expired, and rows that are left are not in the output.
//
// # What is durable when
//
// A batch is acknowledged once its record is durable. Its chunks are answered by
// package jobs: bytes, flush, record. When the last is, or when the batch is
// cancelled or expired, its outputs are sealed: the record says so, and from then on
// they only move. Package files takes each over under a key made of the batch's id,
// so that doing it again finds the first, and then one transaction makes the batch
// final. Opened again after a crash, a Manager goes on from the last of these steps.
//
// # Beside interactive searches
//
// A batch searches few queries at a time, and between two searches it waits for
// interactive ones (see [Manager.Interactive]), though never longer than its last
// search took. So it keeps about half of the machine while others want it, all of it
// otherwise, and nobody waits for more than one such search.
package offline
