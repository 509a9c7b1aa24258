package items

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mathext"
)

// Parameters for filling in missing ratings: the best on a tenth of the ratings held out
// (root mean square error 0.905).
const (
	fillRank   = 4
	fillRidge  = .1
	fillSweeps = 20
	fillSeed   = 1
)

// The range of MovieLens ratings, in stars.
const (
	minStars = 1
	maxStars = 5
)

// genreColumn is the column of the first genre flag in u.item, after ID, title, two dates
// and an address. The first flag is "unknown", which is not a genre.
const genreColumn = 5

// MovieLens reads u.genre, u.item and u.data of a folder of MovieLens 100K and returns the
// movies of section 7.2 of the paper. Missing ratings are filled in by factorization; r is
// a movie's mean over all users, scaled from one star at 0 to five at 1. A movie covers
// each of its genres by r. Its cost is the distribution function of Beta(10, 2) at r, so
// popular movies are expensive (the two parameters are FANTOM's; they are missing from the
// paper's text). Its groups are its genres.
func MovieLens(folder string) (*Set, error) {
	s, err := movieLens(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; MovieLens 100K (ml-100k.zip, from grouplens.org/datasets/movielens/100k) has u.genre, u.item and u.data, and may not be passed on with thresher", err)
	}
	return s, err
}

func movieLens(folder string) (*Set, error) {
	var genres []string
	err := eachLine(filepath.Join(folder, "u.genre"), func(line string) error {
		name, number, ok := strings.Cut(line, "|")
		if !ok || number != fmt.Sprint(len(genres)) {
			return fmt.Errorf("%q is not a genre and its number %d", line, len(genres))
		}
		genres = append(genres, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(genres) < 2 {
		return nil, fmt.Errorf("%s: %d genres", filepath.Join(folder, "u.genre"), len(genres))
	}
	s := &Set{GroupNames: genres[1:], CostNames: []string{"cost"}}
	if err := eachLine(filepath.Join(folder, "u.item"), func(line string) error { return s.addMovie(line, len(genres)) }); err != nil {
		return nil, err
	}
	known, users, err := readRatings(filepath.Join(folder, "u.data"), len(s.IDs))
	if err != nil {
		return nil, err
	}
	f, err := factorize(known, users, len(s.IDs), fillRank, fillSweeps, fillRidge, fillSeed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(folder, "u.data"), err)
	}
	means := make([]float64, len(s.IDs))
	s.Costs = make([]float64, len(s.IDs))
	for i := range means {
		for u := range users {
			stars := min(max(f.at(u, i), minStars), maxStars)
			means[i] += (stars - minStars) / (maxStars - minStars) / float64(users)
		}
		means[i] = min(means[i], 1) // the sum may round up
		s.Costs[i] = mathext.RegIncBeta(10, 2, means[i])
	}
	s.cover(means)
	return s, nil
}

// addMovie parses a line of u.item.
func (s *Set) addMovie(line string, genres int) error {
	fields := strings.Split(line, "|")
	if len(fields) != genreColumn+genres {
		return fmt.Errorf("%d fields, want %d", len(fields), genreColumn+genres)
	}
	if fields[0] != fmt.Sprint(len(s.IDs)+1) {
		return fmt.Errorf("movie %q, want %d", fields[0], len(s.IDs)+1)
	}
	var groups []int
	for g, flag := range fields[genreColumn:] {
		switch {
		case flag != "0" && flag != "1":
			return fmt.Errorf("genre %d: %q is neither 0 nor 1", g, flag)
		case flag == "1" && g > 0:
			groups = append(groups, g-1)
		}
	}
	s.IDs = append(s.IDs, fields[0])
	s.Titles = append(s.Titles, fields[1])
	s.Groups = append(s.Groups, groups)
	return nil
}

// readRatings reads u.data: user, movie, stars and time, separated by tabs. Users and
// movies are numbered from 1.
func readRatings(path string, movies int) (known []rating, users int, err error) {
	err = eachLine(path, func(line string) error {
		fields := strings.Fields(line)
		if len(fields) != 4 {
			return fmt.Errorf("%d fields, want 4", len(fields))
		}
		var numbers [3]int
		for i, limit := range [3]int{1 << 20, movies, maxStars} {
			n, err := strconv.Atoi(fields[i])
			if err != nil || n < 1 || n > limit {
				return fmt.Errorf("field %d: %q is not in [1, %d]", i+1, fields[i], limit)
			}
			numbers[i] = n
		}
		users = max(users, numbers[0])
		known = append(known, rating{numbers[0] - 1, numbers[1] - 1, float64(numbers[2])})
		return nil
	})
	return known, users, err
}

// eachLine calls take with each non-empty line, converted from ISO 8859-1.
func eachLine(path string, take func(line string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	number := 0
	for lines.Scan() {
		number++
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := take(latin1(lines.Bytes())); err != nil {
			return fmt.Errorf("%s: line %d: %w", path, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: line %d: %w", path, number+1, err)
	}
	return nil
}

func latin1(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}
