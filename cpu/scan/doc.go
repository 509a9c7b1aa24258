// Package scan takes first looks: it reads the codes of all atoms that a query may return, panel by panel, drops those
// whose upper bound is below the threshold, and lists the others. Candidates among them are scored at once and raise
// the threshold.
package scan
