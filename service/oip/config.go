package oip

import "thresher/service/wire"

// ModelConfig is the configuration of a collection as a model: members of the message of that
// name in Triton's model_config.proto, in its JSON form.
type ModelConfig struct {
	Name          string        `json:"name"`
	Platform      string        `json:"platform"`
	Backend       string        `json:"backend"`
	VersionPolicy VersionPolicy `json:"version_policy"`
	// MaxBatchSize is 0: the shapes below are complete, and the first dimension of queries is
	// their number.
	MaxBatchSize int            `json:"max_batch_size"`
	Input        []ConfigInput  `json:"input"`
	Output       []ConfigOutput `json:"output"`
}

// VersionPolicy says that the newest version is served.
type VersionPolicy struct {
	Latest struct {
		NumVersions int `json:"num_versions"`
	} `json:"latest"`
}

// ConfigInput is an input; Dims has -1 for any size.
type ConfigInput struct {
	Name     string  `json:"name"`
	DataType string  `json:"data_type"`
	Format   string  `json:"format"`
	Dims     []int64 `json:"dims"`
	Optional bool    `json:"optional"`
}

// ConfigOutput is an output.
type ConfigOutput struct {
	Name     string  `json:"name"`
	DataType string  `json:"data_type"`
	Dims     []int64 `json:"dims"`
}

// NewModelConfig describes a collection of dimension dim.
func NewModelConfig(name string, dim int, ids wire.Naming) ModelConfig {
	m := NewModel(name, nil, dim, ids)
	c := ModelConfig{Name: name, Platform: m.Platform, Backend: m.Platform}
	c.VersionPolicy.Latest.NumVersions = 1
	for _, t := range m.Inputs {
		c.Input = append(c.Input, ConfigInput{t.Name, configType(t.Datatype), "FORMAT_NONE", t.Shape, t.Name != "queries"})
	}
	for _, t := range m.Outputs {
		c.Output = append(c.Output, ConfigOutput{t.Name, configType(t.Datatype), t.Shape})
	}
	return c
}

// configType returns the name of a datatype in configurations.
func configType(datatype string) string {
	if datatype == "BYTES" {
		return "TYPE_STRING"
	}
	return "TYPE_" + datatype
}
