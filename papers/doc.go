// Package papers has reference implementations of published algorithms of maximum inner
// product search, one file per algorithm:
//
//   - of arXiv 2212.07551: BanditMIPS, its variants BanditMIPSAlpha (coordinates by the
//     query's squares) and BanditMIPSBeta (coordinates by weights), WarmStart, which reads some
//     coordinates once for all queries, BucketAE, and Matching Pursuit (Pursuit);
//   - of Liu, Wu and Mozafari (AAAI 2019): BoundedME, with the union bound as published and
//     as its guarantee needs it (BoundedMEUnion).
//
// They read rewards from Arms, one coordinate of several arms at a time. An Outcome states
// which arms are best and how many rewards were read. Package batch offers all of them but
// Matching Pursuit as methods of a search, and no other package imports this one.
package papers
