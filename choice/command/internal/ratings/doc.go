// Package ratings reads people's ratings of films in MovieLens's formats, and says which of
// two films people prefer: those who rated both, and differently.
package ratings
