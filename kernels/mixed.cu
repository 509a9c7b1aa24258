// mixed.cu: codes queries for a first look at mixed codes (looks.Mixed; scan_mixed.cu takes the look).
//
//   entry         grid x       threads  parameters
//   mix_queries   ceil(m/8)    W        head f32[m][R], rest f32[m][D], matrix f32[W][W], z f32[m][W] out, m, D, mixing
//   mixed_codes   ceil(m/8)    256      z f32[m][W], codes s8[m][W+32] out, queries Query[m], m, mixing
//
// W is the width of mixing, a multiple of 32 up to kMostMixed, at least R + To. mix_queries must run once a look,
// mixed_codes before each chunk that is scanned at mixed codes, after thresholds have changed. Of a Query the latter reads tau,
// radiusFactor, nn, headNorm and restNorm, which query_codes and look_factors (prepare.cu) write, and sets mixedStep and
// kMixed; a query whose threshold, or the step that it takes, is infinite has no mixed codes, and loses kMixed.
//
// z is the product of looks.Mixed.MixQuery, summed in another order, and codes are those of EncodeQuery for it.
#include "warp.cuh"

static const int kTogether = 8, kMostMixed = 160;

extern "C" __global__ void __launch_bounds__(160)
mix_queries(const float* head, const float* rest, const float* matrix, float* z, int m, int D, const __grid_constant__ Mixing mixing) {
  __shared__ float part[kTogether][kMostMixed];
  int R = mixing.R, W = mixing.width, K = R + mixing.To, first = (int)blockIdx.x * kTogether, n = min(kTogether, m - first), i = threadIdx.x;
  for (int j = 0; j < kTogether; j++) {
    float v = 0;
    if (j >= n) v = 0;
    else if (i < R) v = head[(size_t)(first + j) * R + i];
    else if (i < K) v = (float)(rest[(size_t)(first + j) * D + (i - R)] * (MUTANT(1) ? 1 : mixing.rest));
    part[j][i] = v;
  }
  if (!MUTANT(2)) __syncthreads();
  float sum[kTogether] = {};
  for (int k = 0; k < K; k++) {
    float f = matrix[k * W + i];
#pragma unroll
    for (int j = 0; j < kTogether; j++) sum[j] = fmaf(f, part[j][k], sum[j]);
  }
  for (int j = 0; j < n; j++) z[(size_t)(first + j) * W + i] = sum[j];
}

// warp_sum sums v over the lanes of a warp.
DEV double warp_sum(double v) {
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(kAll, v, d);
  return v;
}

// code_terms returns the code of the lane's coordinate of the terms. factors are those of the four products, over the step: at
// most its limit each.
DEV int code_terms(const double (&factors)[4], const Mixing& mixing) {
  int lane = (int)lane_id(), at = 0, code = 0;
  double charge = .01;  // more than what float64 loses
#pragma unroll
  for (int r = 0; r < 4; r++) {
    int n = kMixedRepeats[r], place = lane - at;
    double v = factors[r] * kMaxCode8 / mixing.limit[r];
    int whole = __double2int_rn(v), left = __double2int_rn(4 * n * (v - whole));
    if (place >= 0 && place < n) code = whole;
    if (place == n) code = MUTANT(3) ? 0 : left;
    if (place == n + 1) code = __double2int_rn(whole * .25);
    charge += (kMaxCode8 + abs(whole)) / 8. + 2 * n + .5 + n / 4.;
    at += n + 2;
  }
  if (lane == kMixedTerms - 1) code = MUTANT(4) ? 0 : __double2int_ru(charge / kChargeUnit);
  return code;
}

extern "C" __global__ void __launch_bounds__(256)
mixed_codes(const float* z, s8* codes, Query* queries, int m, const __grid_constant__ Mixing mixing) {
  int j = (int)blockIdx.x * 8 + (int)threadIdx.x / 32, lane = (int)lane_id(), W = mixing.width;
  if (j >= m) return;
  Query* q = queries + j;
  z += (size_t)j * W;
  codes += (size_t)j * (W + kMixedTerms);
  float v[kMostMixed / 32], greatest = 0;
  double squares = 0;
#pragma unroll
  for (int i = 0; i < kMostMixed / 32; i++) {
    v[i] = 32 * i < W ? z[32 * i + lane] : 0;
    squares += (double)v[i] * v[i];
    greatest = fmaxf(greatest, fabsf(v[i]));
  }
  for (int d = 16; d; d /= 2) greatest = fmaxf(greatest, __shfl_xor_sync(kAll, greatest, d));
  double norm = sqrt(warp_sum(squares)) * kUp, own = mixing.slack * norm + kLostLeast, rounding = sqrt((double)W) / 2 * kUp;
  double norms = (kSlop * q->headNorm + (kSlop + mixing.codeSlack) * q->restNorm + q->nn) * mixing.norms, beyond = kLeast - q->tau;
  double step = fmax(greatest / (double)kMaxCode8, fmax(fabs(beyond) / mixing.limit[0], q->radiusFactor / mixing.limit[1]));
  step = fmax(step, fmax((own + norms) / (mixing.limit[2] - rounding), (norm + own) / (mixing.limit[3] - rounding)));
  step = fmax(step, kLeastStep) * kUp;
  double errors = 0;
#pragma unroll
  for (int i = 0; i < kMostMixed / 32; i++) {
    int code = __double2int_rn(v[i] / step);
    double d = v[i] - code * step;
    errors += d * d;
    if (32 * i < W) codes[32 * i + lane] = (s8)code;
  }
  double lost = (MUTANT(5) ? 0 : sqrt(warp_sum(errors)) * kUp) + own;
  double factors[4] = {beyond / step, q->radiusFactor / step, (lost + norms) / step, (norm + lost) / step};
  codes[W + lane] = (s8)code_terms(factors, mixing);
  if (lane > 0) return;
  bool coded = step - step == 0;
  q->mixedStep = step;
  q->flags = coded || MUTANT(6) ? q->flags | kMixed : q->flags & ~(u32)kMixed;
}
