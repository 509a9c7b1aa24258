// types.cuh: structures that kernels and host share. gpu/types.go mirrors each of them; the entry `layout` of layout.cu
// writes their sizes and offsets, and a test compares them.
#pragma once
#include "dev.cuh"
#include "looks.gen.cuh"

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned int u32;
typedef unsigned long long u64;

// Flags of a query.
enum : u32 {
  kDone = 1,      // answered; kernels skip the query
  kDense = 2,     // to be answered by the dense path, or answered by it
  kScanned = 4,    // all atoms have been seen by a look, or are ruled out by their norms
  kRandom = 8,    // an arm was dropped by a bound that can fail
  kOverflow = 16, // the list had no room: arms are missing from it
  kWaiting = 32,  // the query's chunk of a scan has not ended yet (mark_waiting of lists.cu)
  kMixed = 64     // it has mixed codes, made for its threshold (mixed_codes of mixed.cu)
};

// Query is the state of one query under elimination. Scores are the search scores of the given query times 2^-exp, as in
// the CPU backend's state; norms and errors are rounded upward. Thresholds and bounds are in product form: for Euclidean
// distance, where query and atom are taken less the centre, they exceed scores by lead, and the float64 rounding of a
// score is at most `give` of their sizes (looks.Conversion).
struct alignas(16) Query {
  double tau, epsilon;              // threshold, allowed gap
  double floor, ceiling;            // least and greatest score wanted
  double lead, give;                // 0 except for Euclidean distance
  double norm, headNorm, restNorm;  // |q|, |head|, |rest|
  // |q|^2 of the scored query for cosine, a canonical sum, else 1; and the factor from the scored query to the coded one.
  double square, unit;
  // Values of a step of the integer codes, and errors |w - coded w|: of the 8-bit codes of the current first look;
  // of the 16-bit codes; of their high halves alone, whose rest step is 256 restStep.
  double headStep8, restStep8, headErr8, restErr8;
  double headStep, restStep, headErr, restErr, highErr;
  double highSum;                   // sum of the rest's high halves
  double mixedStep;                 // value of a step of the mixed codes
  // Factors of the current look's bound (looks.Factors).
  double radiusFactor, hn, he, xn, nn, we, offsetFactor;
  const u64* filter;                // one bit an atom, 1 = may be returned; null allows all
  const u32* excluded;              // more atoms that looks and dense scans pass over, ascending; ~0u follows them
  const u32* given;                 // atoms to be scored before the first look; they are among the excluded
  u32 excludes, givens;             // numbers of both
  u32 from;                         // atoms below it are excluded, too
  int exp;
  u32 k;                            // number of answers; 0: all atoms whose score reaches floor
  u32 flags;
  u32 allowed;                      // number of atoms that may be returned
  u32 best;                         // number of the best held so far
  u32 listed;                       // length of the list
  u32 seen, kept;                   // atoms seen and kept by the current look
  u32 rows;                         // float32 rows scored
  u32 expectedRows;                         // rows that will have been scored unless a random bound drops an arm; 0: not set
  u32 origin;                       // of a query of a dense scan: its index in the run
  u64 pulls, bytes;                 // coordinates and bytes read
  double open;                      // greatest bound in the list, -inf if it is empty
  u32 listedBefore;                       // length of the list before the current look
};

// short_of_ceiling reports whether a query with a ceiling holds fewer than k. Arms above the ceiling have the greatest
// bounds, give no threshold, and must be scored anyway; so such a query scores more of them at once than the others.
DEV bool short_of_ceiling(const Query* q) { return q->best < q->k && q->ceiling < __longlong_as_double(0x7ff0000000000000ll); }

// threshold returns the threshold that a score makes, as looks.Conversion.Threshold does.
DEV double threshold(const Query& q, double score) { return score + q.lead - q.give * (q.lead + fabs(score)); }

// Strip (looks.Strip) holds the greatest of each term over kStrip atoms, rounded upward.
struct alignas(16) Strip { float headNorm, headErr, xnorm, norm, radius, offset, wholeErr, meanRadius; };

// Side (looks.Side) holds an atom's terms for looks at rows next to each other: survivors are far apart, and separate
// arrays would cost a memory sector each. Kernel `sides` fills it from Terms.
struct alignas(16) Side {
  float headScale, scale, radius, headErr, offset;
  float size;      // greatest of headNorm, xnorm and norm
  float wholeErr;  // 0 if there is none
  float spare;
};

// Terms (looks.Terms) are the arrays that a look on codes reads besides the codes, by internal index, padded to whole
// strips with zeros. wholeErr and offset may be null.
struct Terms {
  const float *headScale, *headNorm, *headErr, *norm, *offset;
  const float *scale, *radius, *xnorm, *wholeErr;
  const Strip* strips;
  const Side* side;  // one entry an atom, for looks at rows; null: the arrays above are read instead
};

// Lists are the survivors of m queries: the entries of query j begin at j*cap, unordered. estimate is that of the last
// look at rows. cap is a multiple of 4, and the arrays are aligned to 16 bytes.
struct Lists {
  u32* atom;
  float* bound;      // upper bound
  float* estimate;
  u32 cap;
};

// Mixing is what the mixed codes of queries are computed from (looks.Mixed).
struct Mixing {
  double limit[4];  // of each product, how great the query's factor may be, in steps
  double norms;     // greatest norm of an atom over its factor of the third product
  double slack;     // error of the product of y and z, relative to both norms
  double codeSlack; // the collection's
  double rest;      // factor of a rest's coordinates
  int R, To, width, spare;  // codes of the head and of the rest; codes of z, a multiple of 32
};

// Report is the number of atoms that a look saw and kept for a query.
struct Report { u32 seen, kept; };
