// types.cuh: what kernels and the host share. gpu/types.go mirrors every structure; the entry
// `layout` of layout.cu writes their sizes and offsets, and a test compares them.
#pragma once
#include "dev.cuh"
#include "looks.gen.cuh"

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned int u32;
typedef unsigned long long u64;

// Flags of a query.
enum : u32 {
  kDone = 1,      // answered; no kernel looks at it again
  kDense = 2,     // to be answered by the dense path, or answered by it
  kListed = 4,    // a look has seen every atom
  kRandom = 8,    // an arm was dropped by a bound that can fail
  kOverflow = 16  // a list had no room: arms are missing from it
};

// Query is one query under elimination. Scores are the search scores of the given query times
// 2^-exp, as in the CPU backend's state; norms and errors are rounded upward. Thresholds and bounds
// are of the product form: for Euclidean distance, of query and atom less the centre, lead more than
// scores, which float64 may have wrong by give of their sizes (looks.Scale).
struct alignas(16) Query {
  double tau, epsilon, floor;       // threshold, allowed gap, least score wanted
  double lead, give;                // 0 but for Euclidean distance
  double norm, headNorm, restNorm;  // |q|, |head|, |rest|
  // For cosine |q|^2 of the query as it is scored, a canonical sum, else 1; and what makes that the query that is coded.
  double square, unit;
  // What a step of the integer codes is worth, and |w - coded w|: 8-bit codes of the present first
  // look; 16-bit codes; high halves of the latter alone, whose rest step is 256 restStep.
  double headStep8, restStep8, headErr8, restErr8;
  double headStep, restStep, headErr, restErr, highErr;
  double highSum;                   // sum of the rest's high halves
  // Factors of the bound of the present look (looks.Factors).
  double radiusFactor, hn, he, xn, nn, we, offsetFactor;
  const u64* filter;                // a bit an atom, 1 = may be returned; 0 allows all
  int exp;
  u32 k;                            // atoms wanted; 0: all that reach floor
  u32 skip;                         // one more atom that may not be returned, ~0u if none
  u32 flags;
  u32 allowed;                      // atoms that may be returned
  u32 best;                         // entries of the best so far
  u32 listed;                       // entries of the list
  u32 seen, kept;                   // by the present look
  u32 rows;                         // float32 rows scored
  u32 owed;                         // rows to be scored if no arm is dropped by a random bound; 0: not set
  u32 spare;
  u64 pulls, bytes;                 // of coordinates
  double open;                      // greatest bound in the list, -inf if none
  u32 before;                       // entries of the list before the present look
};

// bar is looks.Scale.Bar: the threshold that a score makes.
DEV double bar(const Query& q, double score) { return score + q.lead - q.give * (q.lead + fabs(score)); }

// Strip (looks.Strip) holds the greatest terms of kStrip atoms, rounded upward.
struct alignas(16) Strip { float headNorm, headErr, xnorm, norm, radius, offset, wholeErr, meanRadius; };

// Side (looks.Side) holds what a look at an atom's row needs besides the codes, side by side: survivors lie far
// apart, and an array each would be a sector of memory each. Kernel `sides` makes it of Terms.
struct alignas(16) Side {
  float headScale, scale, radius, headErr, offset;
  float size;      // greatest of headNorm, xnorm and norm
  float wholeErr;  // or 0
  float spare;
};

// Terms (looks.Terms) are what a look on codes reads of each atom besides the codes, in internal order, padded to
// whole strips with zeros. wholeErr and offset may be null.
struct Terms {
  const float *headScale, *headNorm, *headErr, *norm, *offset;
  const float *scale, *radius, *xnorm, *wholeErr;
  const Strip* strips;
  const Side* side;  // an entry an atom, for looks at rows; null: the arrays above serve
};

// Lists are the survivors of m queries: those of query j begin at j*cap, in no order. estimate is
// what the last look made of them. cap is a multiple of 4 and the arrays are aligned to 16 bytes.
struct Lists {
  u32* atom;
  float* bound;      // upper bound
  float* estimate;
  u32 cap;
};

// Report is what a look did for a query.
struct Report { u32 seen, kept; };
