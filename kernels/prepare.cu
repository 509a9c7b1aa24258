// prepare.cu: prepares a batch of queries for its first look: load and scale, project to the head, rotate the rest, round
// both to integer codes, and compute the factors of a look's bound. One entry for each step, in the order of this table;
// m queries of dim coordinates, rotated in D >= dim (a multiple of 4), with R head directions (a multiple of 16, or none).
// Arrays are row-major and begin at a multiple of 16 bytes; those marked out are written completely.
//
//   entry         grid x, y        threads  parameters
//   query_load    m                <= 256   q f32[m][dim] as given, scaled f64[m][dim] out, x f32[m][P] out,
//                                           queries Query[m], m, dim, P >= dim, metric, centre f64[dim] or null
//   head_project  ceil(m/8)        256      x f32[m][D], U f32[R][D] zero beyond dim, head f32[m][R] out,
//                                           rest f32[m][D] out (may be x), m, R, D
//   rotate        m                <= 256   x f32[m][D], sign f32[rounds][D], perm u32[rounds][D],
//                                           rest f32[m][D] out (not x), work, m, D, rounds
//   rotate_haar   ceil(m/8), any   256      x f32[m][D], haar f32[D][D], rest f32[m][D] out (not x), m, D
//   query_codes   m                <= 256   head, rest, codes8 s8[m][S] out or null, hi s8[m][P] and
//                                           lo s8[m][P] out or null, queries, m, R, D, To, S, P
//   look_factors  ceil(m/8)        256      queries, rest f32[m][D], m, D, To, rule, codes,
//                                           reach, slack, codeSlack (doubles)
//
// Threads are a multiple of 32; rotate uses at most 32 ceil(D/256). rotate takes 8 D bytes of dynamic shared memory, with
// work null; or none, if a block cannot have that much, with work f32[m][2][D]. rotate_haar has work for ceil(D/32) blocks
// along y. metric, rule (looks.Kind) and codes (looks.Codes) are those of looks.gen.cuh; reach is for kStudent only. To, a
// multiple of 4, is the width of the look; S is a multiple of 4, at least R + To; P of query_codes is (R+D+63)&~63. Codes
// beyond R + To and R + D are zero.
//
// Fields of a Query that are read and written:
//   query_load    converts epsilon, floor and ceiling from units of the given query's scores to units of 2^-exp, so it must run
//                 once a query; writes tau from floor, norm, exp, square, unit, lead, give
//   query_codes   writes headNorm, restNorm; with codes8 the fields that end in 8; with hi headStep,
//                 restStep, headErr, restErr, highErr, highSum
//   look_factors  reads these, writes radiusFactor, hn, he, xn, nn, we, offsetFactor
//
// The result for a query does not depend on the other queries, bit for bit. Roundings stay within what the collection's
// Slack and CodeSlack allow (docs/guarantee.md, float32 arithmetic); the comment of each kernel says why.
//
// Estimates, not measured on a GPU: for m = 1024, D = 768, R = 32 query_load reads and writes 12 MB, and head_project
// makes 50 M multiply-adds in 128 blocks.
#include "types.cuh"

static const int kWarps = 8;  // most warps of a block

// power returns 2^e, |e| < 1000.
DEV double power(int e) { return __longlong_as_double((long long)(1023 + e) << 52); }

// exponent is collection.Metric.Exponent; norm must be 0 or a normal number.
DEV int exponent(double norm, int metric) {
  if (norm == 0) return 0;
  int e = (int)(__double_as_longlong(norm) >> 52) - 1022;
  return metric == kEuclidean ? max(e, kLeastExpEuclidean) : e;
}

// block_sum sums each v over the threads of a block; all threads get the sums. The order of additions depends only on the
// number of threads. part holds N kWarps values.
template <int N>
DEV void block_sum(double (&v)[N], double* part) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
  for (int i = 0; i < N; i++) {
    for (int h = 16; h; h /= 2) v[i] += __shfl_xor_sync(~0u, v[i], h);
    if (lane == 0) part[i * kWarps + warp] = v[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < N; i++) {
    v[i] = 0;
    for (int w = 0; w < (int)blockDim.x / 32; w++) v[i] += part[i * kWarps + w];
  }
  if (!MUTANT(2)) __syncthreads();
}

// block_max returns the greatest of each v over the threads of a block to all threads.
template <int N>
DEV void block_max(float (&v)[N], float* part) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
  for (int i = 0; i < N; i++) {
    for (int h = 16; h; h /= 2) v[i] = max(v[i], __shfl_xor_sync(~0u, v[i], h));
    if (lane == 0) part[i * kWarps + warp] = v[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < N; i++) {
    v[i] = part[i * kWarps];
    for (int w = 1; w < (int)blockDim.x / 32; w++) v[i] = max(v[i], part[i * kWarps + w]);
  }
  __syncthreads();
}

