package collection

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"thresher/bandit"
	"thresher/dataset"
	"thresher/simd"
)

// Basis is the coordinate system in which atoms are looked at.
type Basis uint8

const (
	// Rotated: head and random rotation with int8 codes, as method adaptive needs.
	Rotated Basis = iota
	// Raw: the given coordinates in random order without preprocessing, as methods strict and
	// the published ones specify.
	Raw
)

// ParseBasis parses auto (which is rotated) or raw.
func ParseBasis(s string) (Basis, error) {
	switch s {
	case "auto", "rotated", "":
		return Rotated, nil
	case "raw":
		return Raw, nil
	}
	return 0, fmt.Errorf("basis %q is none of auto, raw", s)
}

func (b Basis) String() string {
	if b == Raw {
		return "raw"
	}
	return "rotated"
}

// PanelAtoms is the number of atoms side by side in a panel.
const PanelAtoms = simd.PanelLanes

// Stage holds the terms of a look at the first Width rest coordinates for each atom, in
// internal order, padded with zero terms to whole panels. Let x be the int8 code of that
// prefix (zero beyond), o the rotated rest and a = 1/Scale in units of the code. An arm's
// upper bound (docs/guarantee.md) is
//
//	head + <x~, q_rest> + l Radius |q_rest| + rounding,   x~ = Scale * code
//
// with the Student reach l or, deterministically,
//
//	head + <x, q_rest> + Beyond |q_rest| + rounding,      x = RowScale * code.
//
// A stage of another Coding than Int8 has all D coordinates in Rows. It has no deterministic
// bound: Beyond is nil.
type Stage struct {
	Width  int
	Coding Coding
	Scale  []float32 // multiplies the integer dot of the code
	Radius []float32 // h, rounded upward
	XNorm  []float32 // |x~|, rounded upward
	Beyond []float32 // |o - x|, rounded upward
	// Rows holds, Stride bytes apart, the head's R codes of an atom as in Collection.Codes,
	// then its code by Coding. It is nil for Int8.
	Rows   []uint8
	Stride int
}

