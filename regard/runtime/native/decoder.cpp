// Translation by beam search, as a whole: the numbers of `regard.model` for a source -> the best target ids.
//
// B sentences · S source tokens · T target tokens · H heads · K head dimension · D model width · V vocabulary.
// Products are float32, or int8 with a scale for each row of activations. No number depends on the other rows of a
// batch, so a sentence is translated in the same way alone and among others. One thread; `build.py` compiles this file
// for a level of instructions, and `library.py` describes its functions.

#include "search.h"

namespace {

constexpr int TILE = 16;  // panels of the vocabulary whose logits are in the cache at the same time
constexpr int ROWS = 64;  // beams that are decoded at the same time, about

struct Model {
    int dim, bos, eos, pad_id;
    std::vector<std::unique_ptr<Linear>> linears;
    std::vector<std::unique_ptr<Norm>> norms;
    std::vector<std::unique_ptr<Table>> tables;
    Stack encoder, decoder;
    const Linear *source_keys, *output;  // keys and values of all layers of the decoder; logits
    std::vector<float> scores;
    Rows x, h, wide, heads, sub, tile;
    std::vector<const float*> cells;

    int cell_width() const {
        int width = 0;
        for (const Layer& layer : decoder.layers) width += 2 * layer.self.inner();
        return width;
    }

    void embed(const Stack& stack, int row, int32_t token, int position) {
        const float *t = (*stack.tokens)[token], *p = (*stack.positions)[position];
        for (int i = 0; i < dim; i++) x[row][i] = t[i] + p[i];
        if (stack.embedding_norm->kind != Norm::IDENTITY) (*stack.embedding_norm)(x[row], x[row]);
    }

    // x + f(x) with its norm before or after; f takes h and returns `sub`.
    template <typename Sublayer>
    void residual(const Norm& norm, bool post, Sublayer sublayer) {
        const Norm none{Norm::IDENTITY, 0, {}, {}};
        (post ? none : norm)(x, h, dim);
        sublayer();
        for (int i = 0; i < x.rows; i++) {
            for (int j = 0; j < dim; j++) x[i][j] += sub[i][j];
            if (post && norm.kind != Norm::IDENTITY) norm(x[i], x[i]);
        }
    }

    void feed_forward(const Layer& layer) {
        residual(*layer.ffn_norm, layer.post_norm, [&] {
            apply(*layer.up, h, wide);
            activate(layer.activation, wide, layer.down->in);
            apply(*layer.down, wide, sub);
        });
    }

    // Keys and values of sources, for the cross-attention of every layer.
    void encode(const int32_t* ids, const int64_t* offsets, std::vector<Sentence*>& sentences) {
        int rows = 0;
        for (Sentence* s : sentences) rows += s->source_length;
        x.resize(rows, dim);
        int row = 0;
        for (Sentence* s : sentences)
            for (int i = 0; i < s->source_length; i++) embed(encoder, row++, ids[offsets[s->index] + i], i);
        for (const Layer& layer : encoder.layers) {
            residual(*layer.self_norm, layer.post_norm, [&] {
                apply(*layer.self.project, h, wide);
                heads.resize(rows, layer.self.inner());
                int first = 0;
                for (Sentence* s : sentences) {
                    attend_to_source(layer.self, first, s->source_length);
                    first += s->source_length;
                }
                apply(*layer.self.out, heads, sub);
            });
            feed_forward(layer);
        }
        (*encoder.final_norm)(x, h, dim);
        apply(*source_keys, h, wide);
        row = 0;
        for (Sentence* s : sentences) {
            for (const Layer& layer : decoder.layers) s->source.emplace_back(s->source_length, layer.cross.inner());
            for (int i = 0; i < s->source_length; i++, row++) {
                const float* k = wide[row];
                for (size_t l = 0; l < decoder.layers.size(); l++) {
                    const int inner = decoder.layers[l].cross.inner();
                    s->source[l].put(i, k, k + inner, inner);
                    k += 2 * inner;
                }
            }
        }
    }

