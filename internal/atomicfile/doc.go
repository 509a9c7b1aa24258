// Package atomicfile writes files that appear whole or not at all: beside their place,
// under another name, until Commit flushes them and gives them theirs.
package atomicfile
