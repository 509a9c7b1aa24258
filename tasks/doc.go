// Package tasks has the verbs as functions over streams. [Search] answers queries, [Truth] so that no
// answer can be wrong; [Recall] and [Certify] compare answers of any origin with proven ones, [Verify]
// recomputes answers and checks them against their certificates; [Pursuit] writes signals as sums of vectors; [Graph] and [Pairs] compare vectors with
// each other. Each returns a summary whose JSON names are those of every door: the command line, the
// HTTP service, the worker and package thresher, which only translate.
//
// A search is answered in parts that memory allows ([PartLimits], [DivideRequest]), each by a [SearchRun]: a deadline
// leaves the best so far, a cancelled context nothing.
//
// A run that can be resumed keeps counts ([SearchCounts], [CertifyCounts], [PairCounts]) or a log of what
// was found ([GraphSearch]), and has the summary of a run that was never interrupted.
//
// What a set of answers promises is worded once, by [Promises], and what the queries of a
// request ask for is decoded into one type, [Goals], or read query by query from files ([GoalReader]). [KLimits] says which k a
// query gets.
//
// A stream is an iterator over parts, consecutive queries with their answers, so that no more
// than a part is held at a time. Contexts are checked between answers.
package tasks
