// Package papers has reference implementations of published algorithms of maximum inner
// product search, one file per algorithm: BanditMIPS with its variants, Bucket_AE and
// Matching Pursuit (arXiv 2212.07551), and BoundedME (Liu, Wu and Mozafari, AAAI 2019).
//
// They read rewards from Arms, one coordinate of several arms at a time. An Outcome states
// which arms are best and how many rewards were read. Package batch offers all of them but
// Matching Pursuit as methods of a search.
package papers
