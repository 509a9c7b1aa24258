// Package durable writes files that survive a crash: streamed, flushed together with their
// folder, and removed again when something fails.
package durable
