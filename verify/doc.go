// Package verify recomputes answers in float64, with code that the search does not use, and
// checks whether each keeps what its certificate promises.
//
// An [Oracle] scores every atom for a query; [Response] checks all answers of a search
// against it. Programs that get answers one by one, or from a file, iterate over the queries
// with [Oracle.Each], check each answer with a [Check] and count the results in a [Tally].
//
// [Recall] compares answers of any origin, without certificates, with the k best atoms; [Reasons] finds out why
// they lack some.
//
// An answer is wrong if one of the k best of the allowed atoms, i, is missing, and an atom v that
// it returns scores less than
//
//	(score of i) - epsilon - (d+4) 2^-51 |q| max(|v|, |v_i|)
//
// For cosine the last term, which bounds the rounding of float64 sums, is (d+4) 2^-50. With
// Euclidean distance an answer is wrong if the squared distance of v, a float64 sum of squared
// differences, exceeds that of i plus epsilon by more than (3d+48) 2^-53 of itself. So an answer
// that is right has at each rank the score of the true rank, less epsilon ([CriterionMissing]). Answers
// of boundedme are wrong only if v scores less than the k-th best by as much ([CriterionThreshold]). The
// guarantee in the answer's certificate says how often an answer may be wrong:
//
//   - exact and certain, or a certificate marked exact: never;
//   - probabilistic: each answer is wrong with probability at most delta, over the seed of
//     the collection. With a least score the promise is about each atom that reaches it;
//   - heuristic: nothing is promised, wrong answers are only counted.
//
// An answer that was cut short by a deadline is wrong only if an atom that is missing from it
// scores more than its open bound. If it has k atoms, the missing atom must also score more
// than one of them plus epsilon. It is malformed without an open bound.
//
// [Bar] lowers what certificates may grant. Answers of other programs may state their scores on
// any usual scale, and on one that is not known: [Others].
//
// docs/guarantee.md defines these terms.
package verify