// Collection is n atoms prepared for elimination. All slices are read only.
type Collection struct {
	N, Dim int
	Metric Metric
	Basis  Basis
	Seed   uint64

	// Vectors holds the atoms as given, N of Dim coordinates, less Origin if there is one and they are not ElemFloat64.
	Vectors dataset.Vectors
	// Rows are the coordinates of Vectors if these are ElemFloat32, else nil: see Row, RowIn and Read.
	Rows []float32
	// Origin is the point in float64 that the rows given were taken relative to before they were
	// rounded to float32, or are wherever they are, [Dim]; nil is zero. Only collections for Euclidean distance have one, made
	// of numbers that float32 does not hold. Queries are taken relative to it, too; the Centre is
	// relative to it.
	Origin []float64
	// Change is what rounding the rows given to float32 changed.
	Change dataset.Change
	// Order maps an internal index to a row number. Internal order is by descending norm of
	// the working vector in steps of 4%, at random within a step; by ascending norm for Euclidean
	// distance, but in files from before nearVersion.
	Order []uint32
	// Norm is |v| of the working vector (v; v/|v| for cosine; v - Centre if there is one),
	// rounded upward, in internal order.
	Norm []float32
	// RowSquares is |v|^2 of the row as given, a canonical sum (package simd), by row number;
	// for cosine only.
	RowSquares []float64
	// Offset is -|v|^2/2 of the working vector, rounded upward, for Euclidean distance, else
	// nil; in internal order, padded to whole panels.
	Offset []float32
	// Centre is the point that atoms and queries are taken relative to for Euclidean distance,
	// [Dim], float32 values. It is nil for other metrics, for basis Raw, which has no
	// preprocessing, and in older files.
	Centre []float64
	// Longest is the greatest |v| of a row as given, if there is a Centre.
	Longest float64

	// The fields below are set for basis Rotated with Dim >= MinRotated, unless Options.NoCodes left
	// them out.

	// D is the dimension of the rotated rest, at least Dim.
	D int
	// R is the number of head directions, a multiple of 16, possibly 0.
	R int
	// HeadScale, HeadNorm and HeadErr are, for each atom, the value of one code step, |coded
	// head| and |head - coded head|, the last two rounded upward.
	HeadScale, HeadNorm, HeadErr []float32
	// RowScale is the value of one code step of an atom's rest.
	RowScale []float32
	// NormCaps holds, for each panel, the greatest Norm of its atoms and of all later ones. It
	// is not saved.
	NormCaps []float32
	// NormFloors holds, for each panel, a lower bound of |v| of its atoms and of all later ones, if
	// there are offsets. It is not saved.
	NormFloors []float32
	// Stages is sorted by Width; the last has Width D and is deterministic. Stages
	// with Rows of their own come before it.
	Stages []Stage
	// Panels holds the head and the first PanelWidth rest coordinates of 64 atoms side by
	// side: code c of lane i of panel p, biased by 128, is at p*PanelStride() + (c/4)*256 +
	// i*4 + c%4.
	Panels     []uint8
	PanelWidth int
	// Codes holds all codes of an atom contiguously, [N][R+D], biased by 128, the head first.
	Codes []uint8
	// Slack is gamma of bandit.Slack, the derived bound of all float32 rounding in heads and
	// rests, relative to |q||v|. CodeSlack is that of bandit.CodeSlack, relative to
	// |q_rest| max(|x~|, |o|).
	Slack, CodeSlack float64
	// Kappa is the tangent constant of the linear test.
	Kappa float64
	// Rotated32 holds the rotated coordinates in float32, [N][D], if Options.KeepRotated was
	// set. It is not saved.
	Rotated32 []float32

	transform *transform
	converted *sync.Pool    // of *[]float32, rowsTogether rows; nil if rows are Float32
	forecast  func() *Pilot // Forecast; nil if there is none

	// The fields below are set for basis Raw.

	// Perm is the random order of the coordinates.
	Perm []uint32
	// Bounds are the numbers of coordinates (0, 16 times powers of two, Dim) for which Suffix
	// terms are kept.
	Bounds []int
	// SuffixNorm and SuffixMax are |v beyond| and max|v_j beyond| after Bounds[b] coordinates
	// in Perm's order, rounded upward: [len(Bounds)][N].
	SuffixNorm, SuffixMax [][]float32

	ahead       *atomic.Bool  // ReadAhead; nil: rows are in memory
	verifying   *verification // of OpenVerifying
	unmap       func() error
	unusedBytes int64 // unused bytes of the file's mapping
}

// MinRotated is the least dimension that is rotated and coded; below it only methods
// certain and exact apply.
const MinRotated = bandit.MinStudentDim

// PanelStride returns the bytes of one panel.
func (c *Collection) PanelStride() int { return PanelAtoms * (c.R + c.PanelWidth) }

// PanelCount returns the number of panels; the last may be padded.
func (c *Collection) PanelCount() int { return (c.N + PanelAtoms - 1) / PanelAtoms }

// Coded reports whether the collection has codes for elimination.
func (c *Collection) Coded() bool { return c.Codes != nil }

// Unbuilt reports whether the collection was made without the codes that its rows could have
// (Options.NoCodes).
func (c *Collection) Unbuilt() bool { return c.Basis == Rotated && c.D == 0 && c.Dim >= MinRotated }

// RowNorm returns |v| of row i as given in float64 for cosine, else 0.
func (c *Collection) RowNorm(i int) float64 {
	if c.RowSquares == nil {
		return 0
	}
	return math.Sqrt(c.RowSquares[i])
}

