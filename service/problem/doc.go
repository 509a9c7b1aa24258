// Package problem has the errors of requests: RFC 9457 problem details of a stable kind,
// which name the invalid field, its index and the limit.
package problem
