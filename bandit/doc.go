// Package bandit holds the decision rules of elimination as pure functions, one file
// a rule. Package papers has published algorithms.
//
// Vectors to be searched are atoms, and every atom is an arm; reading one more
// coordinate of an arm is a pull, and after some pulls a look compares the upper
// bounds of the remaining arms with a threshold. A rule computes, from plain
// numbers, how large an arm's score can still be. It has no state and no access to
// vectors or hardware, so that backends can compute its terms in their kernels.
//
// The rules of the search:
//
//   - student.go: the law of <x,q> given the atom's code x under a uniformly
//     random rotation, and its quantile;
//   - linear.go: the tangent of that law, an estimate plus a radius, which the
//     search uses (rule Linear);
//   - rounding.go: a-priori bounds of the rounding errors of float32 arithmetic;
//   - martingale.go: the time-uniform bound of `strict` over a random order of
//     raw coordinates (rule Martingale);
//   - meanradius.go: the confidence radius of a running mean (rule MeanRadius), of
//     BanditMIPS.
//
// The first three files share one decision: x is the coded prefix itself. The law
// holds for any x that is a function of the atom's rotated rest o alone, and the
// int8 values of o's first coordinates are such a function. So the rounding of an
// atom's rest costs no slack: A, |x|^2 and H contain it. A look adds only the
// query's rounding |x~||w - w^|, and the rounding of both heads, which no law
// covers.
//
// docs/guarantee.md has the proofs.
package bandit
