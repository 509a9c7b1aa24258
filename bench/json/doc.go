// Package json measures JSON decoders on the typical content of a search's body, arrays of
// float32. It is a separate module, so that libraries used only for comparison do not become
// dependencies of the product.
package json
