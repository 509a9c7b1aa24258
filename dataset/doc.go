// Package dataset reads and writes vectors and search results as files.
//
// A [Reader] streams the rows of a matrix as float32, whatever the file holds: [Open]
// makes one from a path, [OpenFiles] from several, such as those that [FindFiles] finds, [NewReader] from a stream, and
// [ReadAll] fills a [Matrix]. A [TypedReader] hands the rows on in the type that the file has. A
// [Result] is the answer to one query. Results are appended as JSONL, or as records of a
// spool from which the npz, Parquet, ivecs and ibin forms are assembled; [OpenResults] reads
// any of these, and those of other programs.
//
//	format       extension                rows             streams  notes
//	npy          .npy                     2-d              yes      Fortran order from files only; 1-d by Options.OneRow
//	npz          .npz                     one array        no       stored or deflated; or a sparse matrix of scipy, written out
//	vecs         .fvecs .bvecs .ivecs     int32 d, row     yes
//	bin          .fbin .f16bin .ibin .u8bin .i8bin  uint32 n, d  yes
//	JSONL        .jsonl .ndjson           array or object  yes      blank lines are skipped
//	CSV          .csv .tsv                numbers or array yes      a header of texts, or one that counts
//	Parquet      .parquet .pq             list column      no       plain, snappy, gzip, zstd
//	Arrow IPC    .arrow .arrows .ipc .feather  list column yes      stream and file
//	safetensors  .safetensors             one tensor       yes
//	IDX          .idx                     2 to 4 dims      yes      of MNIST, also as train-images-idx3-ubyte; the first dimension are the rows
//	TREC         .trec .run .qrels        answers alone    yes
//
// A format that streams may be compressed with gzip, by a further .gz.
//
// Answers are read from, with ids padded by -1:
//
//	npz      ids, I, labels, neighbors, indices or keys [m,k]; scores, D or distances [m,k]
//	         perhaps rows, scores64 [m,k], query_ids, pulls, exact, complete and guarantee [m]
//	npy      int32, int64, uint32 or uint64 ids [m,k]
//	ivecs    rows of ids
//	ibin     ground truth of the big-ann-benchmarks: ids [m,k], perhaps scores; or a range search
//	JSONL    {"query","ids","rows","scores",...}, as written by AppendJSONL
//	Parquet  columns query, ids, rows, scores, ...
//	JSON     the body of an answer of the service, {"answers_version":2,..,"results":[..]}
//	         responses of databases, such as Qdrant's {"result":..} (docs/uses.md lists them), or
//	         [[{"id":..,"score" or "distance":..},..],..], or lists of ids
//	tables   CSV, JSONL or Parquet with columns query, id, score or distance, perhaps rank:
//	         a row for each query and atom; each query's by rank or score
//	CSV      the columns of writeAnswersLong: a row for each query and vector, and count
//	TREC     .trec .run .qrels: lines of query, Q0, document, rank, score and a name, or judgements
//
// What ids of npz, JSONL and Parquet are depends on [AnswersVersion].
//
// Lists of ids, one a query, are read by [OpenLists] from sparse matrices of scipy (.npz), .jsonl
// and .ivecs; columns of numbers beside the vectors, such as limits of queries, by [OpenNumbers]
// from every format that has columns.
//
// What has two readings is an error that names both and the option that decides: which columns
// make the vector, whether there is a header, and the like. docs/files.md lists all decisions, and
// internal/sniffers has a file for each.
//
// Elements of float16, float32, float64, int8 and uint8 (bfloat16 in safetensors and npy, int32 in
// .ivecs and .ibin) are converted to float32, rounded to nearest. NaN, infinities, values
// beyond float32's range and integers that float32 cannot hold exactly are errors, in text as well.
//
// Files are not trusted: lengths, counts and dimensions are compared with the bytes that
// exist, and with a [Budget], before memory is allocated for them. Every error is an [*Error] that names file,
// row and column.
package dataset
