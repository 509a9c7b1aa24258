package ratings

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"thresher/internal/plaintext"
)

// Ratings are the ratings in one folder.
type Ratings struct {
	titles map[int]string      // by number of the movie
	rated  map[string][]rating // by title
}

type rating struct {
	user  int
	value float64
}

// Read reads the ratings of a folder in the format of MovieLens: ratings.csv, or else
// ratings.dat (user, movie, rating), and movies.csv, or else movies.dat (movie, title). Further
// fields are ignored. Fields of .dat files are separated by "::". The first line of a .csv file
// is skipped as a header if it does not begin with a number. Titles that are not UTF-8 are
// decoded as Latin-1. Movies with the same title are merged; a movie's number must be unique.
// Errors name the file and the line.
func Read(folder string) (*Ratings, error) {
	r := &Ratings{titles: map[int]string{}, rated: map[string][]rating{}}
	err := eachLine(folder, "movies", 2, func(f []string) error {
		id, err := strconv.Atoi(f[0])
		if err != nil {
			return fmt.Errorf("%q is not a number of a movie", f[0])
		}
		if title, ok := r.titles[id]; ok {
			return fmt.Errorf("movie %d is listed twice, first as %q", id, title)
		}
		r.titles[id] = decode(f[1])
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = eachLine(folder, "ratings", 3, func(f []string) error {
		user, notUser := strconv.Atoi(f[0])
		movie, notMovie := strconv.Atoi(f[1])
		value, notValue := strconv.ParseFloat(f[2], 64)
		if err := errors.Join(notUser, notMovie, notValue); err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return fmt.Errorf("%q is no rating: user, movie, rating", strings.Join(f[:3], ","))
		}
		title, ok := r.titles[movie]
		if !ok {
			return fmt.Errorf("movie %d has no title", movie)
		}
		r.rated[title] = append(r.rated[title], rating{user, value})
		return nil
	})
	return r, err
}

// decode returns s if it is UTF-8, else s converted from Latin-1.
func decode(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	runes := make([]rune, len(s))
	for i := range runes {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// eachLine calls each with the fields of every line of name.csv, or else of name.dat. A line with
// fewer than the given number of fields is an error. The slice is valid during the call.
func eachLine(folder, name string, fields int, each func([]string) error) error {
	path := filepath.Join(folder, name+".csv")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(folder, name+".dat")
		f, err = os.Open(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: neither %s.csv nor %s.dat is there", folder, name, name)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := plaintext.CSV(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if mark, err := text.Peek(3); err == nil && string(mark) == "\uFEFF" {
		text.Discard(3) // skips the byte order mark
	}
	next := datFields(text)
	if filepath.Ext(path) == ".csv" {
		next = csvFields(text)
	}
	for first := true; ; first = false {
		line, number, err := next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if _, err := strconv.Atoi(line[0]); err != nil && first && filepath.Ext(path) == ".csv" {
			continue // the header
		}
		if len(line) < fields {
			return fmt.Errorf("%s, line %d: %d fields, not %d or more", path, number, len(line), fields)
		}
		if err := each(line); err != nil {
			return fmt.Errorf("%s, line %d: %w", path, number, err)
		}
	}
}

// csvFields returns a function that reads the next record: its fields, which are valid until the
// next call, and the number of the line in which it begins. At the end it returns io.EOF.
func csvFields(r io.Reader) func() ([]string, int, error) {
	lines := csv.NewReader(r)
	lines.FieldsPerRecord = -1
	lines.ReuseRecord = true
	return func() ([]string, int, error) {
		fields, err := lines.Read()
		if err != nil {
			return nil, 0, err
		}
		number, _ := lines.FieldPos(0)
		return fields, number, nil
	}
}

// datFields is csvFields for lines whose fields are separated by "::".
func datFields(r io.Reader) func() ([]string, int, error) {
	lines := bufio.NewScanner(r)
	number := 0
	return func() ([]string, int, error) {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return nil, 0, fmt.Errorf("line %d: %w", number+1, err)
			}
			return nil, 0, io.EOF
		}
		number++
		return strings.Split(lines.Text(), "::"), number, nil
	}
}