    void attend_to_source(const Attention& attention, int first, int length) {
        const int inner = attention.inner();
        SourceKeys keys(length, inner);
        for (int i = 0; i < length; i++) {
            float* q = wide[first + i];
            attention.rotate(q, attention.heads, attention.head_dim, i);
            attention.rotate(q + inner, attention.heads, attention.head_dim, i);
            keys.put(i, q + inner, q + 2 * inner, inner);
        }
        for (int i = 0; i < length; i++) attention(wide[first + i], i, keys, heads[first + i]);
    }

    struct Row {
        Sentence* sentence;
        int beam;
    };

    // The states h of the next token of each row, whose keys and values are added to its history.
    void step(const std::vector<Row>& rows) {
        const int count = int(rows.size());
        x.resize(count, dim);
        for (int i = 0; i < count; i++) {
            const Beam& beam = rows[i].sentence->beams[rows[i].beam];
            const int position = int(beam.tokens.size());
            embed(decoder, i, position ? beam.tokens.back() : bos, position);
        }
        int offset = 0;
        for (size_t l = 0; l < decoder.layers.size(); l++) {
            const Layer& layer = decoder.layers[l];
            residual(*layer.self_norm, layer.post_norm, [&] {
                apply(*layer.self.project, h, wide);
                heads.resize(count, layer.self.inner());
                for (int i = 0; i < count; i++) attend_to_history(layer.self, rows[i], offset, wide[i], heads[i]);
                apply(*layer.self.out, heads, sub);
            });
            residual(*layer.cross_norm, layer.post_norm, [&] {
                apply(*layer.cross.project, h, wide);
                heads.resize(count, layer.cross.inner());
                for (int i = 0; i < count; i++) layer.cross(wide[i], 0, rows[i].sentence->source[l], heads[i]);
                apply(*layer.cross.out, heads, sub);
            });
            feed_forward(layer);
            offset += 2 * layer.self.inner();
        }
        (*decoder.final_norm)(x, h, dim);
    }

    void attend_to_history(const Attention& attention, const Row& row, int offset, float* qkv, float* output) {
        const Beam& beam = row.sentence->beams[row.beam];
        const int position = int(beam.tokens.size()), inner = attention.inner(), width = cell_width();
        attention.rotate(qkv, attention.heads, attention.head_dim, position);
        attention.rotate(qkv + inner, attention.heads, attention.head_dim, position);
        const auto& history = row.sentence->history;
        float* cell = history[position].get() + size_t(row.beam) * width + offset;
        std::copy(qkv + inner, qkv + 3 * inner, cell);
        cells.clear();
        for (int t = 0; t < position; t++)
            cells.push_back(history[t].get() + size_t(beam.path[t]) * width + offset);
        cells.push_back(cell);
        attention(qkv, cells, output);
    }

    // The most probable tokens of each row; padding and the begin of a sentence are part of no output.
    void rank(std::vector<TopTokens>& tops) {
        const Input input(h[0], h.stride, h.rows, *output);
        tile.resize(h.rows, TILE * LANES);
        for (int panel = 0; panel < output->panels; panel += TILE) {
            const int last = std::min(panel + TILE, output->panels), first = panel * LANES;
            multiply(*output, input, panel, last, tile[0], tile.stride);
            for (int i = 0; i < h.rows; i++) {
                const int count = last * LANES - first;
                for (int id : {bos, pad_id})
                    if (id >= first && id < first + count) tile[i][id - first] = NONE;
                for (int j = output->out - first; j < count; j++) tile[i][j] = NONE;
                tops[i].add(tile[i], count, first);
            }
        }
    }

