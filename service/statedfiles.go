package service

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"thresher/dataset"
	"thresher/service/files"
	"thresher/service/problem"
	"thresher/service/wire"
)

// statedFiles opens the stored files of queries and answers that a request names, within the memory of its body.
func (s *Server) statedFiles(r *request, in *input) wire.StatedFiles {
	return func(queries, answers string, read *dataset.Options) (opened wire.OpenedFiles, err error) {
		read.Budget, read.DenseLimit = s.o.Limits.reading(), s.o.Limits.Dense
		read.Words = dataset.Words{Column: "column", Header: "header", DenseLimit: "the setting dense_limit"}
		if queries != "" {
			err = s.readStored(r, in, queries, "queries_file_id", func(path, _ string) (err error) {
				opened.Queries, err = dataset.Open(path, read)
				return err
			})
			if err == nil {
				err = s.reserveQueries(in, opened.Queries)
			}
		}
		if err != nil || answers == "" {
			return opened, err
		}
		known := &dataset.Queries{
			Len: func() (int64, error) {
				if opened.Queries == nil {
					return 0, errors.New("answers of this form need queries_file_id")
				}
				return opened.Queries.Len(), nil
			},
			IDs: func() (*dataset.IDs, error) { return nil, nil },
		}
		err = s.readStored(r, in, answers, "answers_file_id", func(path, name string) error {
			results, err := dataset.OpenResultsOf(path, read.Budget, known)
			if err == nil {
				opened.Answers, opened.AnswersName = storedResults{results, path, name}, name
			}
			return err
		})
		return opened, err
	}
}

// reserveQueries asks for the memory of the queries of a file, which can be compressed: they take no more than those of a body.
func (s *Server) reserveQueries(in *input, of dataset.Reader) error {
	rows, most := of.Len(), s.o.Limits.Body
	need := 4 * int64(of.Dim()) * max(rows, 0)
	switch {
	case rows < 0: // only reading tells
		need = min(most, 4*int64(of.Dim())*int64(s.o.Limits.Queries))
	case need > most:
		return problem.New(problem.OverLimit, "%d queries of %d columns take %d bytes, at most %d; a sample of them has an interval for all", rows, of.Dim(), need, most).
			In("queries_file_id").Within(most)
	}
	return in.reserve(need)
}

// storedResults are answers of a stored file, which errors call by the name that it was sent with.
type storedResults struct {
	dataset.ResultReader
	path, name string
}

func (r storedResults) Next() (dataset.Result, error) {
	a, err := r.ResultReader.Next()
	if of := (*dataset.Error)(nil); errors.As(err, &of) {
		of.File = strings.Replace(of.File, r.path, r.name, 1)
	}
	return a, err
}

// readStored passes a stored file to open, under a path that says its format, and by its name; field is what names it.
func (s *Server) readStored(r *request, in *input, id, field string, open func(path, name string) error) error {
	path, f, err := s.files.Path(id)
	if err == nil && !s.maySee(r, f.Maker) {
		err = files.Unknown(id)
	}
	if err != nil {
		p := *problem.Of(err)
		p.Field = field
		return &p
	}
	if most := s.o.Limits.Body; f.Bytes > most {
		return problem.New(problem.OverLimit, "%s has %d bytes, a body and the files that it names at most %d; a sample of the queries has an interval for all", f.Name, f.Bytes, most).In(field).Within(most)
	}
	if err := in.reserve(f.Bytes); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "thresher-stated-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // what is open stays readable
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	link := filepath.Join(dir, "file"+f.Suffix())
	if err := os.Symlink(path, link); err != nil {
		return err
	}
	if err := open(link, f.Name); err != nil {
		return problem.New(problem.Malformed, "%s", strings.ReplaceAll(err.Error(), link, f.Name)).In(field).Because(err)
	}
	return nil
}
