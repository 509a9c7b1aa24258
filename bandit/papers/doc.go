// Package papers holds published algorithms of maximum inner product search, plainly,
// one file an algorithm: BanditMIPS with its variants, Bucket_AE and Matching Pursuit
// (arXiv 2212.07551), and BoundedME (Liu, Wu and Mozafari, AAAI 2019).
//
// They ask Arms for rewards, one coordinate of some arms at a time, and say in an
// Outcome which arms are best and how many rewards were read. Package batch offers
// them as methods beside its own search.
package papers
