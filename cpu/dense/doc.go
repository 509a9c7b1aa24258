// Package dense answers queries by scans that score all rows that they allow: float32 products first, whose derived
// errors exclude the rows that cannot be among the best, then float64 scores of the others.
package dense
