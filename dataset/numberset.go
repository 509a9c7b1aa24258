package dataset

import "io"

// OpenNumbersOf opens columns of numbers of several files as OpenFiles does their vectors.
func OpenNumbersOf(files []string, b *Budget, columns ...string) (NumberReader, error) {
	if len(files) == 1 {
		return OpenNumbers(files[0], b, columns...)
	}
	return &numberSet{files: files, budget: b, columns: columns}, nil
}

// numberSet reads the columns of files one after the other.
type numberSet struct {
	files   []string // not opened yet
	budget  *Budget
	columns []string
	part    NumberReader // nil before the first file and between two
	err     error
}

func (s *numberSet) Next() ([]float64, error) {
	for s.err == nil {
		if s.part == nil {
			if len(s.files) == 0 {
				s.err = io.EOF
				break
			}
			if s.part, s.err = OpenNumbers(s.files[0], s.budget, s.columns...); s.err != nil {
				break
			}
			s.files = s.files[1:]
		}
		row, err := s.part.Next()
		if err == nil {
			return row, nil
		}
		if err != io.EOF {
			s.err = err
			break
		}
		s.err = s.Close()
	}
	return nil, s.err
}

func (s *numberSet) Close() error {
	if s.part == nil {
		return nil
	}
	part := s.part
	s.part = nil
	return part.Close()
}
