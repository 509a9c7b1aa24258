// exact.cuh: exact search scores of rows, computed by warps.
#pragma once
#include "warp.cuh"

// kRows is the number of rows a warp scores at once.
static const int kRows = 4;

// Scorer holds what the scores of one query are computed from; score.cu describes each field.
struct Scorer {
  const float* rows;
  const double *query, *rowSquare;
  double square;  // |q|^2
  int dim, metric, exp;
  bool aligned;   // rows and query can be read 16 bytes at a time
};

// scorer_of returns what scores of query j are computed from.
DEV Scorer scorer_of(const Query* queries, u32 j, const float* rows, int dim, const double* scaled, const double* rowSquare, int metric) {
  const double* query = scaled + (size_t)j * dim;
  const Query& q = queries[j];
  return {rows, query, rowSquare, q.square, dim, metric, q.exp, dim % 4 == 0 && ((size_t)rows | (size_t)query) % 16 == 0};
}

// load4 reads coordinates c to c+3 of a row or a query; coordinates from dim on are 0.
DEV void load4(double* v, const float* row, int c, int dim, bool aligned) {
  if (aligned) {
    float4 x = __ldcg(reinterpret_cast<const float4*>(row + c));
    v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] = c + k < dim - MUTANT(51) ? __ldg(row + c + k) : 0;
}
DEV void load4(double* v, const double* row, int c, int dim, bool aligned) {
  if (aligned) {
    double2 a = __ldg(reinterpret_cast<const double2*>(row + c)), b = __ldg(reinterpret_cast<const double2*>(row + c + 2));
    v[0] = a.x, v[1] = a.y, v[2] = b.x, v[3] = b.y;
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] = c + k < dim ? __ldg(row + c + k) : 0;
}

enum Term { kProduct, kSquaredDifference };

// sum_row returns the canonical sum (simd/sums.go) of a row's products with the query, or of the squared differences.
// Eight threads sum one row: each holds four of the sum's 32 lanes, and all eight get the result, or 0 if row is null.
// The result does not depend on the other rows of the warp. Products are exact in float64; the square of a difference
// is rounded before it is added.
template <Term T>
DEV double sum_row(const Scorer& s, const float* row) {
  double sum[4] = {0, 0, 0, 0};
  int end = row ? s.dim : 0;
#pragma unroll 4
  for (int c = 4 * (lane_id() % 8); c < end; c += 32) {
    double x[4], q[4];
    load4(x, row, c, s.dim, s.aligned);
    load4(q, s.query, c, s.dim, s.aligned);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      double d = T == kSquaredDifference ? q[k] - x[k] : 0;
      sum[k] = T == kSquaredDifference ? __dadd_rn(sum[k], __dmul_rn(d, d)) : fma(x[k], q[k], sum[k]);
    }
  }
#pragma unroll
  for (int d = 4; d > 0; d /= 2)
#pragma unroll
    for (int k = 0; k < 4; k++) sum[k] += __shfl_xor_sync(kAll, sum[k], d);
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

// cosine_of equals collection.CosineOf, bit for bit.
DEV double cosine_of(double dot, double vv, double qq) {
  if (dot == 0) return 0;
  double square = dot * dot, beyond = fma(dot, dot, -square), ratio = square / vv;
  if (!MUTANT(54)) ratio += (fma(-ratio, vv, square) + beyond) / vv;
  return copysign(sqrt(ratio / qq), dot);
}

// score_rows scores count (1 to kRows) rows at once: lane r passes the number of row r and gets its score.
DEV double score_rows(const Scorer& s, u32 number, int count) {
  int r = lane_id() / 8;
  u32 mine = __shfl_sync(kAll, number, MUTANT(53) ? 0 : r);
  const float* row = r < count ? s.rows + (size_t)mine * s.dim : nullptr;
  double score = s.metric == kEuclidean ? 0 - ldexp(sum_row<kSquaredDifference>(s, row) / 2, MUTANT(52) ? 0 : -s.exp) : sum_row<kProduct>(s, row);
  score = __shfl_sync(kAll, score, 8 * (lane_id() % kRows));
  if (s.metric == kCosine && lane_id() < (u32)count) score = ldexp(cosine_of(score, s.rowSquare[number], s.square), -s.exp);
  return score;
}
