package batch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"thresher/papers"
)

// Published are the options by which the published methods can be run as their papers, and those who
// compare with them, do. A zero member is the method's default, and the zero value changes no answer.
// Check refuses an option that the method does not have; docs/guarantee.md says what each does to what is
// guaranteed.
type Published struct {
	// Sigma is what radii rest on, of banditmips, -alpha, -beta and bucket-ae.
	Sigma Sigma `json:"sigma,omitzero"`
	// Beta >= 0 is the exponent of banditmips-beta: coordinate j is drawn with a probability proportional
	// to |q_j|^(2 Beta). nil is 1.
	Beta *float64 `json:"beta,omitempty"`
	// Sampling says how banditmips and bucket-ae draw coordinates. "" is with replacement, except for
	// banditmips by inner product or cosine.
	Sampling Sampling `json:"sampling,omitempty"`
	// Bins >= 1 is how many vectors a bin of bucket-ae has; 0 is the paper's 30.
	Bins int `json:"bins,omitempty"`
	// Union says how boundedme divides a round's failure probability; "" is Corrected.
	Union Union `json:"union,omitempty"`
	// Warm >= 0 is how many random coordinates banditmips reads once, of all vectors, for all queries that
	// are answered together; they begin with these. At most as many as there are dimensions, and 8 bytes of
	// each coordinate of each vector must fit into Options.RunBytes.
	Warm int `json:"warm,omitempty"`
}

// Sigma is the sub-Gaussian parameter of rewards, in units of the reward of one coordinate: the product
// q_j v_ij, for banditmips-beta divided by d w_j, and for distances that of papers.Distances. It is a number,
// or the name of its source; the zero value is SigmaRange.
type Sigma struct {
	Given  float64     // > 0 and finite; nobody checks that it is true of the data
	Source SigmaSource // "" with Given
}

// SigmaSource is where the radius of a mean comes from if no sigma is given.
type SigmaSource string

const (
	// SigmaRange is half the length of an interval that contains all rewards, computed from the query and
	// the range of all vectors' coordinates. It is always true.
	SigmaRange SigmaSource = "range"
	// SigmaData is the standard deviation of 1,024 rewards, of random vectors at random coordinates, around
	// their mean, estimated for each query; SigmaRange if they are all equal. Nothing is promised.
	SigmaData SigmaSource = "data"
	// SigmaBernstein takes empirical Bernstein bounds, from the variance of each vector's rewards and the
	// interval of SigmaRange. They always hold.
	SigmaBernstein SigmaSource = "bernstein"
)

// Sampling says how coordinates are drawn.
type Sampling string

const (
	WithReplacement    Sampling = "with_replacement"
	WithoutReplacement Sampling = "without_replacement"
)

// Union says how boundedme divides a round's failure probability among its arms.
type Union string

const (
	// UnionPublished is Lemma 4 of the paper, which has no proof for k above 1: then nothing is promised.
	UnionPublished Union = "published"
	// UnionCorrected counts each of the k best.
	UnionCorrected Union = "corrected"
)

// String is the number or the source; "" for the zero value.
func (s Sigma) String() string {
	if s.Given != 0 {
		return strconv.FormatFloat(s.Given, 'g', -1, 64)
	}
	return string(s.Source)
}

// MarshalJSON writes a number or the name of a source.
func (s Sigma) MarshalJSON() ([]byte, error) {
	if s.Given != 0 {
		return json.Marshal(s.Given)
	}
	return json.Marshal(s.Source)
}

// publishedOption is one member of Published.
type publishedOption struct {
	name    string
	methods []Method // which have it
	wanted  string   // its values, in words
	given   func(*Published) bool
	// set takes the value of JSON, a float64 or a string; false for one that is not wanted.
	set func(*Published, any) bool
	// check reports whether a value that is given is one that is wanted.
	check func(*Published) bool
	show  func(*Published) string
}

// publishedOptions is the table of all options: the only place that knows their names, methods and values.
func publishedOptions() []publishedOption {
	bandits := []Method{BanditMIPS, BanditMIPSAlpha, BanditMIPSBeta, BucketAE}
	return []publishedOption{
		{
			"sigma", bandits, `a number above 0, "range", "data" or "bernstein"`,
			func(p *Published) bool { return p.Sigma != Sigma{} },
			func(p *Published, v any) bool {
				switch v := v.(type) {
				case float64:
					p.Sigma = Sigma{Given: v}
					return v != 0
				case string:
					p.Sigma = Sigma{Source: SigmaSource(v)}
					return v != ""
				}
				return false
			},
			func(p *Published) bool {
				if p.Sigma.Source != "" {
					return p.Sigma.Given == 0 && slices.Contains([]SigmaSource{SigmaRange, SigmaData, SigmaBernstein}, p.Sigma.Source)
				}
				return p.Sigma.Given > 0 && finite(p.Sigma.Given)
			},
			func(p *Published) string { return p.Sigma.String() },
		},
		{
			"beta", []Method{BanditMIPSBeta}, "a number from 0 on",
			func(p *Published) bool { return p.Beta != nil },
			func(p *Published, v any) bool {
				x, ok := v.(float64)
				p.Beta = &x
				return ok
			},
			func(p *Published) bool { return *p.Beta >= 0 && finite(*p.Beta) },
			func(p *Published) string { return strconv.FormatFloat(*p.Beta, 'g', -1, 64) },
		},
		{
			"sampling", []Method{BanditMIPS, BucketAE}, `"with_replacement" or "without_replacement"`,
			func(p *Published) bool { return p.Sampling != "" },
			func(p *Published, v any) bool {
				name, ok := v.(string)
				p.Sampling = Sampling(name)
				return ok && name != ""
			},
			func(p *Published) bool { return p.Sampling == WithReplacement || p.Sampling == WithoutReplacement },
			func(p *Published) string { return string(p.Sampling) },
		},
		{
			"bins", []Method{BucketAE}, "a whole number of vectors a bin, at least 1",
			func(p *Published) bool { return p.Bins != 0 },
			func(p *Published, v any) (ok bool) {
				p.Bins, ok = whole(v)
				return ok && p.Bins != 0
			},
			func(p *Published) bool { return p.Bins >= 1 },
			func(p *Published) string { return strconv.Itoa(p.Bins) },
		},
		{
			"union", []Method{BoundedME}, `"published" or "corrected"`,
			func(p *Published) bool { return p.Union != "" },
			func(p *Published, v any) bool {
				name, ok := v.(string)
				p.Union = Union(name)
				return ok && name != ""
			},
			func(p *Published) bool { return p.Union == UnionPublished || p.Union == UnionCorrected },
			func(p *Published) string { return string(p.Union) },
		},
		{
			"warm", []Method{BanditMIPS}, "a whole number of coordinates, from 0 to the dimension",
			func(p *Published) bool { return p.Warm != 0 },
			func(p *Published, v any) (ok bool) {
				p.Warm, ok = whole(v)
				return ok
			},
			func(p *Published) bool { return p.Warm >= 0 },
			func(p *Published) string { return strconv.Itoa(p.Warm) },
		},
	}
}

