package oip

import (
	"encoding/binary"
	"math"
	"strconv"

	"thresher/batch"
	"thresher/service/wire"
)

// output is a tensor that can be requested: [m, k] if it is wide, else [m].
type output struct {
	name     string
	datatype string
	wide     bool
	cell     func(a *batch.Answer, j int, ids wire.Naming) cell
}

// cell is one element, in the field of the output's datatype.
type cell struct {
	integer int64
	number  float64
	flag    bool
	text    string
}

// outputs lists all outputs. In wide ones, shorter answers are padded to the longest with ids and
// rows -1, scores -Inf and empty names.
func outputs() []output {
	return []output{
		{"ids", "INT64", true, func(a *batch.Answer, j int, ids wire.Naming) cell {
			switch {
			case j >= len(a.IDs):
				return cell{integer: -1}
			case ids.Textual(): // names has the ids, this output the rows
				return cell{integer: a.IDs[j]}
			}
			return cell{integer: ids.ID(a.IDs[j])}
		}},
		{"scores", "FP32", true, func(a *batch.Answer, j int, _ wire.Naming) cell {
			if j >= len(a.Scores) {
				return cell{number: math.Inf(-1)}
			}
			return cell{number: float64(a.Scores[j])}
		}},
		{"rows", "INT64", true, func(a *batch.Answer, j int, _ wire.Naming) cell {
			if j >= len(a.IDs) {
				return cell{integer: -1}
			}
			return cell{integer: a.IDs[j]}
		}},
		{scores64, "FP64", true, func(a *batch.Answer, j int, ids wire.Naming) cell {
			if j >= len(a.SearchScores) {
				return cell{number: math.Inf(-1)}
			}
			return cell{number: ids.Metric.Shown(a.SearchScores[j])}
		}},
		{"exact", "BOOL", false, func(a *batch.Answer, _ int, _ wire.Naming) cell { return cell{flag: a.Certificate.Exact} }},
		{"pulls", "INT64", false, func(a *batch.Answer, _ int, _ wire.Naming) cell { return cell{integer: a.Certificate.Pulls} }},
		{"complete", "BOOL", false, func(a *batch.Answer, _ int, _ wire.Naming) cell {
			return cell{flag: a.Certificate.StoppedBy == batch.Done}
		}},
		{"guarantee", "BYTES", false, func(a *batch.Answer, _ int, _ wire.Naming) cell {
			return cell{text: string(a.Certificate.Guarantee)}
		}},
		{"delta", "FP64", false, func(a *batch.Answer, _ int, _ wire.Naming) cell { return cell{number: a.Certificate.Delta} }},
		{"open_bound", "FP64", false, func(a *batch.Answer, _ int, _ wire.Naming) cell {
			if a.Certificate.OpenBound == nil {
				return cell{number: math.NaN()}
			}
			return cell{number: *a.Certificate.OpenBound}
		}},
		{names, "BYTES", true, func(a *batch.Answer, j int, ids wire.Naming) cell {
			if j >= len(a.IDs) {
				return cell{}
			}
			return cell{text: ids.Name(a.IDs[j])}
		}},
	}
}

// names is the output of string ids, scores64 that of the scores before they are rounded to float32.
const names, scores64 = "names", "scores64"

func outputNames() []string {
	var all []string
	for _, o := range outputs() {
		all = append(all, o.name)
	}
	return all
}

// json appends c to an array of JSON. NaN and infinities become null.
func (o *output) json(dst []byte, c cell) []byte {
	switch o.datatype {
	case "INT64":
		return strconv.AppendInt(dst, c.integer, 10)
	case "BOOL":
		return strconv.AppendBool(dst, c.flag)
	case "BYTES":
		return wire.AppendString(dst, c.text)
	case "FP32":
		return wire.AppendFloat(dst, float32(c.number))
	}
	return wire.AppendDouble(dst, c.number)
}

// binary appends c in the format of the extension: little-endian, one byte for BOOL, a length
// of 4 bytes before BYTES.
func (o *output) binary(dst []byte, c cell) []byte {
	le := binary.LittleEndian
	switch o.datatype {
	case "INT64":
		return le.AppendUint64(dst, uint64(c.integer))
	case "BOOL":
		if c.flag {
			return append(dst, 1)
		}
		return append(dst, 0)
	case "BYTES":
		return append(le.AppendUint32(dst, uint32(len(c.text))), c.text...)
	case "FP32":
		return le.AppendUint32(dst, math.Float32bits(float32(c.number)))
	}
	return le.AppendUint64(dst, math.Float64bits(c.number))
}