// sum_squares returns the canonical sum (simd/sums.go) of the squares of dim numbers, computed by a warp: each of its
// lanes is one of the sum's.
DEV double sum_squares(const float* q, int dim) {
  double sum = 0;
#pragma unroll 8
  for (int i = threadIdx.x & 31; i < dim; i += 32) sum = fma((double)q[i], (double)q[i], sum);
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  return sum;
}

// scale_ceiling returns c 2^-e, or the number below it if that was rounded up to a greater one, which only subnormal numbers
// are: a score above the ceiling must stay above it.
DEV double scale_ceiling(double c, int e) {
  double scaled = c * power(-e);
  if (scaled * power(e) <= c || MUTANT(8)) return scaled;
  long long bits = __double_as_longlong(scaled);
  return scaled == 0 ? -0x1p-1074 : __longlong_as_double(scaled > 0 ? bits - 1 : bits + 1);
}

// query_load subtracts the centre, if there is one, from a query and scales it by 2^-exp, and by 1/|q| for cosine, in
// float64; x is the result rounded to float32, as in collection.PrepareBatch. scaled is the query as given times a power
// of two: for cosine the one that leaves a norm in [1/2, 1), for Euclidean distance 1, else 2^-exp.
extern "C" __global__ void __launch_bounds__(256)
query_load(const float* q, double* scaled, float* x, Query* queries, int m, int dim, int P, int metric, const double* centre) {
  __shared__ double part[kWarps];
  int j = blockIdx.x;
  if (j >= m) return;
  q += (size_t)j * dim;
  scaled += (size_t)j * dim;
  x += (size_t)j * P;
  double s[1] = {0};
  for (int i = threadIdx.x; i < dim; i += blockDim.x) {
    double v = q[i];
    if (centre) v -= centre[i];
    s[0] += v * v;
  }
  block_sum(s, part);
  double norm = sqrt(s[0]), scale = metric == kCosine && norm > 0 ? 1 / norm : 1, square = 1;
  int e = exponent(norm * scale, metric), given = metric == kCosine ? exponent(norm, metric) : metric == kEuclidean ? 0 : e;
  scale *= power(-e);
  if (metric == kCosine && threadIdx.x < 32) square = sum_squares(q, dim) * power(-given) * power(-given);
  s[0] = 0;
  for (int i = threadIdx.x; i < P; i += blockDim.x) {
    float v = 0;
    if (i < dim) {
      scaled[i] = q[i] * power(-given);
      v = (float)((centre && !MUTANT(6) ? q[i] - centre[i] : q[i]) * scale);
    }
    x[i] = v;
    s[0] += (double)v * v;
  }
  block_sum(s, part);
  if (threadIdx.x) return;
  Query& t = queries[j];
  t.exp = e;
  t.norm = sqrt(s[0]) * kUp;
  t.square = square;
  t.unit = scale * power(given);
  t.epsilon *= power(-e);
  t.floor *= power(-e);
  t.ceiling = scale_ceiling(t.ceiling, MUTANT(7) ? 0 : e);
  t.lead = metric == kEuclidean ? norm * norm / 2 * power(-e) : 0;
  t.give = metric == kEuclidean ? (dim + kGiveTerms) * kGiveUnit : 0;
  t.tau = t.floor - t.floor == 0 ? threshold(t, t.floor) : t.floor;  // an infinite floor gives no threshold
}

// Coding maps numbers to integers of magnitude at most limit, as QuantizeQuery of cpu/revisit/codes.go does.
struct Coding {
  float step, inverse;
  int limit;
};

DEV Coding coding(float greatest, int limit) {
  double step = (double)greatest / limit;
  if (step < kLeastStep) return {0, 0, limit};
  return {(float)step, (float)(1 / step), limit};
}

// encode rounds four numbers to codes and returns the sum of the squared errors.
DEV double encode(const Coding& c, float4 v, int (&code)[4]) {
  float x[4] = {v.x, v.y, v.z, v.w};
  double squares = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    code[i] = min(max(__float2int_rn(x[i] * c.inverse), -c.limit), c.limit);
    double d = x[i] - (double)c.step * code[i];
    squares += d * d;
  }
  return squares;
}

DEV u32 pack4(const int* c) { return (c[0] & 255) | (c[1] & 255) << 8 | (c[2] & 255) << 16 | (u32)c[3] << 24; }

