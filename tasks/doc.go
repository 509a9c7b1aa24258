// Package tasks has the verbs about answers as functions over streams: [Recall] and [Certify]
// compare answers of any origin with proven ones, [Verify] recomputes answers and checks them
// against their certificates. Each returns a summary whose JSON names are those of every door:
// the command line, the HTTP service and the worker, which only translate.
//
// What a set of answers promises is worded once, by [Promises], and what the queries of a
// request ask for is decoded into one type, [Goals].
//
// A stream is an iterator over parts, consecutive queries with their answers, so that no more
// than a part is held at a time. Contexts are checked between answers.
package tasks
