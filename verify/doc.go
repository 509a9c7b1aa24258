// Package verify recomputes answers in float64 with code of its own and judges each by its
// certificate.
//
// An [Oracle] scores every atom for a query; [Response] checks all answers of a search
// against it. Programs whose answers arrive piece by piece, or from elsewhere, iterate over
// the queries with [Oracle.Each], check each answer with a [Check] and count the results in a
// [Tally].
//
// [Recall] compares answers of any origin, without certificates, with the k best atoms.
//
// An answer is wrong if an atom it returns scores below the k-th best score of the allowed
// atoms, less epsilon and the rounding error of float64 sums: (d+4) 2^-51 |q| max(|v|, |v_k|),
// for cosine (d+4) 2^-50. For Euclidean distance it is wrong if the squared distance of an
// atom, a float64 sum of squared differences, exceeds the k-th smallest, plus epsilon, by
// more than (3d+48) 2^-53 of itself. Its guarantee says whether that is permitted:
//
//   - exact and certain, or a certificate marked exact: never;
//   - probabilistic: each answer is wrong with probability at most delta, over the seed of
//     the collection. With a least score the promise is about each atom that reaches it;
//   - heuristic: nothing is promised, wrong answers are only counted.
//
// An answer that a deadline cut short is checked against its open bound: no atom that it
// lacks may score more than the bound and, if it is complete, than its worst atom plus
// epsilon.
//
// docs/guarantee.md defines all that.
package verify
