package oip

import (
	"strconv"

	"thresher/service/wire"
)

// ServerMetadata is the body of GET /v2.
type ServerMetadata struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Extensions []string `json:"extensions"`
}

// Live is the body of GET /v2/health/live.
type Live struct {
	Live bool `json:"live"`
}

// Ready is the body of GET /v2/health/ready, and with the model's name of GET
// /v2/models/{name}/ready.
type Ready struct {
	Name  string `json:"name,omitempty"`
	Ready bool   `json:"ready"`
}

// Model is the body of GET /v2/models/{name}.
type Model struct {
	Name     string   `json:"name"`
	Versions []string `json:"versions"`
	Platform string   `json:"platform"`
	Inputs   []Tensor `json:"inputs"`
	Outputs  []Tensor `json:"outputs"`
}

// Tensor describes an input or output; -1 means any size.
type Tensor struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

// NewServerMetadata describes this server.
func NewServerMetadata(name, version string) ServerMetadata {
	return ServerMetadata{Name: name, Version: version, Extensions: []string{"binary_tensor_data", "model_configuration", "statistics"}}
}

// NewModel describes a collection of dimension dim with these current versions.
func NewModel(name string, versions []int64, dim int, ids wire.Naming) Model {
	m := Model{
		Name: name, Versions: []string{}, Platform: "thresher",
		Inputs: inputs(dim, ids.Textual()),
	}
	for _, v := range versions {
		m.Versions = append(m.Versions, strconv.FormatInt(v, 10))
	}
	for _, o := range outputs() {
		if o.name == names && !ids.Textual() {
			continue
		}
		shape := []int64{-1}
		if o.wide {
			shape = append(shape, -1)
		}
		m.Outputs = append(m.Outputs, Tensor{o.name, o.datatype, shape})
	}
	return m
}
