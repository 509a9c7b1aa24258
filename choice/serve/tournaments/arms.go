package tournaments

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"thresher/service/problem"
)

// maxName bounds the characters of an arm's name.
const maxName = 256

// checkArms checks the number of arms and their names, which judges read: each shows something, and no
// two look alike.
func checkArms(s *Spec, most int) error {
	if n := len(s.Arms); n < 2 {
		return problem.New(problem.InvalidValue, "the length of arms is %d, not 2 to %d", n, most).In("arms").Within([]int{2, most})
	} else if n > most {
		return problem.New(problem.OverLimit, "the length of arms is %d, not 2 to %d", n, most).In("arms").Within(most)
	}
	seen := make(map[string]int, len(s.Arms)) // by what judges see of a name
	for i, name := range s.Arms {
		if n := utf8.RuneCountInString(name); n == 0 || n > maxName {
			return problem.New(problem.InvalidValue, "arms[%d] has %d characters, not 1 to %d", i, n, maxName).At("arms", i).Within([]int{1, maxName})
		}
		look := strings.TrimFunc(name, invisible)
		if look == "" {
			return problem.New(problem.InvalidValue, "arms[%d] is %.60q, white space alone; at least one character must be visible", i, name).
				At("arms", i).Within("a visible character")
		}
		if j, ok := seen[look]; ok {
			return problem.New(problem.InvalidValue, "arms[%d] is %.60q and looks like arms[%d], %.60q; names must differ, not only by white space at their ends", i, name, j, s.Arms[j]).
				At("arms", i).Within("names that differ")
		}
		seen[look] = i
	}
	return nil
}

// invisible reports whether a character leaves no mark at the end of a text: white space, and characters
// that only control or join others. The tags that make a flag of another are in the last plane of their
// category, and show.
func invisible(r rune) bool {
	const tags = 0xe0000
	return unicode.In(r, unicode.Z, unicode.Cc) || unicode.Is(unicode.Cf, r) && r < tags
}
