// Norms, activations, positions and attention, each for one row at a time.
#pragma once

#include <cmath>
#include <vector>

#include "linear.h"

namespace {

struct Norm {
    enum Kind { IDENTITY, LAYER, RMS } kind;
    float epsilon;
    std::vector<float> weight, bias;

    void operator()(const float* x, float* y) const {
        const int width = int(weight.size());
        float mean = 0, squares = 0;
        if (kind == LAYER) {
#pragma omp simd reduction(+ : mean)
            for (int i = 0; i < width; i++) mean += x[i];
            mean /= width;
        }
#pragma omp simd reduction(+ : squares)
        for (int i = 0; i < width; i++) squares += (x[i] - mean) * (x[i] - mean);
        const float factor = 1 / std::sqrt(squares / width + epsilon);
        for (int i = 0; i < width; i++) y[i] = (x[i] - mean) * factor * weight[i] + bias[i];
    }
    void operator()(Rows& x, Rows& y, int width) const {
        y.resize(x.rows, width);
        for (int i = 0; i < x.rows; i++)
            kind == IDENTITY ? void(std::copy(x[i], x[i] + width, y[i])) : (*this)(x[i], y[i]);
    }
};

enum Activation { RELU, GELU, GELU_TANH, SILU, SWIGLU };

void activate(Activation kind, Rows& x, int width) {
    for (int i = 0; i < x.rows; i++) {
        float* row = x[i];
        if (kind == RELU)
            for (int j = 0; j < width; j++) row[j] = std::max(row[j], 0.0f);
        else if (kind == GELU)
            for (int j = 0; j < width; j++) row[j] *= 0.5f * (1 + std::erf(row[j] * 0.70710678f));
        else if (kind == GELU_TANH)
            for (int j = 0; j < width; j++)
                row[j] *= 0.5f * (1 + std::tanh(0.79788456f * (row[j] + 0.044715f * row[j] * row[j] * row[j])));
        else  // x · sigmoid(x); the gate of SwiGLU stands before what it is multiplied with
            for (int j = 0; j < width; j++)
                row[j] *= (kind == SWIGLU ? row[width + j] : 1.0f) / (1 + std::exp(-row[j]));
    }
}

struct Table {
    int rows, columns;
    std::vector<float> data;
    const float* operator[](int i) const { return data.data() + size_t(i) * columns; }
};

// Pairs of dimensions of every head, rotated by the angles of a position.
struct Rotation {
    const Table *cos = nullptr, *sin = nullptr;
    int width = 0;
    bool interleaved = false;

    void operator()(float* x, int heads, int head_dim, int position) const {
        const int half = width / 2;
        for (int h = 0; cos && h < heads; h++, x += head_dim)
            for (int i = 0; i < half; i++) {
                float &a = interleaved ? x[2 * i] : x[i], &b = interleaved ? x[2 * i + 1] : x[half + i];
                const float c = (*cos)[position][i], s = (*sin)[position][i], rotated = a * c - b * s;
                b = a * s + b * c, a = rotated;
            }
    }
};

// Scores -> weights that sum to one; behind the last key they are all but 0.
void softmax(float* scores, int count) {
    const int padded = pad(count);
    std::fill(scores + count, scores + padded, NONE);
    Vector top = fill(NONE), total{};
    for (int i = 0; i < padded; i += LANES) top = load(scores + i) > top ? load(scores + i) : top;
    const Vector shift = fill(largest(top));
    for (int i = 0; i < padded; i += LANES) {
        const Vector e = exponential(load(scores + i) - shift);
        store(scores + i, e);
        total += e;
    }
    const Vector factor = fill(1 / sum(total));
    for (int i = 0; i < padded; i += LANES) store(scores + i, load(scores + i) * factor);
}

// Keys of a source, transposed so that 16 of them are matched at a time (H · K, S), and its values (S, H · K).
struct SourceKeys {
    int length, padded;
    std::vector<float> keys, values;

