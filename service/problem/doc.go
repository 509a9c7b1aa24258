// Package problem is how the service says that a request failed: RFC 9457
// problem details, of a stable kind, naming the offending field, its index and
// the limit.
package problem
