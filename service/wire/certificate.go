package wire

import (
	"strconv"

	"thresher/batch"
)

// Withheld is the value of figures of a certificate that are withheld.
const Withheld = -1

// Withhold removes from the certificates of a response what would help a client to find
// queries that fail: how many atoms and coordinates looks used, the thresholds and bounds,
// and the looks themselves. All of these depend on codes, and so on the rotation. The
// guarantee of the answer stays, and so does an open bound of a search that looked at
// nothing.
func Withhold(resp *batch.Response) {
	for i := range resp.Answers {
		c := &resp.Answers[i].Certificate
		if c.Pulls != 0 {
			c.OpenBound = nil
		}
		c.Pulls, c.DensePulls, c.Bytes, c.RowsScored = Withheld, Withheld, Withheld, Withheld
		c.Looks, c.Threshold, c.Plan, c.Predicted, c.PredictedCost = nil, nil, "", 0, 0
	}
}

// AppendCertificate appends c in the format given by the tags of batch.Certificate, without
// its looks, which are written as rounds, and without withheld figures.
func AppendCertificate(dst []byte, c *batch.Certificate) []byte {
	dst = append(dst, `{"method":`...)
	dst = AppendString(dst, string(c.Method))
	dst = append(dst, `,"guarantee":`...)
	dst = AppendString(dst, string(c.Guarantee))
	if c.Law != "" {
		dst = append(dst, `,"law":`...)
		dst = AppendString(dst, string(c.Law))
	}
	dst = append(dst, `,"delta":`...)
	dst = AppendDouble(dst, c.Delta)
	dst = append(dst, `,"epsilon":`...)
	dst = AppendDouble(dst, c.Epsilon)
	dst = append(dst, `,"exact":`...)
	dst = strconv.AppendBool(dst, c.Exact)
	dst = append(dst, `,"stopped_by":`...)
	dst = AppendString(dst, string(c.StoppedBy))
	told := c.Pulls != Withheld
	if told {
		dst = appendFigures(dst, c)
	}
	dst = append(dst, `,"open_bound":`...)
	dst = appendOptional(dst, c.OpenBound)
	if told {
		dst = appendPlan(dst, c)
	}
	if c.ThresholdBefore {
		dst = append(dst, `,"threshold_before":true`...)
	}
	if r := c.Candidates; r != nil {
		dst = append(dst, `,"candidates":{"given":`...)
		dst = strconv.AppendInt(dst, int64(r.Given), 10)
		dst = append(dst, `,"right":`...)
		dst = strconv.AppendInt(dst, int64(r.Right), 10)
		dst = append(dst, '}')
	}
	if c.VectorsChange != 0 {
		dst = append(dst, `,"vectors_change":`...)
		dst = AppendDouble(dst, c.VectorsChange)
	}
	if c.QueryChange != 0 {
		dst = append(dst, `,"query_change":`...)
		dst = AppendDouble(dst, c.QueryChange)
	}
	if c.Backend != "" {
		dst = append(dst, `,"backend":`...)
		dst = AppendString(dst, c.Backend)
	}
	if c.Fallback != "" {
		dst = append(dst, `,"fallback":`...)
		dst = AppendString(dst, c.Fallback)
	}
	return append(dst, '}')
}

// appendFigures appends the counts of what was read, and the threshold.
func appendFigures(dst []byte, c *batch.Certificate) []byte {
	for _, x := range []struct {
		name string
		n    int64
	}{{"pulls", c.Pulls}, {"dense_pulls", c.DensePulls}, {"bytes", c.Bytes}, {"rows_scored", int64(c.RowsScored)}} {
		dst = append(dst, ',', '"')
		dst = append(dst, x.name...)
		dst = append(dst, '"', ':')
		dst = strconv.AppendInt(dst, x.n, 10)
	}
	dst = append(dst, `,"threshold":`...)
	return appendOptional(dst, c.Threshold)
}

// appendPlan appends the plan and its forecast.
func appendPlan(dst []byte, c *batch.Certificate) []byte {
	dst = append(dst, `,"plan":`...)
	dst = AppendString(dst, c.Plan)
	if c.Predicted != 0 {
		dst = append(dst, `,"predicted_survivors":`...)
		dst = AppendDouble(dst, c.Predicted)
	}
	if c.PredictedCost != 0 {
		dst = append(dst, `,"predicted_ns":`...)
		dst = AppendDouble(dst, c.PredictedCost)
	}
	return dst
}

func appendOptional(dst []byte, v *float64) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	return AppendDouble(dst, *v)
}

// appendRounds appends the looks of an answer, which may be none.
func appendRounds(dst []byte, looks []batch.LookRecord) []byte {
	dst = append(dst, '[')
	for i := range looks {
		l := &looks[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"reads":`...)
		dst = AppendString(dst, l.Reads)
		dst = append(dst, `,"width":`...)
		dst = strconv.AppendInt(dst, int64(l.Width), 10)
		dst = append(dst, `,"rule":`...)
		dst = AppendString(dst, l.Rule)
		dst = append(dst, `,"alpha":`...)
		dst = AppendDouble(dst, l.Alpha)
		dst = append(dst, `,"seen":`...)
		dst = strconv.AppendInt(dst, int64(l.Seen), 10)
		if l.Disallowed != 0 {
			dst = append(dst, `,"beside":`...)
			dst = strconv.AppendInt(dst, int64(l.Disallowed), 10)
		}
		dst = append(dst, `,"survivors":`...)
		dst = strconv.AppendInt(dst, int64(l.Survivors), 10)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