    SourceKeys(int length, int inner) : length(length), padded(pad(length)) {
        keys.resize(size_t(inner) * padded);
        values.resize(size_t(length) * inner);
    }
    void put(int position, const float* k, const float* v, int inner) {
        for (int i = 0; i < inner; i++) keys[size_t(i) * padded + position] = k[i];
        std::copy(v, v + inner, values.begin() + size_t(position) * inner);
    }
};

struct Attention {
    int heads, head_dim;
    const Linear *project = nullptr, *out = nullptr;  // of queries, or of queries, keys and values
    Rotation rotate;
    const Table* bias = nullptr;  // (H, 2L - 1): of every distance from -(L - 1) on
    std::vector<float>* scores;   // scratch
    int inner() const { return heads * head_dim; }

    // What is added to the scores of the keys from position 0 on, for a query at this position.
    const float* bias_of(int head, int position) const {
        return bias ? (*bias)[head] + bias->columns / 2 - position : nullptr;
    }

    float* scratch(int count) const {
        if (int(scores->size()) < pad(count)) scores->resize(pad(count));
        return scores->data();
    }

    void finish_scores(float* s, int count, const float* added) const {
        const float factor = 1 / std::sqrt(float(head_dim));
        for (int j = 0; j < count; j++) s[j] = s[j] * factor + (added ? added[j] : 0.0f);
        softmax(s, count);
    }

    // softmax(q kᵀ / √K + bias) v over a source, for one query.
    void operator()(const float* q, int position, const SourceKeys& source, float* output) const {
        float* s = scratch(source.padded);
        for (int h = 0; h < heads; h++, q += head_dim, output += head_dim) {
            const float* keys = source.keys.data() + size_t(h) * head_dim * source.padded;
            for (int j = 0; j < source.padded; j += LANES) {
                auto key = [&](int d) { return load(keys + size_t(d) * source.padded + j); };
                store(s + j, weighted_sum(q, head_dim, key));
            }
            finish_scores(s, source.length, bias_of(h, position));
            const float* v = source.values.data() + h * head_dim;
            weigh(s, source.length, [&](int j) { return v + size_t(j) * inner(); }, output);
        }
    }

    // The same over the tokens before, whose keys and values stand one after the other wherever `cells` points to.
    void operator()(const float* q, const std::vector<const float*>& cells, float* output) const {
        const int count = int(cells.size());
        float* s = scratch(count);
        for (int h = 0; h < heads; h++, q += head_dim, output += head_dim) {
            for (int j = 0; j < count; j++) s[j] = dot(q, cells[j] + h * head_dim);
            finish_scores(s, count, bias_of(h, count - 1));
            weigh(s, count, [&](int j) { return cells[j] + inner() + h * head_dim; }, output);
        }
    }

private:
    float dot(const float* q, const float* k) const {
        float total = 0;
        if (head_dim % LANES == 0) {
            Vector lanes{};
            for (int d = 0; d < head_dim; d += LANES) lanes += load(q + d) * load(k + d);
            return sum(lanes);
        }
        for (int d = 0; d < head_dim; d++) total += q[d] * k[d];
        return total;
    }

    template <typename Values>
    void weigh(const float* weights, int count, Values values, float* output) const {
        int d = 0;
        for (; d + LANES <= head_dim; d += LANES) {
            store(output + d, weighted_sum(weights, count, [&](int j) { return load(values(j) + d); }));
        }
        for (; d < head_dim; d++) {
            float total = 0;
            for (int j = 0; j < count; j++) total += weights[j] * values(j)[d];
            output[d] = total;
        }
    }
};

struct Layer {
    bool post_norm;
    Activation activation;
    Attention self, cross;
    const Linear *up, *down;
    const Norm *self_norm, *cross_norm, *ffn_norm;
};

struct Stack {
    const Table *tokens, *positions;
    const Norm *embedding_norm, *final_norm;
    std::vector<Layer> layers;
};

}  // namespace
