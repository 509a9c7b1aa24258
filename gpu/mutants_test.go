//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// mutant is a deliberate fault in a kernel, MUTANT(number) in the source of a module, and the tests
// that must fail with it. Numbers in headers start at 30, since headers are part of several
// modules.
type mutant struct {
	module string
	number int
	tests  string
	// checker is set if results do not depend on the fault, because the emulator runs blocks and
	// lanes one after another; its checker detects the fault.
	checker bool
	what    string
}

const (
	scanTests      = "TestScan|TestScanOfSomeQueries|TestScanOverflows"
	mixedCodeTests = "TestMixQueries|TestMixedCodes"
	mixedScanTests = "TestScanMixed|TestScanMixedOfSomeQueries|TestScanMixedOverflows"
	seenTests      = "TestSeen"
	goalTests      = "TestMarkWaiting|TestTakeGiven|TestSeedBest"
	denseTests     = "TestDense|TestDenseOfSomeQueries"
	rankTests      = "TestDenseRanks"
	listTests      = "TestPrune|TestSelectCandidates|TestSelectAmongEquals|TestLookFigures"
	lookTests      = "TestLookRows|TestLookSigns|TestLookAtOverflow"
	codeTests      = "TestQueryCodes|TestLookFactors|TestLoadedQueries"
	rotationTests  = "TestHeads|TestRotations"
	shortTests     = "TestTightenShort"
	shareTests     = "TestShares|TestMoveLists"
	scoreTests     = "TestScores|TestScoresDependOnTheRowAlone"
	mergeTests     = "TestMerge|TestMergeTakesNoRowTwice|TestMergeFillsItsRoom"
)