    // Extend the beams of a sentence by the best candidates. Returns whether its best hypotheses are decided.
    bool advance(Sentence& s, std::vector<Candidate>& candidates, const Options& options) {
        const size_t k = options.beams, considered = std::min(candidates.size(), 2 * k);
        std::stable_sort(candidates.begin(), candidates.end());
        const int length = int(s.beams[0].tokens.size()) + 1;
        const float penalty = float(std::pow(double(length), double(options.alpha)));
        std::vector<Beam> extended;
        for (size_t i = 0; i < considered; i++) {
            const Candidate& one = candidates[i];
            const Beam& parent = s.beams[one.beam];
            if (one.token == eos) {
                if (i < k) s.finished.add({one.score / penalty, parent.tokens, false});
            } else if (extended.size() < k) {
                extended.push_back({one.score, parent.tokens, parent.path});
                extended.back().tokens.push_back(one.token);
                extended.back().path.push_back(uint16_t(one.beam));
            }
        }
        s.beams = std::move(extended);
        float best = NONE;
        for (Beam& beam : s.beams) {
            const bool loops = length > s.source_length &&
                               is_looping(beam.tokens, options.loop_repeats, options.longest_cycle);
            if (loops || length >= s.max_length) {
                s.abandoned.add({beam.score / penalty, beam.tokens, true});
                beam.score = NONE;
            }
            best = std::max(best, beam.score);
        }
        const auto& finished = s.finished.best;
        return best == NONE || (finished.size() >= k && finished[k - 1].score >= best / penalty);
    }

    // One step of all active sentences; those that are decided are handed over and leave.
    template <typename Finish>
    void step_all(std::vector<std::unique_ptr<Sentence>>& active, const Options& options, Finish finish) {
        std::vector<Row> rows;
        for (auto& s : active) {
            s->history.emplace_back(new float[s->beams.size() * cell_width()]);
            for (size_t b = 0; b < s->beams.size(); b++)
                if (s->beams[b].score > NONE) rows.push_back({s.get(), int(b)});
        }
        step(rows);
        std::vector<TopTokens> tops(rows.size(), {size_t(2 * options.beams), bool(options.normalized), {}});
        rank(tops);
        size_t row = 0;
        for (auto& s : active) {
            std::vector<Candidate> candidates;
            for (; row < rows.size() && rows[row].sentence == s.get(); row++)
                for (const Candidate& one : tops[row].best) {
                    const float score = s->beams[rows[row].beam].score + (one.score - tops[row].log_total());
                    if (score > NONE) candidates.push_back({score, one.token, rows[row].beam});
                }
            if (advance(*s, candidates, options)) finish(s);
        }
        active.erase(std::remove(active.begin(), active.end(), nullptr), active.end());
    }

    template <typename Finish>
    void search(int count, const int32_t* ids, const int64_t* offsets, const int32_t* max_lengths,
                const Options& options, Finish finish) {
        const size_t room = std::max(1, ROWS / options.beams);
        std::vector<std::unique_ptr<Sentence>> active;
        for (int next = 0; next < count || !active.empty();) {
            if (next < count && active.size() <= room / 2) {
                std::vector<Sentence*> entering;
                for (; next < count && active.size() < room; next++) {
                    const int length = int(offsets[next + 1] - offsets[next]);
                    active.emplace_back(new Sentence{next, length, max_lengths[next], {}, {}, std::vector<Beam>(1),
                                                     {size_t(options.finished), {}}, {size_t(options.beams), {}}});
                    entering.push_back(active.back().get());
                }
                encode(ids, offsets, entering);
            }
            step_all(active, options, finish);
        }
    }
};

template <typename Part>
const Part* part(const std::vector<std::unique_ptr<Part>>& parts, int index) {
    return index < 0 ? nullptr : parts[index].get();
}

}  // namespace

