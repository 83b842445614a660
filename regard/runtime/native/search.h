// What a beam search keeps: beams, hypotheses, candidates.
#pragma once

#include <memory>
#include <vector>

#include "layers.h"

namespace {

struct Beam {
    float score = 0;
    std::vector<int32_t> tokens;
    std::vector<uint16_t> path;  // which beam of each step before holds its keys and values
};

struct Hypothesis {
    float score;
    std::vector<int32_t> tokens;
    bool truncated;
};

// The best of the hypotheses that are no longer extended.
struct Pool {
    size_t size;
    std::vector<Hypothesis> best;
    void add(Hypothesis one) {
        if (!(one.score > NONE)) return;
        auto after = [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; };
        best.insert(std::upper_bound(best.begin(), best.end(), one, after), std::move(one));
        if (best.size() > size) best.pop_back();
    }
};

struct Sentence {
    int index, source_length, max_length;
    std::vector<SourceKeys> source;                 // of every layer
    std::vector<std::unique_ptr<float[]>> history;  // of every step: keys and values of each beam in each layer
    std::vector<Beam> beams;
    Pool finished, abandoned;
};

struct Candidate {
    float score;
    int32_t token;
    int beam;
    bool operator<(const Candidate& other) const { return score > other.score; }
};

// The most probable tokens of a row, from logits that come tile by tile, and log Σ exp(logit).
struct TopTokens {
    size_t size;
    bool normalized;
    std::vector<Candidate> best;
    float top = NONE, total = 0;

    void add(const float* logits, int count, int first) {  // count is a multiple of LANES
        Vector lanes = fill(NONE);
        for (int j = 0; j < count; j += LANES) lanes = load(logits + j) > lanes ? load(logits + j) : lanes;
        const float highest = largest(lanes);
        if (normalized && highest > NONE) {
            const float new_top = std::max(top, highest);
            Vector sums{};
            for (int j = 0; j < count; j += LANES) sums += exponential(load(logits + j) - new_top);
            total = total * std::exp(top - new_top) + sum(sums);
            top = new_top;
        }
        if (best.size() == size && !(highest > best.back().score)) return;
        for (int j = 0; j < count; j += LANES) {
            if (best.size() == size && !(largest(load(logits + j)) > best.back().score)) continue;
            for (int i = j; i < j + LANES; i++) insert({logits[i], first + i, 0});
        }
    }
    void insert(const Candidate& one) {
        if (!(one.score > (best.size() == size ? best.back().score : NONE))) return;
        if (best.size() == size) best.pop_back();
        best.insert(std::upper_bound(best.begin(), best.end(), one), one);
    }
    float log_total() const { return normalized ? top + std::log(total) : 0; }
};

// Whether tokens end in a few that are repeated.
bool is_looping(const std::vector<int32_t>& tokens, int repeats, int longest) {
    for (int period = 1; period <= longest && size_t(period) * repeats <= tokens.size(); period++) {
        auto tail = tokens.end() - period * repeats;
        if (std::equal(tail + period, tokens.end(), tail)) return true;
    }
    return false;
}

struct Options {
    int32_t beams, finished, normalized, loop_repeats, longest_cycle;
    float alpha;
};

}  // namespace
