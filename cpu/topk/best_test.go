package topk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/simd"
)

// scoreLaws make the scores of tests: the i-th of n from r.
var scoreLaws = map[string]func(r *rand.Rand, i, n int) float64{
	"normal":     func(r *rand.Rand, _, _ int) float64 { return r.NormFloat64() },
	"far":        func(r *rand.Rand, _, _ int) float64 { return r.NormFloat64() * math.Exp2(400*r.NormFloat64()) },
	"ties":       func(r *rand.Rand, _, _ int) float64 { return float64(r.IntN(5) - 2) },
	"alike":      func(*rand.Rand, int, int) float64 { return -7 },
	"zeros":      func(r *rand.Rand, _, _ int) float64 { return math.Copysign(0, r.Float64()-.5) },
	"neighbours": func(r *rand.Rand, _, _ int) float64 { return 1 + float64(r.IntN(3000))*0x1p-52 },
	"subnormal":  func(r *rand.Rand, _, _ int) float64 { return float64(r.IntN(3000)) * 5e-324 },
	"ascending":  func(_ *rand.Rand, i, _ int) float64 { return float64(i) },
	"descending": func(_ *rand.Rand, i, n int) float64 { return float64(n - i) },
	"greatest":   func(r *rand.Rand, _, _ int) float64 { return math.MaxFloat64 * (r.Float64() - .5) * 2 },
	"an outlier": func(r *rand.Rand, i, _ int) float64 { return r.NormFloat64() + 1e30*float64(i%1000/999) },
	"infinite": func(r *rand.Rand, _, _ int) float64 {
		return []float64{math.Inf(1), math.Inf(-1), r.NormFloat64(), r.NormFloat64()}[r.IntN(4)]
	},
	"rising": func(r *rand.Rand, i, _ int) float64 { return r.NormFloat64() + math.Exp2(float64(i)/200) },
}

// drawScored draws scored atoms with distinct rows in random order.
func drawScored(law func(r *rand.Rand, i, n int) float64, seed uint64, n int) []Scored {
	r := rand.New(rand.NewPCG(seed, 2))
	all := make([]Scored, n)
	for i, row := range r.Perm(n) {
		all[i] = Scored{law(r, i, n), uint32(row)}
	}
	return all
}

// byRank orders best first.
func byRank(a, b Scored) int {
	if ranksBefore(a, b) {
		return -1
	}
	return 1
}

// TestTop: after each push the worst is the k-th best of what was pushed, and at the end the
// atoms are the k best in order, whatever the law of scores, k and what top held before.
func TestTop(t *testing.T) {
	for name, law := range scoreLaws {
		t.Run(name, func(t *testing.T) {
			var used Best
			var w Sorter
			rapid.Check(t, func(t *rapid.T) {
				checkTop(t, &used, &w, drawScored(law, rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 3000).Draw(t, "n")),
					rapid.OneOf(rapid.IntRange(0, 3000), rapid.IntRange(maxHeap-1, maxHeap+70)).Draw(t, "k"))
			})
		})
	}
}

func checkTop(t interface{ Fatalf(string, ...any) }, x *Best, w *Sorter, all []Scored, k int) {
	x.Reset(k)
	var floats Floats
	floats.Reset(max(k, 1))
	var best []Scored // the k best so far, in order
	for i, a := range all {
		if want := len(best) < k || k > 0 && a.Score > best[k-1].Score; k > 0 && floats.Takes(a.Score) != want {
			t.Fatalf("after %d the k greatest take %v: %v, want %v; k is %d", i, a.Score, !want, want, k)
		}
		x.Push(a)
		floats.Push(a.Score)
		at, _ := slices.BinarySearchFunc(best, a, byRank)
		if k == 0 || at < k {
			best = slices.Insert(best, at, a)
		}
		if k > 0 {
			best = best[:min(k, len(best))]
		}
		if x.Len() != len(best) || x.Full() != (k > 0 && len(best) == k) {
			t.Fatalf("%d pushed, %d kept, full %v; k is %d", i+1, x.Len(), x.Full(), k)
		}
		if x.Full() && x.Worst() != best[k-1] {
			t.Fatalf("after %d the worst of %d is %v, want %v", i+1, k, x.Worst(), best[k-1])
		}
		if x.Full() && (!floats.Full() || floats.Min() != best[k-1].Score) {
			t.Fatalf("after %d the least of %d is %v, want %v", i+1, k, floats.Min(), best[k-1].Score)
		}
	}
	if got := x.Sorted(w); !slices.Equal(got, best) {
		t.Fatalf("%d sorted otherwise than by comparison", len(best))
	}
}

// TestTopFloatsTogether: numbers that are pushed together, few or many at a time, leave the same k
// greatest as numbers pushed one by one, before and after others.
func TestTopFloatsTogether(t *testing.T) {
	for name, law := range scoreLaws {
		t.Run(name, func(t *testing.T) {
			var memory []float64
			rapid.Check(t, func(t *rapid.T) {
				n, k := rapid.IntRange(1, 2000).Draw(t, "n"), rapid.IntRange(1, maxHeap+70).Draw(t, "k")
				var one, all Floats
				one.Reset(k)
				all.Reset(k)
				for i, list := range slices.Collect(slices.Chunk(drawScored(law, rapid.Uint64().Draw(t, "seed"), n), rapid.IntRange(1, n).Draw(t, "chunk"))) {
					var scores []float64
					for _, a := range list {
						one.Push(a.Score)
						if i%3 == 2 {
							all.Push(a.Score)
						} else {
							scores = append(scores, a.Score)
						}
					}
					all.PushAll(scores, &memory)
					if one.Len() != all.Len() || one.Full() && one.Min() != all.Min() {
						t.Fatalf("list %d: %d numbers together, %d one by one; k is %d", i, all.Len(), one.Len(), k)
					}
				}
				got, want := slices.Sorted(slices.Values(all.kept)), slices.Sorted(slices.Values(one.kept))
				if !slices.Equal(got, want) {
					t.Fatalf("%v together, %v one by one", got, want)
				}
			})
		})
	}
}

