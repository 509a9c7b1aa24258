package dataset

import "sync"

// AppendJSONL appends r as one JSON object and a newline:
//
//	{"answers_version":2,"query":0,"query_id":"q7","ids":["c","a"],"rows":[3,1],"scores":[2.5,1],
//	"scores64":[2.4999999,1],"pulls":77,"exact":false,"complete":true,"guarantee":"certain","delta":0,
//	"epsilon":0,"certificate":{}}
//
// With whole, which says that the ids of all vectors are AreWhole, they are numbers; without ids they are the
// row numbers, and "id_kind":"row" follows. query_id is a number if it is whole by itself. What r does not
// have is omitted, delta and epsilon without a guarantee; scores that are not finite become null. Scores have
// the fewest digits that parse to the same float. r.Certificate and r.Covers, which comes last,
// are copied verbatim and must be JSON without newlines.
func AppendJSONL(dst []byte, r *Result, whole bool) []byte {
	l := idleLines.Get().(*answerLine)
	for i := range l.fields {
		l.fields[i].set(&l.row[i], r)
	}
	l.columns[l.ids].Digits = whole
	dst = appendLine(dst, l.columns, l.row)
	idleLines.Put(l)
	return dst
}

// answerLine is a line of answers, which says by itself what a table states once for all.
type answerLine struct {
	fields  []field[Result]
	columns []Column
	row     []tableCell
	ids     int // the column of the ids that are no row numbers
}

// idleLines are lines that are not in use: a line is appended without allocation.
var idleLines = sync.Pool{New: func() any { return newAnswerLine() }}

func newAnswerLine() *answerLine {
	noIDs := func(r *Result) bool { return r.IDs == nil }
	granted := func(r *Result) bool { return r.Guarantee != "" }
	l := &answerLine{fields: []field[Result]{
		{Column{Name: versionName}, func(c *tableCell, _ *Result) { c.integer = AnswersVersion }},
		queryField(),
		{Column{Name: queryIDName, Type: Text}, func(c *tableCell, r *Result) {
			c.missing, c.text, c.digits = r.QueryID == "", r.QueryID, isWhole(r.QueryID)
		}},
		{Column{Name: idsName, Type: Text, List: true}, func(c *tableCell, r *Result) { c.missing, c.texts = r.IDs == nil, r.IDs }},
		rowsField(idsName).where(noIDs),
		{Column{Name: idKindName, Type: Text}, func(c *tableCell, r *Result) { c.missing, c.text = r.IDs != nil, rowKind }},
		rowsField(rowsName).where(func(r *Result) bool { return len(r.Rows) == r.Found() }),
		scoresField().where(func(r *Result) bool { return r.Scores != nil }),
		scores64Field().where(func(r *Result) bool { return r.Scores64 != nil }),
	}}
	l.ids = 3
	for _, f := range workFields() {
		switch f.Name {
		case guaranteeName, deltaName, epsilonName:
			f = f.where(granted)
		}
		l.fields = append(l.fields, f)
	}
	l.fields = append(l.fields,
		field[Result]{Column{Name: "certificate", Type: JSON}, func(c *tableCell, r *Result) { c.missing, c.json = len(r.Certificate) == 0, r.Certificate }},
		field[Result]{Column{Name: coversName, Type: JSON}, func(c *tableCell, r *Result) { c.missing, c.json = len(r.Covers) == 0, r.Covers }})
	for i := range l.fields {
		l.columns = append(l.columns, l.fields[i].Column)
	}
	l.row = make([]tableCell, len(l.fields))
	return l
}

// where is the field of those rows for which has is true.
func (f field[T]) where(has func(of *T) bool) field[T] {
	return field[T]{f.Column, func(c *tableCell, of *T) {
		if c.missing = !has(of); !c.missing {
			f.set(c, of)
		}
	}}
}