var mutants = []mutant{
	{"scan", 1, scanTests, false, "no wait for the copies of a step"},
	{"scan", 2, scanTests, false, "no barrier before a tile's queries are used"},
	{"scan", 3, scanTests, false, "fragments of two times 16 atoms exchanged"},
	{"scan", 4, scanTests, false, "the next step's copies begin before all lanes have read this one's terms"},
	{"scan", 5, scanTests, false, "a cut by the strip before"},
	{"scan", 6, scanTests, false, "an atom too many at the end of a chunk"},
	{"scan", 7, scanTests, false, "the last eight queries of a tile left out"},
	{"scan", 9, scanTests, false, "the last 16 codes of a query left out"},
	{"scan", 10, scanTests, false, "the halves of 32 codes exchanged"},
	{"scan", 11, scanTests, false, "the last 32 codes of an atom left out"},
	{"scan", 61, scanTests, false, "pairs listed before all lanes have caught theirs"},
	{"scan", 62, scanTests, true, "lanes catch again before all have read what is listed"},
	{"scan", 81, scanTests, false, "excluded atoms listed"},
	{"scan", 82, scanTests, false, "the last of the excluded atoms listed"},
	{"scan", 83, scanTests, false, "atoms before a query's first listed"},
	{"scan", 84, seenTests, false, "atoms before a query's first counted as seen"},
	{"scan", 85, seenTests, false, "atoms behind a chunk counted as seen"},
	{"scan", 86, seenTests, false, "excluded atoms behind a chunk taken off"},
	{"scan", 87, seenTests, false, "excluded atoms taken off that the filter excludes, too"},
	{"scan", 64, scanTests, false, "an entry behind a list's end"},
	{"scan", 65, scanTests, true, "a list's length increased without an atomic"},
	{"scan", 66, scanTests, false, "positions of a query assigned by another lane"},
	{"scan", 71, scanTests, false, "slack taken off a bound that is listed"},
	{"scan", 72, scanTests, false, "slack taken off in a cut"},
	{"scan", 73, scanTests, false, "compaction that counts a lane itself"},
	{"scan", 74, scanTests, false, "atoms eight apart exchanged"},
	{"scan", 75, scanTests, false, "a bound listed in units of its query"},
	{"scan", 76, scanTests, false, "two atoms of a warp's 32 left out of the vote"},
	{"scan_rows", 1, scanTests, false, "no wait for the copies of a slice"},
	{"scan_rows", 2, scanTests, false, "no barrier before a slice is used"},
	{"scan_rows", 3, scanTests, false, "half the codes left biased"},
	{"scan_rows", 4, scanTests, false, "the last four codes left out"},
	{"scan_rows", 5, scanTests, false, "the wrong half of a slice multiplied"},
	{"scan_rows", 6, scanTests, false, "an atom too few at the end of a chunk"},
	{"scan_rows", 7, scanTests, false, "a cut by the strip before"},
	{"scan_rows", 81, scanTests, false, "excluded atoms listed"},
	{"scan_rows", 83, scanTests, false, "atoms before a query's first listed"},
	{"scan_rows", 67, scanTests, false, "words read behind a row's end"},
	{"scan_mixed", 2, mixedScanTests, false, "a bound that is the threshold"},
	{"scan_mixed", 4, mixedScanTests, false, "an atom too many at the end of a chunk"},
	{"scan_mixed", 5, mixedScanTests, false, "sixteen atoms exchanged with the next"},
	{"scan_mixed", 6, mixedScanTests, false, "the last eight queries of a tile left out"},
	{"scan_mixed", 7, mixedScanTests, false, "sums of zero left out of the vote"},
	{"scan_mixed", 8, mixedScanTests, false, "compaction that counts a lane itself"},
	{"scan_mixed", 9, mixedScanTests, false, "atoms eight apart exchanged"},
	{"scan_mixed", 61, mixedScanTests, false, "pairs listed before all lanes have caught theirs"},
	{"scan_mixed", 62, mixedScanTests, false, "pairs counted as listed before all lanes have read theirs"},
	{"scan_mixed", 64, mixedScanTests, false, "an entry behind a list's end"},
	{"scan_mixed", 65, mixedScanTests, true, "a list's length increased without an atomic"},
	{"scan_mixed", 66, mixedScanTests, false, "positions of a query assigned by another lane"},
	{"scan_mixed", 81, mixedScanTests, false, "excluded atoms listed"},
	{"scan_mixed", 83, mixedScanTests, false, "atoms before a query's first listed"},
	{"mixed", 1, mixedCodeTests, false, "the rest mixed in units of its own"},
	{"mixed", 2, mixedCodeTests, false, "no barrier before heads and rests are multiplied"},
	{"mixed", 3, mixedCodeTests, false, "what is left of a query's factors not coded"},
	{"mixed", 4, mixedCodeTests, false, "no charge for the codes of terms"},
	{"mixed", 5, mixedCodeTests, false, "an error without that of the codes"},
	{"mixed", 6, mixedCodeTests, false, "codes of a query without a threshold"},
	{"dense", 1, denseTests, false, "a wait that leaves a slice under way"},
	{"dense", 2, denseTests, false, "no barrier before a slice is used"},
	{"dense", 3, denseTests, false, "fragments of two times eight rows exchanged"},
	{"dense", 4, denseTests, false, "products written over the last slice before all have read it"},
	{"dense", 5, denseTests, false, "products read before all are written"},
	{"dense", 6, denseTests, false, "the margin of rounding taken off"},
	{"dense", 7, denseTests, false, "the last row left out"},
	{"dense", 8, denseTests, false, "the position in the list not passed to the other lanes"},
	{"dense", 9, denseTests, false, "the centre of another coordinate"},
	{"dense", 10, rankTests, false, "a row of a block is ruled out by fewer than k"},
	{"dense", 11, rankTests, false, "the upper bounds of k rows rule out others"},
	{"dense", 12, rankTests, false, "rows above a ceiling rule out others"},
	{"dense", 13, rankTests, false, "rows that may not be returned rule out others"},
	{"dense", 81, denseTests, false, "excluded atoms listed"},
	{"dense", 83, denseTests, false, "atoms before a query's first listed"},
	{"lists", 1, listTests, false, "candidates not counted as kept"},
	{"lists", 2, "TestLookFigures", false, "atoms of a scan dropped unnoticed"},
	{"lists", 3, goalTests, false, "a chunk that ends too early"},
	{"lists", 4, goalTests, false, "the first given atoms taken again"},
	{"lists", 5, goalTests, true, "no barrier before the given atoms are advanced"},
	{"lists", 31, listTests, false, "no barrier after the bins are cleared"},
	{"lists", 32, listTests, false, "of equal keys the higher atoms first"},
	{"lists", 33, listTests, true, "bins counted without atomics"},
	{"lists", 35, listTests, true, "totals of one round written over those of the round before"},
	{"lists", 36, listTests, false, "the greatest bound of the last warp"},
	{"lists", 37, listTests, false, "no barrier after the figures are cleared"},
	{"lists", 38, listTests, false, "entries moved one too far"},
	{"lists", 39, listTests, false, "an entry behind a list's end"},
	{"lists", 91, shareTests, true, "totals of one round of lists written over those of the round before"},
	{"move_lists", 92, shareTests, false, "the same share for all warps of a block"},
	{"move_lists", 93, shareTests, false, "the first share of a list looked for in the list before"},
	{"move_lists", 94, shareTests, false, "the last entry of a share left out"},
	{"looks", 92, lookTests, false, "the same share for all warps of a block"},
	{"score", 94, scoreTests, false, "the last candidate of a share left out"},
	{"score", 1, goalTests, false, "the best of another query of the run"},
	{"score", 48, mergeTests, false, "arms above the ceiling among the best"},
	{"score", 41, mergeTests, false, "of equal scores the higher row first"},
	{"score", 42, mergeTests, false, "no barrier between steps of the sort"},
	{"score", 43, mergeTests, false, "a row taken twice"},
	{"score", 44, mergeTests, false, "no barrier between reading and moving the best"},
	{"score", 45, mergeTests, false, "the allowed gap taken off the threshold"},
	{"score", 46, mergeTests, false, "one too many of the best"},
	{"score", 47, mergeTests, true, "arms to be merged counted without an atomic"},
	{"score", 51, scoreTests, false, "the last coordinate left out"},
	{"score", 52, scoreTests, false, "squared distances not scaled"},
	{"score", 53, scoreTests, false, "the same row for all lanes"},
	{"score", 54, scoreTests, false, "squares of cosines not rounded from all their bits"},
	{"tighten", 1, "TestTighten", false, "no more rounds for a query with a ceiling"},
	{"tighten", 48, "TestTighten", false, "arms above the ceiling among the best"},
	{"tighten", 42, "TestTighten", false, "no barrier between steps of the sort"},
	{"tighten", 37, "TestTighten", false, "no barrier after the figures are cleared"},
	{"tighten", 2, shortTests, false, "queries tightened again that a warp has tightened"},
	{"tighten_short", 1, shortTests, false, "one entry fewer taken than wanted"},
	{"tighten_short", 2, shortTests, true, "entries moved before all lanes have read theirs"},
	{"tighten_short", 3, shortTests, true, "candidates read before all lanes have written theirs"},
	{"tighten_short", 4, shortTests, false, "a row taken twice"},
	{"tighten_short", 32, shortTests, false, "of equal keys the higher atoms first"},
	{"tighten_short", 39, shortTests, false, "an entry behind a list's end"},
	{"tighten_short", 41, shortTests, false, "of equal scores the higher row first"},
	{"looks", 1, lookTests, false, "the head's error taken off a bound"},
	{"looks", 2, lookTests, false, "a bound worse than the one before"},
	{"looks", 3, lookTests, false, "an entry behind a list's end"},
	{"looks", 4, lookTests, false, "signs that are not set counted as nothing"},
	{"looks", 5, lookTests, false, "the lower halves of the head left out"},
	{"looks", 6, lookTests, false, "two bytes exchanged where signs choose"},
	{"looks", 7, lookTests, false, "a row of another group of lanes"},
	{"prepare", 1, codeTests, false, "half a radius"},
	{"prepare", 2, codeTests, true, "no barrier after a sum over the block"},
	{"prepare", 3, codeTests, false, "an error without that of the codes"},
	{"prepare", 4, codeTests, false, "a coordinate too few beyond a look"},
	{"prepare", 5, codeTests, false, "high halves that are not rounded"},
	{"prepare", 6, codeTests, false, "the centre left in a query"},
	{"prepare", 7, codeTests, false, "a ceiling that is not scaled"},
	{"prepare", 8, codeTests, false, "a ceiling rounded up to a greater score"},
	{"prepare_rotate", 1, rotationTests, false, "no barrier between rounds"},
	{"prepare_rotate", 2, rotationTests, false, "no barrier before heads are read"},
	{"prepare_rotate", 3, rotationTests, false, "a sign exchanged in a transform"},
	{"prepare_rotate", 4, rotationTests, false, "the next query's coordinates"},
	{"norms", 1, "TestListNorms", false, "an atom on the threshold dropped"},
	{"norms", 2, "TestListNorms", true, "a list's length increased without an atomic"},
	{"norms", 81, "TestListNorms", false, "excluded atoms listed"},
	{"norms", 83, "TestListNorms", false, "atoms before a query's first listed"},
}