// TestTopTakes: lists that are taken one after the other give the same as pushes.
func TestTopTakes(t *testing.T) {
	for name, law := range scoreLaws {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n, k := rapid.IntRange(1, 2000).Draw(t, "n"), rapid.IntRange(0, 2000).Draw(t, "k")
				all := drawScored(law, rapid.Uint64().Draw(t, "seed"), n)
				var got, part Best
				got.Reset(k)
				for list := range slices.Chunk(all, rapid.IntRange(1, n).Draw(t, "chunk")) {
					part.Reset(k)
					part.Take(slices.Clone(list))
					got.Take(part.Release())
				}
				want := slices.SortedFunc(slices.Values(all), byRank)
				if k > 0 {
					want = want[:min(k, n)]
				}
				if !slices.Equal(got.Sorted(&Sorter{}), want) {
					t.Fatalf("other atoms than the %d best of %d", k, n)
				}
			})
		})
	}
}

// TestDropWorse: scores that are appended in rounds, worse ones dropped after each, leave the k best.
func TestDropWorse(t *testing.T) {
	for name, law := range scoreLaws {
		t.Run(name, func(t *testing.T) {
			w := &Sorter{Kern: simd.Best()}
			rapid.Check(t, func(t *rapid.T) {
				n, k := rapid.IntRange(1, 2000).Draw(t, "n"), rapid.IntRange(1, 1500).Draw(t, "k")
				all := drawScored(law, rapid.Uint64().Draw(t, "seed"), n)
				var got Best
				got.Reset(k)
				for list := range slices.Chunk(all, rapid.IntRange(1, n).Draw(t, "round")) {
					for _, a := range list {
						if got.Full() && a.Row%7 == 3 {
							got.Push(a)
						} else {
							got.Append(a)
						}
					}
					got.DropWorse(w)
				}
				want := slices.SortedFunc(slices.Values(all), byRank)
				if !slices.Equal(got.Sorted(w), want[:min(k, n)]) {
					t.Fatalf("other atoms than the %d best of %d", k, n)
				}
			})
		})
	}
}

func FuzzTop(f *testing.F) {
	f.Add([]byte("a few scores, repeated"), 300, 40)
	f.Add([]byte{0, 0x80, 0x7f, 0xff, 0xf0, 1, 2, 3, 4, 5, 6, 7}, 257, 100)
	f.Fuzz(func(t *testing.T, data []byte, k, times int) {
		var all []Scored
		for i := range len(data) * int(uint(times)%200) {
			var bits uint64
			for j := range 8 {
				bits = bits<<8 | uint64(data[(i*5+j*(i/len(data)+1))%len(data)])
			}
			if x := math.Float64frombits(bits); x == x {
				all = append(all, Scored{x, uint32(len(all))})
			}
		}
		checkTop(t, &Best{}, &Sorter{}, all[:min(len(all), 2000)], int(uint(k)%1000))
	})
}

// TestSortArms: arms are sorted by bound, then by index.
func TestSortArms(t *testing.T) {
	for name, law := range scoreLaws {
		t.Run(name, func(t *testing.T) {
			var w Sorter
			rapid.Check(t, func(t *rapid.T) {
				var arms []Arm
				for _, a := range drawScored(law, rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 3000).Draw(t, "n")) {
					arms = append(arms, Arm{Bound: a.Score, ID: a.Row})
				}
				want := slices.SortedFunc(slices.Values(arms), byBound)
				if w.SortArms(arms); !slices.Equal(arms, want) {
					t.Fatalf("%d arms sorted otherwise than by comparison", len(arms))
				}
			})
		})
	}
}

// BenchmarkTop pushes random scores and sorts the k best, in buckets and in a heap alternately.
func BenchmarkTop(b *testing.B) {
	const n = 1 << 20
	all := drawScored(scoreLaws["normal"], 1, n)
	for _, k := range []int{64, 256, 512, 1000, 10_000, 100_000} {
		var x Best
		var w Sorter
		b.Run(fmt.Sprintf("k=%d/top", k), func(b *testing.B) {
			for b.Loop() {
				x.Reset(k)
				for _, a := range all {
					x.Push(a)
				}
				x.Sorted(&w)
			}
		})
		h := heapOfScored{k: k}
		b.Run(fmt.Sprintf("k=%d/heap", k), func(b *testing.B) {
			for b.Loop() {
				h.heap = h.heap[:0]
				for _, a := range all {
					h.push(a)
				}
				slices.SortFunc(h.heap, byRank)
			}
		})
	}
}

// heapOfScored is a heap of the k best at any k, to compare with.
type heapOfScored struct {
	k    int
	heap []Scored
}

func (t *heapOfScored) push(x Scored) {
	h := t.heap
	if len(h) < t.k {
		h = append(h, x)
		t.heap = h
		for i := len(h) - 1; i > 0; {
			p := (i - 1) / 2
			if ranksBefore(h[i], h[p]) {
				break
			}
			h[i], h[p] = h[p], h[i]
			i = p
		}
		return
	}
	if ranksBefore(x, h[0]) {
		h[0] = x
		sink(h, 0)
	}
}
