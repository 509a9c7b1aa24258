package json

import "thresher/dataset/jsonscan"

const ours = "thresher"

// own is the way that service/wire takes through the queries, without the checks of
// the other fields.
func own() contestant {
	return contestant{ours, func(body []byte) (flat []float32, err error) {
		_, err = jsonscan.Fields(body, 0, func(key []byte, at int) (int, error) {
			if string(key) != "queries" {
				return jsonscan.Value(body, at)
			}
			flat = make([]float32, 0, rows*dim)
			return jsonscan.Elements(body, at, func(_, at int) (next int, err error) {
				flat, next, err = jsonscan.Floats(flat, body, at)
				return next, err
			})
		})
		return flat, err
	}}
}
