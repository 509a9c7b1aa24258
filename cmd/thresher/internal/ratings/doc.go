// Package ratings reads who rated which film how well, in MovieLens's files, and
// says which of two films people prefer: those who rated both, and differently.
package ratings