func whole(v any) (int, bool) {
	x, ok := v.(float64)
	return int(x), ok && x == math.Trunc(x) && math.Abs(x) <= math.MaxInt32
}

// PublishedMethods lists the methods that have such options, or can have.
func PublishedMethods() []Method {
	return []Method{BanditMIPS, BanditMIPSAlpha, BanditMIPSBeta, BucketAE, BoundedME}
}

// PublishedNames lists the options of Published by their names in JSON, which are those of flags too.
func PublishedNames() []string {
	var names []string
	for _, o := range publishedOptions() {
		names = append(names, o.name)
	}
	return names
}

// optionError names an option, as a member of a request.
func optionError(name, format string, a ...any) error {
	return &RequestError{Field: "published." + name, Query: -1, Err: fmt.Errorf(format, a...)}
}

// Check refuses options that method m does not have, and values that are no option's; the error is a
// *RequestError that names the option, what is wanted, and the methods that have it.
func (p *Published) Check(m Method) error {
	if *p == (Published{}) {
		return nil // of every search: the table allocates
	}
	for _, o := range publishedOptions() {
		switch {
		case !o.given(p):
		case !o.check(p):
			return optionError(o.name, "%s is not %s", o.show(p), o.wanted)
		case !slices.Contains(o.methods, m):
			return optionError(o.name, "method %s has no such option, %s", m, haveIt(o.methods))
		}
	}
	return nil
}

// haveIt says which methods have an option.
func haveIt(methods []Method) string {
	if len(methods) == 1 {
		return string(methods[0]) + " has"
	}
	var names []string
	for _, m := range methods {
		names = append(names, string(m))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last] + " have"
}

// Set sets an option to the value that a text means, as of a flag: a number, or else a name. Errors are as
// of Check.
func (p *Published) Set(name, text string) error {
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return p.set(name, x, text)
	}
	return p.set(name, text, text)
}

func (p *Published) set(name string, value any, shown string) error {
	all := publishedOptions()
	i := slices.IndexFunc(all, func(o publishedOption) bool { return o.name == name })
	if i < 0 {
		return optionError(name, "there is no such option; there are %s", strings.Join(PublishedNames(), ", "))
	}
	var one Published
	o := &all[i]
	if !o.set(&one, value) || o.given(&one) && !o.check(&one) {
		return optionError(name, "%.60s is not %s", shown, o.wanted)
	}
	o.set(p, value)
	return nil
}

// UnmarshalJSON reads an object with some of the options, each once. Errors are as of Check.
func (p *Published) UnmarshalJSON(text []byte) error {
	var read Published
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return &RequestError{Field: "published", Query: -1, Err: fmt.Errorf("%.60s is not an object with some of %s", text, strings.Join(PublishedNames(), ", "))}
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		var shown json.RawMessage
		if err := d.Decode(&shown); err != nil {
			return err
		}
		if seen[name] {
			return optionError(name, "given twice")
		}
		seen[name] = true
		var value any
		if json.Unmarshal(shown, &value) != nil {
			value = nil // a number beyond float64
		}
		if err := read.set(name, value, string(shown)); err != nil {
			return err
		}
	}
	*p = read
	return nil
}

// String lists the options that are given, "sigma 1, warm 64"; "" if there are none.
func (p *Published) String() string {
	var all []string
	for _, o := range publishedOptions() {
		if o.given(p) {
			all = append(all, o.name+" "+o.show(p))
		}
	}
	return strings.Join(all, ", ")
}

// Shown is the value of an option in the form that Set takes; "" if it is not given, or is none.
func (p *Published) Shown(name string) string {
	for _, o := range publishedOptions() {
		if o.name == name && o.given(p) {
			return o.show(p)
		}
	}
	return ""
}

// replaces reports whether coordinates are drawn with replacement where otherwise says so by default.
func (p *Published) replaces(otherwise bool) bool {
	if p.Sampling == "" {
		return otherwise
	}
	return p.Sampling == WithReplacement
}

// sampling is Sampling as package papers has it.
func (p *Published) sampling(otherwise bool) papers.Sampling {
	if p.replaces(otherwise) {
		return papers.WithReplacement
	}
	return papers.WithoutReplacement
}