// query_codes computes the codes of head and rest as QuantizeQuery of cpu/revisit/codes.go does: equal steps and codes for equal head and rest, bit
// for bit, and errors and norms from float64 sums. A step is rounded before the codes are computed from it, so the errors
// are those of the final codes.
extern "C" __global__ void __launch_bounds__(256)
query_codes(const float* head, const float* rest, s8* codes8, s8* hi, s8* lo, Query* queries, int m, int R, int D,
            int To, int S, int P) {
  __shared__ double part[6 * kWarps];
  __shared__ float greatest[3 * kWarps];
  size_t j = blockIdx.x;
  if (j >= (size_t)m) return;
  head += j * R;
  rest += j * D;
  Query& t = queries[j];
  float most[3] = {0, 0, 0};  // greatest magnitudes: of the head, of the rest up to To, of the rest
  double squares[2] = {0, 0};
  for (int c = threadIdx.x; c < R; c += blockDim.x) {
    squares[0] += (double)head[c] * head[c];
    most[0] = max(most[0], fabsf(head[c]));
  }
  for (int c = threadIdx.x; c < D; c += blockDim.x) {
    float size = fabsf(rest[c]);
    squares[1] += (double)size * size;
    most[2] = max(most[2], size);
    if (c < To) most[1] = max(most[1], size);
  }
  block_sum(squares, part);
  block_max(most, greatest);
  if (threadIdx.x == 0) {
    t.headNorm = sqrt(squares[0]) * kUp;
    t.restNorm = sqrt(squares[1]) * kUp;
  }
  Coding head8 = coding(most[0], kMaxCode8), rest8 = coding(most[1], kMaxCode8);
  Coding head16 = coding(most[0], kMaxCode16), rest16 = coding(most[2], kMaxCode16);
  // Squared errors of the 8-bit head and rest, then of the 16-bit ones; the squares of the rest's low halves, and the
  // sum of its high ones.
  double sum[6] = {0, 0, 0, 0, 0, 0};
  for (int c = 4 * threadIdx.x; c < max(S, P); c += 4 * blockDim.x) {
    bool inHead = c < R;
    float4 v = make_float4(0, 0, 0, 0);
    if (c < R + D) v = *(const float4*)(inHead ? head + c : rest + (c - R));
    int code[4] = {0, 0, 0, 0}, low[4];
    if (codes8 && c < S) {
      if (c < R + To) {
        double e = encode(inHead ? head8 : rest8, v, code);
        sum[0] += inHead ? e : 0;
        sum[1] += inHead ? 0 : e;
      }
      *(u32*)(codes8 + j * S + c) = pack4(code);
    }
    if (hi && c < P) {
      double e = encode(inHead ? head16 : rest16, v, code);
      sum[2] += inHead ? e : 0;
      sum[3] += inHead ? 0 : e;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        low[i] = (s8)code[i];
        code[i] = (code[i] - (MUTANT(5) ? 0 : low[i])) >> 8;
        sum[4] += inHead ? 0 : low[i] * low[i];
        sum[5] += inHead ? 0 : code[i];
      }
      *(u32*)(hi + j * P + c) = pack4(code);
      *(u32*)(lo + j * P + c) = pack4(low);
    }
  }
  block_sum(sum, part);
  if (threadIdx.x) return;
  if (codes8) {
    t.headStep8 = head8.step;
    t.restStep8 = rest8.step;
    t.headErr8 = sqrt(sum[0]) * kUp;
    t.restErr8 = sqrt(sum[1]) * kUp;
  }
  if (hi) {
    t.headStep = head16.step;
    t.restStep = rest16.step;
    t.headErr = sqrt(sum[2]) * kUp;
    t.restErr = sqrt(sum[3]) * kUp;
    t.highErr = ((MUTANT(3) ? 0 : t.restErr) + t.restStep * sqrt(sum[4])) * kUp;
    t.highSum = sum[5];
  }
}

// look_factors computes looks.Factors of a look's bound; one warp a query. It reads the rest only for Cauchy's rule.
extern "C" __global__ void __launch_bounds__(256)
look_factors(Query* queries, const float* rest, int m, int D, int To, int rule, int codes, double reach, double slack,
             double codeSlack) {
  int lane = threadIdx.x & 31;
  size_t j = (size_t)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
  if (j >= (size_t)m) return;
  Query& t = queries[j];
  double within = 0, beyond = 0;
  if (rule == kCauchy) {
    rest += j * D;
    for (int c = lane; c < D; c += 32) {
      double v = rest[c];
      if (c < To) within += v * v;
      if (c >= To + MUTANT(4)) beyond += v * v;
    }
    for (int h = 16; h; h /= 2) {
      within += __shfl_xor_sync(~0u, within, h);
      beyond += __shfl_xor_sync(~0u, beyond, h);
    }
  }
  if (lane) return;
  double headErr = codes == kCodes8 ? t.headErr8 : t.headErr;
  double restErr = codes == kCodes8 ? t.restErr8 : codes == kCodes16 ? t.restErr : t.highErr;
  t.radiusFactor = rule == kWhole ? t.restNorm : rule == kStudent ? (MUTANT(1) ? .5 : 1) * reach * t.restNorm : sqrt(beyond) * kUp;
  t.we = rule == kCauchy ? sqrt(within) * kUp : 0;
  t.hn = headErr + kSlop * (t.headNorm + headErr);
  t.he = t.headNorm;
  t.xn = restErr + kSlop * (t.restNorm + restErr) + codeSlack * t.restNorm;
  t.nn = slack * t.norm + codeSlack * t.restNorm;
  t.offsetFactor = power(-t.exp);
}
