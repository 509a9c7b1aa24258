// Package bandit holds the decision rules of elimination as pure functions, one file
// a rule. Package bandit/papers has published algorithms.
//
// Vectors to be searched are atoms, and every atom is an arm; looking at one
// more coordinate of an arm is a pull, and after some pulls a look tests the
// arms that are left against a threshold. A rule says, from plain numbers, how
// large an arm's score can still be; it keeps no state, touches no vectors and
// knows nothing of hardware, so that a backend can compile its terms into
// kernels.
//
// The rules of the search:
//
//   - student.go: the law of <x,q> given the atom's code x under a uniformly
//     random rotation, and its quantile;
//   - linear.go: the tangent of that law, an estimate plus a radius, which is
//     what runs (rule Linear);
//   - rounding.go: a-priori bounds of what float32 arithmetic loses;
//   - martingale.go: the time-uniform bound of `strict` over a random order of
//     raw coordinates (rule Martingale);
//   - meanradius.go: the confidence radius of a running mean (rule MeanRadius), of
//     BanditMIPS.
//
// One decision binds the first three files: the coded prefix itself is x. The
// law holds for any x that is a function of the rotated rest o of the atom
// alone, and the int8 values of o's first coordinates, read as numbers, are such
// a function. So rounding an atom's rest costs no slack: it is inside A, |x|^2
// and H. Only the query's rounding |x~||w - w^| is charged on a look, and both
// sides' rounding of the head, which no law covers.
//
// docs/guarantee.md has the proofs.
package bandit