// Values returns the least and greatest coordinate of the working vectors.
func (c *Collection) Values() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	memory := c.RowMemory()
	for i := range c.N {
		f := 1.0
		if n := c.RowNorm(i); n > 0 {
			f = 1 / n
		}
		for _, v := range c.RowIn(memory, i) {
			lo, hi = min(lo, float64(v)*f), max(hi, float64(v)*f)
		}
	}
	return lo, hi
}

// Code returns the codes of the atom of internal index i; the slice aliases Codes.
func (c *Collection) Code(i int) []uint8 {
	w := c.R + c.D
	return c.Codes[i*w : (i+1)*w : (i+1)*w]
}

// Stage returns the index of the stage of int8 codes of the given width, or -1.
func (c *Collection) Stage(width int) int {
	return slices.IndexFunc(c.Stages, func(l Stage) bool { return l.Width == width && l.Coding == Int8 })
}

// StageOf returns the index of the stage of a coding other than Int8, or -1.
func (c *Collection) StageOf(k Coding) int {
	return slices.IndexFunc(c.Stages, func(l Stage) bool { return l.Coding == k })
}

// Close unmaps a collection that was opened from a file; its slices must not be used
// afterwards. For a collection in memory it does nothing.
func (c *Collection) Close() error {
	if c.unmap == nil {
		return nil
	}
	f := c.unmap
	c.unmap = nil
	return f()
}

// computeNormCaps fills NormCaps from Norm, and NormFloors from Offset.
func (c *Collection) computeNormCaps() {
	c.NormCaps = make([]float32, c.PanelCount())
	most := float32(0)
	for p := len(c.NormCaps) - 1; p >= 0; p-- {
		most = max(most, slices.Max(c.Norm[p*PanelAtoms:min((p+1)*PanelAtoms, c.N)]))
		c.NormCaps[p] = most
	}
	if c.Offset == nil {
		return
	}
	c.NormFloors = make([]float32, c.PanelCount())
	offset := float32(math.Inf(-1))
	for p := len(c.NormFloors) - 1; p >= 0; p-- {
		offset = max(offset, slices.Max(c.Offset[p*PanelAtoms:min((p+1)*PanelAtoms, c.N)]))
		// The root of an upper bound of -|v|^2/2, less more than the rounding of both conversions.
		c.NormFloors[p] = float32(math.Sqrt(-2*float64(offset)) * (1 - 0x1p-23))
	}
}

// OnDisk reports whether the vectors are mapped from a file.
func (c *Collection) OnDisk() bool { return c.unmap != nil }

// Bytes returns the memory a collection holds, codes and terms included.
func (c *Collection) Bytes() int64 {
	b := int64(len(c.Vectors.Bytes())) + int64(len(c.Order))*4 + int64(len(c.Norm))*4 + int64(len(c.RowSquares))*8 +
		int64(len(c.Centre)+len(c.Origin))*8 + int64(len(c.Offset)+len(c.HeadScale)+len(c.HeadNorm)+len(c.HeadErr)+len(c.NormCaps)+len(c.NormFloors))*4 +
		int64(len(c.Panels)+len(c.Codes)) + int64(len(c.Rotated32)+len(c.Perm))*4
	for _, l := range c.Stages {
		b += int64(len(l.Scale)+len(l.Radius)+len(l.XNorm)+len(l.Beyond))*4 + int64(len(l.Rows))
	}
	for i := range c.SuffixNorm {
		b += int64(len(c.SuffixNorm[i])+len(c.SuffixMax[i])) * 4
	}
	if c.transform != nil {
		b += c.transform.bytes()
	}
	return b + max(0, c.unusedBytes)
}

