package json

import (
	"encoding/json"
	"errors"

	"github.com/bytedance/sonic"
	experiment "github.com/go-json-experiment/json"
	goccy "github.com/goccy/go-json"
	jsoniter "github.com/json-iterator/go"
	"github.com/minio/simdjson-go"
	segmentio "github.com/segmentio/encoding/json"
	"github.com/valyala/fastjson"
)

// search is the body as libraries that fill structs see it.
type search struct {
	Queries [][]float32 `json:"queries"`
	K       int         `json:"k"`
	Delta   float64     `json:"delta"`
}

// contestant decodes a body into the values of its queries, row-major.
type contestant struct {
	name   string
	decode func(body []byte) ([]float32, error)
}

// contestants lists the libraries; those that this build or processor lacks are
// missing.
func contestants() []contestant {
	all := []contestant{
		own(),
		{"encoding/json", byStruct(json.Unmarshal)},
		{"go-json-experiment", byStruct(func(b []byte, v any) error { return experiment.Unmarshal(b, v) })},
		{"sonic", byStruct(sonic.Unmarshal)},
		{"sonic-fastest", byStruct(sonic.ConfigFastest.Unmarshal)},
		{"goccy", byStruct(goccy.Unmarshal)},
		{"jsoniter", byStruct(jsoniter.ConfigCompatibleWithStandardLibrary.Unmarshal)},
		{"jsoniter-fastest", byStruct(jsoniter.ConfigFastest.Unmarshal)},
		{"segmentio", byStruct(segmentio.Unmarshal)},
		{"fastjson", byFastjson()},
	}
	if simdjson.SupportedCPU() {
		all = append(all, contestant{"simdjson-go", bySimdjson()})
	}
	return append(all, more()...)
}

func byStruct(unmarshal func([]byte, any) error) func([]byte) ([]float32, error) {
	return func(body []byte) ([]float32, error) {
		var s search
		if err := unmarshal(body, &s); err != nil {
			return nil, err
		}
		var flat []float32
		for _, q := range s.Queries {
			if flat == nil {
				flat = make([]float32, 0, len(s.Queries)*len(q))
			}
			flat = append(flat, q...)
		}
		return flat, nil
	}
}

// byFastjson keeps its parser, as its documentation advises.
func byFastjson() func([]byte) ([]float32, error) {
	var p fastjson.Parser
	return func(body []byte) ([]float32, error) {
		v, err := p.ParseBytes(body)
		if err != nil {
			return nil, err
		}
		var flat []float32
		rows := v.GetArray("queries")
		for _, row := range rows {
			values := row.GetArray()
			if flat == nil {
				flat = make([]float32, 0, len(rows)*len(values))
			}
			for _, x := range values {
				f, err := x.Float64()
				if err != nil {
					return nil, err
				}
				flat = append(flat, float32(f))
			}
		}
		return flat, nil
	}
}

// bySimdjson keeps its tape, as its documentation advises.
func bySimdjson() func([]byte) ([]float32, error) {
	var tape *simdjson.ParsedJson
	return func(body []byte) ([]float32, error) {
		var err error
		if tape, err = simdjson.Parse(body, tape, simdjson.WithCopyStrings(false)); err != nil {
			return nil, err
		}
		root := tape.Iter()
		root.Advance()
		_, top, err := root.Root(nil)
		if err != nil {
			return nil, err
		}
		object, err := top.Object(nil)
		if err != nil {
			return nil, err
		}
		queries := object.FindKey("queries", nil)
		if queries == nil {
			return nil, errors.New("no queries")
		}
		rows, err := queries.Iter.Array(nil)
		if err != nil {
			return nil, err
		}
		var flat, row []float64
		var fault error
		rows.ForEach(func(i simdjson.Iter) {
			a, err := i.Array(nil)
			if err == nil {
				row, err = a.AsFloat()
			}
			if err != nil {
				fault = err
			}
			flat = append(flat, row...)
		})
		out := make([]float32, len(flat))
		for i, x := range flat {
			out[i] = float32(x)
		}
		return out, fault
	}
}
