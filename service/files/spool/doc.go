// Package spool writes files so that they can be counted on: streamed, flushed
// with their folder, and gone again when something fails.
package spool
