// Package duel finds the best of K alternatives by comparing them two at a time:
// the dueling bandits problem of Yue, Broder, Kleinberg and Joachims (COLT 2009).
//
// A Tournament is asked for duels and told who won them; in between it can be
// saved as JSON or as bytes, and goes on from there exactly as it would have.
// Its Design says which algorithm decides, and what is promised:
//
//   - Beat-the-Mean (Yue and Joachims, ICML 2011), online and PAC
//   - Interleaved Filter 1 and 2 (Yue, Broder, Kleinberg, Joachims, JCSS 2012)
//   - Double Thompson Sampling, with the tie-breaking of D-TS+ (Wu and Liu,
//     arXiv 1604.07101)
//   - Knockout (Falahatgar, Orlitsky, Pichapati, Suresh, arXiv 1705.05366)
//
// A Simulation plays whole tournaments against known Preferences, Beat-the-Mean
// with an exact skip-ahead over the duels that cannot eliminate anybody.
//
// An arm is a number from 0 to K-1; P(b > b') = 1/2 + eps(b, b') is the chance
// that b wins against b'. docs/duels.md has the assumptions and the proofs.
package duel
