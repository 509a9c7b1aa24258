// Package verify recomputes answers in float64, sharing no code with the search,
// and judges each by its certificate.
//
// An [Oracle] scores every atom against a query; [Response] holds all answers
// of a search against it. Programs whose answers come piece by piece, or from
// elsewhere, go through the queries with [Oracle.Each], hold each answer by a
// [Check] and count what was found in a [Tally].
//
// An answer is wrong if an atom it returns scores below the k-th best score of the
// atoms allowed, less epsilon and what float64 sums may be off by:
// (d+4) 2^-51 |q| max(|v|, |v_k|), for cosine (d+4) 2^-50. With Euclidean distance it is
// wrong if the squared distance of an atom, a float64 sum of squared differences,
// exceeds the k-th smallest, plus epsilon, by more than (3d+48) 2^-53 of itself. What that
// means is up to its guarantee:
//
//   - exact and certain, or a certificate that is marked exact: there may be none;
//   - probabilistic: each answer is wrong with probability at most delta, over the
//     seed of the collection. With a least score the promise is about each atom
//     that reaches it instead;
//   - heuristic: nothing is promised, wrong answers are only counted.
//
// An answer that a deadline cut short is held to its open bound: no atom that it
// lacks may score more than the bound and, if it has all the atoms asked for,
// than the worst of them plus epsilon.
//
// docs/guarantee.md defines all that.
package verify
