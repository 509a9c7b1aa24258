package columns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"thresher/dataset"
)

// FromJSON reads columns from a JSON object of arrays of the same length: {"year": [1999, null], "lang": ["go", "rust"]}.
// Values are integers until one has a point or an exponent, floats, texts, true and false, lists of texts, or null; texts
// are times if all of a column are. Errors name the column and the entry, such as columns.year[3].
func FromJSON(text []byte) (*Columns, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("columns: an object of columns is wanted: %w", wantedJSON(t, err))
	}
	var all []*Column
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("columns: %w", wantedJSON(nil, err))
		}
		name := t.(string) // a member's
		column, err := columnFrom(d, name)
		if err != nil {
			return nil, err
		}
		all = append(all, column)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("columns: %w", wantedJSON(nil, err))
	}
	if t, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("columns: more than one value: %w", wantedJSON(t, err))
	}
	c, err := New(all...)
	if err != nil {
		return nil, fmt.Errorf("columns: %w", err)
	}
	return c, nil
}

// columnFrom reads an array of values.
func columnFrom(d *json.Decoder, name string) (*Column, error) {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("columns.%s: an array of values is wanted: %w", name, wantedJSON(t, err))
	}
	b := newBuilder(name)
	for d.More() {
		v, err := valueFrom(d)
		if err == nil && b.rows == MaxRows {
			err = fmt.Errorf("at most %d rows", MaxRows)
		}
		if err == nil {
			err = b.add(&v)
		}
		if err != nil {
			return nil, fmt.Errorf("columns.%s[%d]: %w", name, b.rows, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("columns.%s: %w", name, wantedJSON(nil, err))
	}
	return b.column(false), nil
}

// valueFrom reads a value.
func valueFrom(d *json.Decoder) (dataset.Value, error) {
	t, err := d.Token()
	if err != nil {
		return dataset.Value{}, wantedJSON(nil, err)
	}
	switch t := t.(type) {
	case nil:
		return dataset.Value{}, nil
	case string:
		return dataset.Value{Kind: dataset.TextValue, Text: t}, nil
	case bool:
		return valueOf(t), nil
	case json.Number:
		return numberFrom(t.String())
	case json.Delim:
		if t == '[' {
			return textsFrom(d)
		}
	}
	return dataset.Value{}, fmt.Errorf("%w, where a number, a text, true, false, null or a list of texts is wanted", wantedJSON(t, nil))
}

// numberFrom reads a number: an integer if it is written like one.
func numberFrom(text string) (dataset.Value, error) {
	if !strings.ContainsAny(text, ".eE") {
		x, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return dataset.Value{}, fmt.Errorf("%.40s does not fit int64", text)
		}
		return dataset.Value{Kind: dataset.IntegerValue, Integer: x}, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return dataset.Value{}, fmt.Errorf("%.40s is beyond the range of float64", text)
	}
	return dataset.Value{Kind: dataset.FloatValue, Float: x}, nil
}

// textsFrom reads a list of texts after its bracket. A null in it is left out.
func textsFrom(d *json.Decoder) (dataset.Value, error) {
	v := dataset.Value{Kind: dataset.ListValue, Texts: []string{}}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return v, wantedJSON(nil, err)
		}
		switch t := t.(type) {
		case nil:
		case string:
			v.Texts = append(v.Texts, t)
		default:
			return v, fmt.Errorf("%w in a list, where a text is wanted", wantedJSON(t, nil))
		}
	}
	_, err := d.Token()
	return v, err
}

// wantedJSON says what a token is, or what is wrong with the text.
func wantedJSON(t json.Token, err error) error {
	switch {
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	return fmt.Errorf("%.40q", fmt.Sprint(t))
}