// TestMutants checks that the tests of kernels detect deliberate faults: under one of three orders
// of threads, or under the checker. `make mutants` runs it.
func TestMutants(t *testing.T) {
	needEmulator(t)
	sound := map[string]bool{} // tests that pass under the checker without a fault
	for _, m := range mutants {
		name := fmt.Sprintf("%s:%d", m.module, m.number)
		if m.checker {
			if _, ok := sound[m.tests]; !ok {
				sound[m.tests] = true
				if out, ok := passes(t, m.tests, "EMU_SEED=0", "EMU_RACE=1"); !ok {
					t.Fatalf("without a fault %s fail under the checker:\n%s", m.tests, out)
				}
			}
			if _, ok := passes(t, m.tests, "EMU_MUTANT="+name, "EMU_SEED=0", "EMU_RACE=1"); ok {
				t.Errorf("%s, %s: not seen by the checker", name, m.what)
			}
			continue
		}
		seen := ""
		for _, seed := range []string{"0", "1", "2"} {
			if _, ok := passes(t, m.tests, "EMU_MUTANT="+name, "EMU_SEED="+seed); !ok {
				seen = seed
				break
			}
		}
		if seen == "" {
			t.Errorf("%s, %s: not seen by %s", name, m.what, m.tests)
		} else {
			t.Logf("%s, %s: seen under seed %s", name, m.what, seen)
		}
	}
}

// passes runs tests in a process of their own, and reports whether they passed in time.
func passes(t *testing.T, tests string, env ...string) (out string, ok bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-test.short", "-test.failfast", "-test.run", "^("+tests+")$")
	cmd.Env = append(os.Environ(), env...)
	said, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if strings.Contains(string(said), "no tests to run") {
		t.Fatalf("there are no tests %s", tests)
	}
	return string(said), err == nil
}
