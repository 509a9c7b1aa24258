// Package atomicfile writes files that appear completely or not at all: under a temporary name
// until Commit flushes and renames them.
package atomicfile
