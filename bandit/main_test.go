package bandit

import "flag"

// Property tests draw the same cases in every run and leave no files behind;
// -rapid.seed=0 on the command line draws fresh ones.
func init() {
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}
