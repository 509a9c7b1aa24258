// Package offline answers files of searches offline, in the shape of the OpenAI Batch API: a
// batch names an uploaded file, is validated, answered in chunks in the order of its input,
// and delivers its answers as files.
//
// There are only a few types: a [Spec] is the request for a batch, a [Batch] is what clients
// see of it, and a [Manager] keeps batches in the database and answers a number of them at a
// time, the others in the order of their creation.
//
// # Input
//
// There are two kinds of input. A file of requests has one JSON object a line,
//
//	{"custom_id":"a","method":"POST","url":"/v1/collections/films/search","body":{"queries":[[..]],"k":10}}
//
// whose lines may name different collections and options; lines of a chunk with the same
// collection and options are searched together. A matrix (npy, fvecs, Parquet and the other
// formats of package dataset) has one query a row, and [Spec.Search] holds the options.
//
// A line that cannot be answered has its error in the error file, and only there; the others
// are answered. Validation finds a matrix that cannot be read to its end, an empty file and a
// repeated custom_id before anything is searched, and fails the batch. It takes 16 bytes of
// memory a line.
//
// # Output
//
// Answers are in the order of the input and do not depend on restarts of the server: they
// contain no times. Requests have lines in the format of the Batch API, with took_ms 0;
// matrices have results as package dataset writes them. The timeout of a request is ignored,
// because answers limited by time would differ from run to run: a batch has a completion
// window. When that ends, the remaining requests get errors with the code batch_expired, and
// the remaining rows are not in the output.
//
// # Durability
//
// A batch is acknowledged once its record is durable. Its chunks are answered by package
// jobs: bytes, flush, record. After the last chunk, or when the batch is cancelled or
// expires, its outputs are sealed: the record says so, and from then on they are only moved.
// Package files adopts each under a key made of the batch's id, so that a repetition finds
// the first file; then one transaction makes the batch final. After a crash a Manager
// continues with the last of these steps.
//
// # Priority of interactive searches
//
// A batch searches few queries at a time, and between two searches it waits for interactive
// ones (see [Manager.Interactive]), but never longer than its last search took. So it uses
// about half of the machine while there are interactive searches, all of it otherwise, and an
// interactive search waits for at most one search of a batch.
package offline
