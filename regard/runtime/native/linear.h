// Products with weights, in float32 or in int8.
#pragma once

#include <cmath>
#include <vector>

#include "vectors.h"

namespace {

// Sums of 16 outputs in int32; x holds four activations, and w four weights of each output.
#if defined(__AVX512VNNI__)
constexpr int OFFSET = 128;  // the instruction takes activations without a sign; what it adds is subtracted again
constexpr int MR = 6, NR = 4;
struct Sums {
    __m512i s = _mm512_setzero_si512();
    // As an instruction: around the intrinsic of the same name, GCC copies every sum twice.
    void add(__m512i x, __m512i w) { asm("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(x), "v"(w)); }
    static __m512i activations(int32_t x) { return _mm512_set1_epi32(x); }
    static __m512i weights(const int8_t* w) { return _mm512_loadu_si512(w); }
    Integers get() const { return (Integers)s; }
};
#elif defined(__AVX2__)
constexpr int OFFSET = 0;
constexpr int MR = 4, NR = 1;
struct Sums {
    __m256i s[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    static __m256i activations(int32_t x) { return _mm256_set1_epi32(x); }
    static const int8_t* weights(const int8_t* w) { return w; }
    void add(__m256i xs, const int8_t* w) {
        const __m256i ones = _mm256_set1_epi16(1), positive = _mm256_abs_epi8(xs);
        for (int i = 0; i < 2; i++) {
            const __m256i signed_w = _mm256_sign_epi8(_mm256_loadu_si256((const __m256i*)w + i), xs);
            // Two products of at most 127 · 127 fit into 16 bits.
            s[i] = _mm256_add_epi32(s[i], _mm256_madd_epi16(_mm256_maddubs_epi16(positive, signed_w), ones));
        }
    }
    Integers get() const {
        Integers all;
        std::memcpy(&all, s, sizeof all);
        return all;
    }
};
#else
constexpr int OFFSET = 0;
constexpr int MR = 2, NR = 1;
struct Sums {
    int32_t s[LANES] = {};
    static int32_t activations(int32_t x) { return x; }
    static const int8_t* weights(const int8_t* w) { return w; }
    void add(int32_t x, const int8_t* w) {
        int8_t xs[4];
        std::memcpy(xs, &x, 4);
        for (int i = 0; i < LANES; i++)
            s[i] += xs[0] * w[4 * i] + xs[1] * w[4 * i + 1] + xs[2] * w[4 * i + 2] + xs[3] * w[4 * i + 3];
    }
    Integers get() const {
        Integers all;
        std::memcpy(&all, s, sizeof all);
        return all;
    }
};
#endif

// y = x wᵀ + b. Weights are packed in panels of 16 outputs: (panel, D, 16) in float32, (panel, D / 4, 16, 4) in int8.
struct Linear {
    int in, out, panels, groups;
    bool quantized;
    std::vector<float> weight, scale, bias;
    std::vector<int8_t> integers;
    std::vector<int32_t> excess;  // of a sum whose activations have OFFSET added
    int stride() const { return panels * LANES; }

    Linear(int in, int out, const float* w, const int8_t* q, const float* s, const float* b)
        : in(in), out(out), panels(pad(out) / LANES), groups((in + 3) / 4), quantized(q != nullptr),
          scale(stride()), bias(stride()), excess(stride()) {
        if (b) std::copy(b, b + out, bias.begin());
        quantized ? integers.resize(size_t(stride()) * groups * 4) : weight.resize(size_t(stride()) * in);
        for (int n = 0; n < out; n++) {
            const size_t panel = n / LANES, lane = n % LANES;
            if (quantized) scale[n] = s[n];
            for (int k = 0; k < in; k++) {
                const size_t source = size_t(n) * in + k;
                if (!quantized) weight[(panel * in + k) * LANES + lane] = w[source];
                if (quantized) integers[((panel * groups + k / 4) * LANES + lane) * 4 + k % 4] = q[source];
                if (quantized) excess[n] += OFFSET * q[source];
            }
        }
    }
};

// Rows that are multiplied, in eight bits where the weights have them: q = round(127 x / max |x|) in each row.
struct Input {
    const float* x;
    int stride, rows;
    std::vector<uint8_t> q;
    std::vector<float> scale;

    Input(const float* x, int stride, int rows, const Linear& linear) : x(x), stride(stride), rows(rows) {
        if (!linear.quantized) return;
        const int width = pad(linear.in);
        q.resize(size_t(rows) * width);
        scale.resize(rows);
        for (int m = 0; m < rows; m++) {
            const float* row = x + size_t(m) * stride;
            uint8_t* to = q.data() + size_t(m) * width;
            float top = 0;
#pragma omp simd reduction(max : top)
            for (int k = 0; k < linear.in; k++) top = std::max(top, std::fabs(row[k]));
            const float s = std::max(top / 127, std::numeric_limits<float>::min());
            scale[m] = s;
            for (int k = 0; k < linear.in; k += LANES) {  // what stands behind the row meets weights of 0
                const Integers q = __builtin_convertvector(rounded(load(row + k) / s), Integers) + OFFSET;
                const Bytes bytes = __builtin_convertvector(q, Bytes);
                std::memcpy(to + k, &bytes, sizeof bytes);
            }
        }
    }
};

template <int M, int N>
inline void multiply_block(const Linear& linear, const Input& input, int row, int panel, float* y, int stride) {
    if (linear.quantized) {
        Sums sums[M][N];
        const size_t panel_size = size_t(linear.groups) * LANES * 4, width = pad(linear.in);
        const int8_t* w = linear.integers.data() + panel * panel_size;
        const uint8_t* q = input.q.data() + row * width;
        for (int g = 0; g < linear.groups; g++) {
            decltype(Sums::weights(w)) columns[N];
            for (int n = 0; n < N; n++) columns[n] = Sums::weights(w + n * panel_size + g * LANES * 4);
            for (int m = 0; m < M; m++) {
                int32_t four;
                std::memcpy(&four, q + m * width + 4 * g, 4);
                const auto activations = Sums::activations(four);
                for (int n = 0; n < N; n++) sums[m][n].add(activations, columns[n]);
            }
        }
        for (int n = 0; n < N; n++) {
            const int column = (panel + n) * LANES;
            Integers excess;
            std::memcpy(&excess, linear.excess.data() + column, sizeof excess);
            for (int m = 0; m < M; m++) {
                const Vector total = __builtin_convertvector(sums[m][n].get() - excess, Vector);
                const Vector scale = load(linear.scale.data() + column) * input.scale[row + m];
                store(y + size_t(m) * stride + n * LANES, total * scale + load(linear.bias.data() + column));
            }
        }
        return;
    }
    Vector sums[M][N];
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) sums[m][n] = load(linear.bias.data() + (panel + n) * LANES);
    const size_t panel_size = size_t(linear.in) * LANES;
    const float *w = linear.weight.data() + panel * panel_size, *x = input.x + size_t(row) * input.stride;
    for (int k = 0; k < linear.in; k++)
        for (int n = 0; n < N; n++) {
            const Vector column = load(w + n * panel_size + k * LANES);
            for (int m = 0; m < M; m++) sums[m][n] += x[size_t(m) * input.stride + k] * column;
        }
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) store(y + size_t(m) * stride + n * LANES, sums[m][n]);
}

template <int M, int N>
inline void multiply_rows(const Linear& linear, const Input& input, int row, int panel, float* y, int stride) {
    if constexpr (M > 0) {
        if (input.rows - row < M) return multiply_rows<M - 1, N>(linear, input, row, panel, y, stride);
        multiply_block<M, N>(linear, input, row, panel, y + size_t(row) * stride, stride);
    }
}

// The outputs of panels first … last - 1, for all rows. A panel stays in the cache while all rows are multiplied.
void multiply(const Linear& linear, const Input& input, int first, int last, float* y, int stride) {
    for (int panel = first; panel < last;) {
        const bool wide = last - panel >= NR;
        float* columns = y + (panel - first) * LANES;
        for (int row = 0; row < input.rows; row += MR)
            wide ? multiply_rows<MR, NR>(linear, input, row, panel, columns, stride)
                 : multiply_rows<MR, 1>(linear, input, row, panel, columns, stride);
        panel += wide ? NR : 1;
    }
}

// Rows of activations, as wide as whole panels.
struct Rows {
    std::vector<float> data;
    int stride = 0, rows = 0;
    float* operator[](int i) { return data.data() + size_t(i) * stride; }
    void resize(int new_rows, int width) {
        rows = new_rows, stride = pad(width);
        if (data.size() < size_t(rows) * stride) data.resize(size_t(rows) * stride);
    }
};

void apply(const Linear& linear, Rows& x, Rows& y) {
    y.resize(x.rows, linear.out);
    multiply(linear, Input(x[0], x.stride, x.rows, linear), 0, linear.panels, y[0], y.stride);
}

}  // namespace
