// Package json measures decoders of JSON on what a search's body is made of:
// arrays of float32. It is a module of its own, so that libraries that are only
// compared do not enter the product's.
package json
