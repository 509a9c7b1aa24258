// exact.cuh: exact search scores of rows, by the warp.
#pragma once
#include "warp.cuh"

enum : int { kInnerProduct = 0, kCosine = 1, kEuclidean = 2 };

// Scorer is what scores of one query are made of; score.cu says what each is.
struct Scorer {
  const float* rows;
  const double *query, *rowNorm;
  int dim, metric, exp;
  bool aligned;  // 16 bytes can be read at a time
};

DEV Scorer scorer_of(const Query* queries, const float* rows, int dim, const double* scaled, const double* rowNorm, int metric) {
  const double* query = scaled + (size_t)blockIdx.x * dim;
  return {rows, query, rowNorm, dim, metric, queries[blockIdx.x].exp, dim % 4 == 0 && ((size_t)rows | (size_t)query) % 16 == 0};
}

// load4 reads coordinates c to c+3 of a row or of a query; zeros lie beyond dim.
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

// dots multiplies the first count of Rows rows (at most 4) by the query: lane l sums coordinates 4l to 4l+3
// and every 128th beyond, in this order, and fold4 the lanes, so that a product does not depend on what is
// multiplied beside it. Lane l gets that of row l % 4 and, with Norms, the row's sum of squares.
template <int Rows, bool Norms>
DEV double dots(const Scorer& s, const float* const* row, int count, double* squares) {
  double dot[4] = {0, 0, 0, 0}, square[4] = {0, 0, 0, 0};
#pragma unroll 2
  for (int c = 4 * lane_id(); c < s.dim; c += 128) {
    double q[4];
    load4(q, s.query, c, s.dim, s.aligned);
#pragma unroll
    for (int r = 0; r < Rows; r++) {
      if (r >= count) break;
      double x[4];
      load4(x, row[r], c, s.dim, s.aligned);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        dot[r] = fma(x[k], q[k], dot[r]);
        if (Norms) square[r] = fma(x[k], x[k], square[r]);
      }
    }
  }
  if (Norms) *squares = fold4<32>(square);
  return fold4<32>(dot);
}

// score_rows scores count (1 to Rows) rows at once: lane r gives the number of row r and gets its score.
template <int Rows>
DEV double score_rows(const Scorer& s, u32 number, int count) {
  const float* row[Rows];
#pragma unroll
  for (int r = 0; r < Rows; r++) row[r] = s.rows + (size_t)__shfl_sync(kAll, number, MUTANT(53) ? 0 : r) * s.dim;
  if (s.metric == kEuclidean) {
    double squares, dot = dots<Rows, true>(s, row, count, &squares);
    return dot - ldexp(squares / 2, MUTANT(52) ? 0 : -s.exp);
  }
  double dot = dots<Rows, false>(s, row, count, 0);
  if (s.metric == kCosine && lane_id() < (u32)count) {
    double norm = s.rowNorm[number];
    dot = norm > 0 ? dot / norm : 0;
  }
  return dot;
}
