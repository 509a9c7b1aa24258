package wire

import (
	"io"
	"slices"
	"strings"

	"thresher/dataset"
	"thresher/service/problem"
)

// Members of a body that name stored files in place of queries and answers.
// The latter two say how that of the queries is read.
const (
	fieldQueriesFile = "queries_file_id"
	fieldAnswersFile = "answers_file_id"
	fieldColumn      = "column"
	fieldHeader      = "header"
)

// StatedFiles opens the files that a body names by their ids, "" for one that it does not name. read is how vectors are read.
// Errors are of type *problem.Problem.
type StatedFiles func(queries, answers string, read *dataset.Options) (OpenedFiles, error)

// OpenedFiles are the files that a body names: vectors and answers to them, nil for none, and what whoever sent the answers
// called their file.
type OpenedFiles struct {
	Queries     dataset.Reader
	Answers     dataset.ResultReader
	AnswersName string
}

// close closes the files.
func (f *OpenedFiles) close() {
	if f.Queries != nil {
		f.Queries.Close()
	}
	if f.Answers != nil {
		f.Answers.Close()
	}
}

// statedFiles are the files that a body names, and how that of the queries is read.
type statedFiles struct{ queries, answers, column, header string }

// fileFields are the members of a body that files have.
func fileFields() []string {
	return []string{fieldQueriesFile, fieldAnswersFile, fieldColumn, fieldHeader}
}

// note reads the member of a body that names a file.
func (f *statedFiles) note(d *Draft, name string, b []byte, i int) (next int, err error) {
	if err := d.markSeen(name); err != nil {
		return i, err
	}
	v, next, err := textKind.read(name, b, i, 0)
	if err != nil {
		return next, inField(err, name)
	}
	if v.text == "" {
		return next, problem.New(problem.InvalidValue, "%s is empty", name).In(name)
	}
	switch name {
	case fieldQueriesFile:
		f.queries = v.text
	case fieldAnswersFile:
		f.answers = v.text
	case fieldColumn:
		f.column = v.text
	case fieldHeader:
		f.header = v.text
	}
	return next, nil
}

// read adds what is in the files to a draft and its answers.
func (f *statedFiles) read(d *Draft, st *Stated, open StatedFiles) error {
	if f.queries == "" {
		for _, of := range []string{fieldColumn, fieldHeader} {
			if d.seen[of] {
				return problem.New(problem.InvalidValue, "%s says how the file of the queries is read, and there is no %s", of, fieldQueriesFile).In(of)
			}
		}
	}
	switch {
	case f.queries == "" && f.answers == "":
		return nil
	case f.queries != "" && (d.seen[fieldQueries] || d.seen[fieldTexts]):
		return problem.New(problem.InvalidValue, "%s names the queries, which the body lists, too", fieldQueriesFile).In(fieldQueriesFile)
	case f.answers != "" && d.seen[fieldAnswers]:
		return problem.New(problem.InvalidValue, "%s names the answers, which the body lists, too", fieldAnswersFile).In(fieldAnswersFile)
	case open == nil:
		return problem.New(problem.InvalidValue, "files are not read here").In(fieldAnswersFile)
	}
	opened, err := open(f.queries, f.answers, &dataset.Options{OneRow: true, FindIDs: true, IgnoreIDs: true, Column: f.column, Header: f.header, Origin: d.limits.Origin})
	defer opened.close()
	if err != nil {
		return err
	}
	if opened.Queries != nil {
		rows, err := readQueries(opened.Queries, d)
		if err != nil {
			return inFile(badNPY(err), fieldQueriesFile)
		}
		if len(rows) == 0 {
			return problem.New(problem.NoQueries, "the file has no rows").In(fieldQueriesFile)
		}
		if err := d.Rows(rows); err != nil {
			return err
		}
	}
	if opened.Answers == nil {
		return nil
	}
	d.seen[fieldAnswers], st.file = true, opened.AnswersName
	return st.readFile(opened.Answers, d)
}

// readFile reads all answers of a file, which are in the order of the queries.
func (st *Stated) readFile(from dataset.ResultReader, d *Draft) error {
	for n := 0; ; n++ {
		r, err := from.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return problem.New(problem.Malformed, "%v", err).In(fieldAnswersFile).Because(err)
		case r.Query != int64(n):
			return problem.New(problem.InvalidValue, "answer %d (0-based) is to query %d; answers are in the order of the queries, without gaps", n, r.Query).In(fieldAnswersFile)
		case d.limits.Queries > 0 && n == d.limits.Queries:
			return problem.New(problem.OverLimit, "more than %d answers; a request may have at most so many queries", n).In(fieldAnswersFile).Within(n)
		}
		a := StatedAnswer{Scores: r.Scores}
		if len(r.IDs) > 0 {
			a.IDs = *ListOf(r.IDs)
		} else {
			a.IDs.Ints = r.Rows
		}
		if d.listed += a.IDs.Len(); d.limits.Listed > 0 && d.listed > d.limits.Listed {
			return problem.New(problem.OverLimit, "the answers up to answer %d (0-based) have %d ids, those of a request at most %d", n, d.listed, d.limits.Listed).
				In(fieldAnswersFile).Within(d.limits.Listed)
		}
		st.Answers = append(st.Answers, a)
	}
}

// inFile makes a problem with queries one of the file that has them.
func inFile(err error, field string) error {
	p := *problem.Of(err)
	p.Field, p.Index, p.Detail = field, -1, strings.TrimPrefix(p.Detail, "body: ")
	return &p
}

// statedFields are the members of a body that has answers.
func statedFields() []string {
	return slices.Concat([]string{fieldQueries, fieldAnswers}, fileFields(), statedOptions())
}
