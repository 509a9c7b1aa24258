// Package duel finds the best of K alternatives, or their order, by comparing them two at a time:
// the dueling bandits problem of Yue, Broder, Kleinberg and Joachims (COLT 2009).
//
// A Tournament issues duels and takes their results. In between it can be saved, as JSON
// or in a binary form, and continues from there exactly as it would have. Its Design
// selects the algorithm and with it the guarantee:
//
//   - Anytime, the default: bets on each arm's losses, which may be looked at after every
//     duel and assume only that some arm is unbeaten
//   - Beat-the-Mean (Yue and Joachims, ICML 2011), online and PAC
//   - Interleaved Filter 1 and 2 (Yue, Broder, Kleinberg, Joachims, JCSS 2012)
//   - Double Thompson Sampling, with the tie-breaking of D-TS+ (Wu and Liu,
//     arXiv 1604.07101)
//   - Knockout (Falahatgar, Orlitsky, Pichapati, Suresh, arXiv 1705.05366)
//   - Rank: all arms in order or the top ones, by bets on pairs, assuming an order
//   - Copeland: the arms that beat the most others, assuming nothing
//
// BradleyTerry estimates strengths from counts. A Simulation plays whole tournaments against known Preferences. For Beat-the-Mean it
// skips duels that cannot eliminate an arm; the outcomes have the same distribution.
//
// Arms are numbered from 0 to K-1. P(b > b') = 1/2 + eps(b, b') is the probability that b
// wins against b'. choice/docs/duels.md has assumptions and proofs.
package duel
