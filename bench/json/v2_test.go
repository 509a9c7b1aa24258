//go:build goexperiment.jsonv2

package json

import v2 "encoding/json/v2"

// more is encoding/json/v2, which go1.26 has behind GOEXPERIMENT=jsonv2.
func more() []contestant {
	return []contestant{{"encoding/json/v2", byStruct(func(b []byte, v any) error { return v2.Unmarshal(b, v) })}}
}
