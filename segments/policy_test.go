package segments

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// grow simulates upserts of new rows under the policy and calls look after each upkeep. It returns the rows coded in all.
func grow(rows int, look func(all []standing, total int)) (coded int) {
	const piece = 512
	var all []standing
	for total := piece; total <= rows; total += piece {
		all = append(all, standing{rows: piece})
		chosen, generation := choose(all, sealRows)
		if len(chosen) == 0 {
			continue
		}
		made := standing{generation: generation}
		for _, i := range slices.Backward(chosen) {
			made.rows += all[i].rows
			all = slices.Delete(all, i, i+1)
		}
		coded += made.rows
		all = append(all, made)
		look(all, total)
	}
	return coded
}

// TestCodings: in a set that grows to n rows no row is coded more often than ceil(log_8(n/4096)) + 1 times, and there are
// at most 5 segments beside the largest.
func TestCodings(t *testing.T) {
	coded := grow(6_000_000, func(all []standing, total int) {
		bound := 1 + int(math.Ceil(math.Log(float64(total)/sealRows)/math.Log(fan)-1e-9))
		sealed := 0
		for _, s := range all {
			if s.generation > bound {
				t.Errorf("%d rows: a segment of %d rows coded %d times, at most %d", total, s.rows, s.generation, bound)
			}
			if s.generation > 0 {
				sealed++
			}
		}
		if sealed > 1+maxBeside {
			t.Errorf("%d rows: %d segments", total, sealed)
		}
	})
	t.Logf("%.2f codings a row", float64(coded)/6_000_000)
	if coded > 5*6_000_000 {
		t.Errorf("%d rows coded", coded)
	}
}

// TestGrownGeneration: a segment that was built at once counts as one that grew to its size.
func TestGrownGeneration(t *testing.T) {
	for _, c := range []struct{ rows, want int }{{1, 1}, {4096, 1}, {32767, 1}, {32768, 2}, {100_000, 2}, {262_144, 3}, {1_000_000, 3}, {8 * 262_144, 4}} {
		if got := grownGeneration(c.rows); got != c.want {
			t.Errorf("%d rows: %d, want %d", c.rows, got, c.want)
		}
	}
}

// TestUpkeepEnds: whatever there is, upkeep comes to an end, and then few rows wait or are deleted.
func TestUpkeepEnds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var all []standing
		total := 0
		for range rapid.IntRange(0, 12).Draw(r, "segments") {
			rows := rapid.IntRange(1, 1<<20).Draw(r, "rows")
			s := standing{rows, rapid.IntRange(0, rows).Draw(r, "deleted"), rapid.IntRange(0, 4).Draw(r, "generation")}
			all, total = append(all, s), total+rows-s.deleted
		}
		for step := 0; ; step++ {
			chosen, generation := choose(all, sealRows)
			if len(chosen) == 0 {
				break
			}
			if step > 20 {
				r.Fatalf("upkeep goes on: %+v", all)
			}
			made := standing{generation: generation}
			for _, i := range slices.Backward(chosen) {
				made.rows += all[i].rows - all[i].deleted
				all = slices.Delete(all, i, i+1)
			}
			if made.rows > 0 {
				all = append(all, made)
			}
		}
		waiting := 0
		for _, s := range all {
			if s.generation == 0 {
				waiting += s.rows
			} else if 2*s.deleted > s.rows {
				r.Fatalf("left: %+v", s)
			}
		}
		if waiting >= max(sealRows, total/sealPart) {
			r.Fatalf("%d of %d rows wait", waiting, total)
		}
	})
}