extern "C" {

struct LayerParts {  // as in library.py; numbers of parts, -1: none
    int32_t heads, head_dim, qkv, out, self_norm, rotary_width, interleaved, cos, sin, bias;
    int32_t cross_heads, cross_head_dim, cross_q, cross_out, cross_norm;
    int32_t up, down, ffn_norm, activation, post_norm;
};

struct StackParts {
    int32_t tokens, positions, embedding_norm, final_norm;
};

Model* native_new(int32_t dim, int32_t bos, int32_t eos, int32_t pad_id) {
    Model* model = new Model();
    model->dim = dim, model->bos = bos, model->eos = eos, model->pad_id = pad_id;
    return model;
}

void native_free(Model* model) { delete model; }

int32_t native_linear(Model* model, int32_t in, int32_t out, const float* weight, const int8_t* integers,
                      const float* scale, const float* bias) {
    model->linears.emplace_back(new Linear(in, out, weight, integers, scale, bias));
    return int32_t(model->linears.size()) - 1;
}

int32_t native_norm(Model* model, int32_t kind, float epsilon, int32_t width, const float* weight, const float* bias) {
    std::vector<float> zeros(width);
    const float* b = bias ? bias : zeros.data();
    model->norms.emplace_back(new Norm{Norm::Kind(kind), epsilon, {weight, weight + width}, {b, b + width}});
    return int32_t(model->norms.size()) - 1;
}

// A new table, or other numbers for the one with this index.
int32_t native_table(Model* model, int32_t index, int32_t rows, int32_t columns, const float* data) {
    if (index < 0) {
        index = int32_t(model->tables.size());
        model->tables.emplace_back(new Table());
    }
    *model->tables[index] = Table{rows, columns, {data, data + size_t(rows) * columns}};
    return index;
}

void native_stack(Model* model, int32_t is_decoder, const StackParts* parts) {
    Stack& stack = is_decoder ? model->decoder : model->encoder;
    stack.tokens = part(model->tables, parts->tokens), stack.positions = part(model->tables, parts->positions);
    stack.embedding_norm = part(model->norms, parts->embedding_norm);
    stack.final_norm = part(model->norms, parts->final_norm);
}

void native_layer(Model* model, int32_t is_decoder, const LayerParts* p) {
    const auto &linears = model->linears;
    Layer layer{};
    layer.post_norm = p->post_norm, layer.activation = Activation(p->activation);
    layer.self = Attention{p->heads, p->head_dim, part(linears, p->qkv), part(linears, p->out),
                           {part(model->tables, p->cos), part(model->tables, p->sin), p->rotary_width,
                            bool(p->interleaved)}, part(model->tables, p->bias), &model->scores};
    layer.cross = Attention{p->cross_heads, p->cross_head_dim, part(linears, p->cross_q), part(linears, p->cross_out),
                            {}, nullptr, &model->scores};
    layer.up = part(linears, p->up), layer.down = part(linears, p->down);
    layer.self_norm = part(model->norms, p->self_norm), layer.cross_norm = part(model->norms, p->cross_norm);
    layer.ffn_norm = part(model->norms, p->ffn_norm);
    (is_decoder ? model->decoder : model->encoder).layers.push_back(layer);
}

void native_projections(Model* model, int32_t source_keys, int32_t output) {
    model->source_keys = part(model->linears, source_keys), model->output = part(model->linears, output);
}

// The best `kept` hypotheses of each source: tokens (count, kept, width), lengths, scores and whether each was cut.
// A length of -1: there is none.
void native_search(Model* model, int32_t count, const int32_t* ids, const int64_t* offsets, const int32_t* max_lengths,
                   const Options* options, int32_t kept, int32_t width, int32_t* tokens, int32_t* lengths,
                   float* scores, uint8_t* truncated) {
    std::fill(lengths, lengths + size_t(count) * kept, -1);
    model->search(count, ids, offsets, max_lengths, *options, [&](std::unique_ptr<Sentence>& sentence) {
        size_t to = size_t(sentence->index) * kept;
        const size_t end = to + kept;
        for (const Pool* pool : {&sentence->finished, &sentence->abandoned})
            for (const Hypothesis& one : pool->best) {
                if (to == end) break;
                std::copy(one.tokens.begin(), one.tokens.end(), tokens + to * width);
                lengths[to] = int32_t(one.tokens.size()), scores[to] = one.score, truncated[to++] = one.truncated;
            }
        sentence.reset();
    });
}

}  // extern "C"