// Options configure a build. Metric must be set; the zero values of the others are the defaults.
type Options struct {
	Metric Metric // InnerProduct, Cosine or Euclidean
	Basis  Basis
	// Elem is the type in which rows are kept: for Size and BuildOver; vectors and sources have their own, but a
	// source of float64 is rounded to float32 unless Elem is ElemFloat64.
	Elem dataset.Elem
	Seed uint64 // of the rotation or the coordinate order
	// Threads is the number of goroutines; 0 is GOMAXPROCS. The result does not depend on it.
	Threads int
	// NoHead omits the head, for comparing bounds.
	NoHead bool
	// NoCodes leaves out all that only looks read: head, rotation and codes. Such a collection
	// takes one reading of the rows to make, and is searched by dense scans, by methods auto, certain and
	// exact, with the answers that the same rows with codes have.
	NoCodes bool
	// KeepRotated keeps rotated float32 coordinates besides the codes, for plans that read
	// float32 prefixes. It takes as much memory as the rows.
	KeepRotated bool
	// Head is the number of head directions where there is a head: a multiple of 16, reduced to
	// what rows and dimension allow; 0 is 32. More of them take longer to fit, and bound with
	// certainty by fewer coordinates.
	Head int
	// Order, if not nil, is the internal order of the atoms, a permutation of the row numbers. It
	// replaces the order by norm, and needs basis Rotated. Searches are as right as with
	// any other order; those for the k best take longer.
	Order []uint32
	// Coordinates are the names of the coordinates, which a file keeps (Info) if it has room for
	// them: 8 KiB, in which names that count, such as d0, d1, .., take little.
	Coordinates []string
	// Origin and Change say of the rows that are given what Collection.Origin and .Change say. A
	// Source that is Rounded, or a dataset.Reader, has its own.
	Origin []float64
	Change dataset.Change
	// Mode is that of the file which Create makes, less the umask; 0 is 0644.
	Mode fs.FileMode
	// Memory is how many bytes a build into a file may take, the file's pages included; 0 for any number. A file
	// that does not fit is built a part at a time, and what is written is dropped from memory. That takes a
	// third reading of the rows, and for a while as much of the disk as they take. A build that needs more memory
	// of its own is refused by a MemoryError.
	Memory int64
	// HoldCodes lets a build of a file that does not fit hold codes that are not in their place yet in memory of its
	// own, as far as Memory has room. The others are written to the disk and read once more.
	HoldCodes bool
	// Progress, if not nil, is called with the rows done in both passes and their total, from
	// several goroutines concurrently and not always in order.
	Progress func(done, total int64)
}

// check returns an error if the options name no metric; o may be nil.
func (o *Options) check() error {
	if o == nil {
		return ErrNoMetric
	}
	return o.Metric.Check()
}

// RowError names a row that cannot be used.
type RowError struct {
	Row, Column int // 0-based; Column is -1 for the whole row
	Err         error
}

func (e *RowError) Error() string {
	if e.Column >= 0 {
		return fmt.Sprintf("row %d, column %d: %v", e.Row, e.Column, e.Err)
	}
	return fmt.Sprintf("row %d: %v", e.Row, e.Err)
}

func (e *RowError) Unwrap() error { return e.Err }

// Pilot is a forecast (Collection.Forecast). For each of Ks, with sampled atoms as queries, it
// has the share in [0, 1] of arms whose upper bound reaches the final threshold at each
// stage, by the Student law at a nominal alpha.
type Pilot struct {
	Ks     []int
	Alpha  float64
	Shares [][]float64 // [len(Ks)][len(Stages)]
	// Certain are the shares by the deterministic bound of each prefix.
	Certain [][]float64
	// Candidates are the shares whose estimate, without any radius, reaches the threshold: a first
	// look scores these candidates immediately.
	Candidates [][]float64 `json:"Hot"` // the name in files
	// Reached are the shares, for each of Ks, of the atoms that a first look in the order of norms
	// sees before the norms alone rule out the others. Nil in older files.
	Reached []float64 `json:",omitempty"`
	// Early is the same forecast under the thresholds that the first EarlyAtoms atoms make, in the
	// order in which a first look takes them; nil in older files, and where there are no others.
	Early *Pilot `json:",omitempty"`
}

// EarlyAtoms is the number of atoms that make the thresholds of Pilot.Early.
const EarlyAtoms = 1024
