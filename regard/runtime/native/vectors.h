// Vectors of 16 numbers: sums, exponentials, rounding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

constexpr int LANES = 16;
constexpr float NONE = -std::numeric_limits<float>::infinity();

typedef float Vector __attribute__((vector_size(64)));
typedef int32_t Integers __attribute__((vector_size(64)));
typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef float Loose __attribute__((vector_size(64), aligned(4), may_alias));

inline Vector load(const float* p) { return *reinterpret_cast<const Loose*>(p); }
inline void store(float* p, Vector x) { *reinterpret_cast<Loose*>(p) = x; }
inline Vector fill(float x) { return Vector{} + x; }
// To the nearest integer, a half to the even one, if |x| < 2^22.
inline Vector rounded(Vector x) { return (x + 12582912.0f) - 12582912.0f; }
inline int pad(int n) { return (n + LANES - 1) / LANES * LANES; }

inline float sum(Vector x) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)x);
#else
    float lanes[LANES];
    store(lanes, x);
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
    return lanes[0];
#endif
}

inline float largest(Vector x) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps((__m512)x);
#else
    float lanes[LANES];
    store(lanes, x);
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) lanes[i] = std::max(lanes[i], lanes[i + half]);
    return lanes[0];
#endif
}

// Σ weights[i] · term(i), in four sums that do not wait for each other.
template <typename Term>
inline Vector weighted_sum(const float* weights, int count, Term term) {
    Vector sums[4] = {};
    int i = 0;
    for (; i + 4 <= count; i += 4)
        for (int j = 0; j < 4; j++) sums[j] += weights[i + j] * term(i + j);
    for (; i < count; i++) sums[0] += weights[i] * term(i);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// e^x = 2^n e^r with |r| <= ln 2 / 2, e^r by its series to the sixth power; what is below -87 is all but 0.
inline Vector exponential(Vector x) {
    x = x < -87.0f ? fill(-87.0f) : x;
    x = x > 88.0f ? fill(88.0f) : x;
    const Vector n = rounded(x * 1.44269504f);
    const Vector r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Vector y = fill(1.0f / 720);
    for (float c : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) y = y * r + c;
    const Integers power = (__builtin_convertvector(n, Integers) + 127) << 23;
    Vector scale;
    std::memcpy(&scale, &power, sizeof scale);
    return y * scale;
}

}  // namespace
