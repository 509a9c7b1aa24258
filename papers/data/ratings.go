package data

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Rating is what a user thinks of a film. Users and films are numbered from 0 by their ids in the file, ascending, of
// those that occur.
type Rating struct {
	User, Film int
	Stars      float64 // 1 to 5
}

// Ratings are the ratings of a data set.
type Ratings struct {
	Users, Films int
	Given        []Rating // in the file's order
}

// minStars and maxStars are the range of MovieLens's ratings; maxID bounds its ids.
const (
	minStars = 1
	maxStars = 5
	maxID    = 1 << 20
)

// ReadRatings reads the ratings of a folder of MovieLens: ratings.dat (user::film::stars::time, as MovieLens 1M comes),
// ratings.csv (with the header user,movie,rating) or u.data (separated by tabs, as MovieLens 100K comes), the first that
// is there. Stars are whole numbers of 1 to 5; a film that a user rated twice is refused. Errors name file, line and field;
// that of a folder without any of the files wraps fs.ErrNotExist. Above 0, most is the number of ratings after which it ends.
func ReadRatings(folder string, most int) (*Ratings, error) {
	formats := []struct {
		name, header string
		cut          func(line string) []string
	}{
		{"ratings.dat", "", func(line string) []string { return strings.Split(line, "::") }},
		{"ratings.csv", "user,movie,rating", func(line string) []string { return strings.Split(line, ",") }},
		{"u.data", "", strings.Fields},
	}
	for _, f := range formats {
		path := filepath.Join(folder, f.name)
		r, err := readRatings(path, f.header, most, f.cut)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return r, err
	}
	return nil, fmt.Errorf("%w: no ratings.dat, ratings.csv or u.data in %s; MovieLens (grouplens.org/datasets/movielens) may not be passed on with thresher", fs.ErrNotExist, folder)
}

func readRatings(path, header string, most int, cut func(string) []string) (*Ratings, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &Ratings{}
	lines := bufio.NewScanner(f)
	for number := 1; lines.Scan() && (most <= 0 || len(r.Given) < most); number++ {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if number == 1 && header != "" {
			if line != header {
				return nil, fmt.Errorf("%s: line 1: the header is %q, want %q", path, line, header)
			}
			continue
		}
		if line == "" {
			continue
		}
		given, err := parseRating(cut(line))
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, number, err)
		}
		r.Given = append(r.Given, given)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(r.Given) == 0 {
		return nil, fmt.Errorf("%s: no ratings", path)
	}
	r.number()
	if err := r.checkOnce(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// parseRating reads user, film and stars, with the file's ids; a fourth field, the time, is not read.
func parseRating(fields []string) (Rating, error) {
	if len(fields) != 3 && len(fields) != 4 {
		return Rating{}, fmt.Errorf("%d fields, want user, film, stars and perhaps a time", len(fields))
	}
	var numbers [3]int
	for i, limit := range []int{maxID, maxID, maxStars} {
		name := []string{"user", "film", "stars"}[i]
		n, err := strconv.Atoi(fields[i])
		if err != nil || n < 1 || n > limit {
			return Rating{}, fmt.Errorf("%s %q is not a whole number of 1 to %d", name, fields[i], limit)
		}
		numbers[i] = n
	}
	return Rating{numbers[0], numbers[1], float64(numbers[2])}, nil
}

// number replaces the file's ids by numbers from 0.
func (r *Ratings) number() {
	lastUser, lastFilm := 0, 0
	for _, g := range r.Given {
		lastUser, lastFilm = max(lastUser, g.User), max(lastFilm, g.Film)
	}
	users, films := make([]bool, lastUser+1), make([]bool, lastFilm+1)
	for _, g := range r.Given {
		users[g.User], films[g.Film] = true, true
	}
	places := func(occurs []bool) (place []int, count int) {
		place = make([]int, len(occurs))
		for id, in := range occurs {
			place[id] = count
			if in {
				count++
			}
		}
		return place, count
	}
	userPlace, userCount := places(users)
	filmPlace, filmCount := places(films)
	r.Users, r.Films = userCount, filmCount
	for p, g := range r.Given {
		r.Given[p].User, r.Given[p].Film = userPlace[g.User], filmPlace[g.Film]
	}
}

func (r *Ratings) checkOnce() error {
	pairs := make([]int, len(r.Given))
	for p, g := range r.Given {
		pairs[p] = g.User*r.Films + g.Film
	}
	slices.Sort(pairs)
	for p := 1; p < len(pairs); p++ {
		if pairs[p] == pairs[p-1] {
			return fmt.Errorf("user number %d rates film number %d twice", pairs[p]/r.Films, pairs[p]%r.Films)
		}
	}
	return nil
}
