// Search over token vectors: the stages, in the order in which a query passes them.
//
//   prepare      query -> balanced, rotated, as signed bytes                         query.cpp
//   centroids    inner products with all centroids; the best of each query token     probe.cpp
//   gather       documents in the probed lists, with the scores of their centroids   candidates.cpp
//   interaction  centroid-only MaxSim of the best of those                           candidates.cpp
//   refine       MaxSim over the stored codes, best estimates first, while it pays   refine.cpp
//   rescore      MaxSim over the finer copy of the last few, where there is one      refine.cpp
//   retrieve     instead of the last four: XTR, imputation included                  retrieval.cpp
//
// `scores` is only refine and rescore, for documents that other views found.
#pragma once

#include "tokens/codec.hpp"
#include "shared/hits.hpp"
#include "kernels/kernels.hpp"
#include "shared/team.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asterism {

struct Codec {
    std::size_t dimensions;
    std::size_t width;
    int bits;                            // 1, 2, 4: codes; 16, 32: floats
    CodeFormat format;                   // for codes
    float code_zero;
    std::size_t centroids;               // K
    const std::uint8_t* centroid_rows;   // (K + 1, width): the last is the mean of all
    const float* centroid_scales;        // (K + 1,)
    std::size_t rounds;                  // of rotation
    const float* signs;                  // (rounds, dimensions)
    SharedDirection shared;
};

// Documents of one segment have local numbers 0..documents; their tokens lie one after the other.
struct Segment {
    std::size_t first_document;
    std::size_t documents;
    std::size_t tokens;
    std::size_t fixed;                    // vectors per document; 0: see offsets
    const std::int64_t* offsets;          // (documents + 1,) or nullptr
    const std::uint32_t* centroids;       // (tokens,)
    const std::uint8_t* codes;            // (tokens, row_bytes) packed codes, or floats
    const std::uint16_t* scales;          // (tokens,) float16, for codes
    const std::int64_t* list_starts;      // (K + 1,)
    const std::uint32_t* list_documents;  // (tokens,) by centroid: the document, ascending within a list
    const void* list_places;              // (tokens,) by centroid: the place within the document, in place_bytes bytes
    std::size_t place_bytes;              // 1, 2 or 4
    const std::uint16_t* fine;            // (tokens, dimensions) float16, or nullptr

    Range tokens_of(std::size_t document) const;
    Range list_of(std::size_t centroid) const;

    // The token of a list's entry. Throws DamagedIndex if its document or place does not exist.
    std::size_t token_of(std::size_t entry) const;
};

enum class Method { exact, colbert, xtr };
enum class Imputation { kth, cluster, zero, none };

struct SearchSettings {
    Method method;
    std::size_t probes;           // lists per query token
    std::size_t candidates;       // documents scored by centroid interaction
    std::size_t refine;           // maximum documents scored by MaxSim
    double confidence;            // standard deviations by which an estimate may be too low and still be refined
    std::size_t rescore;          // documents scored with the finer copy
    Imputation imputation;
    std::size_t retrieved;        // XTR's k': tokens kept per query token
    std::size_t cluster_tokens;   // WARP's t'
    double length_penalty;        // taken from a query token's mean similarity, times log(1 + vectors of the document)
    std::size_t threads;
};

using Timings = std::vector<std::pair<const char*, double>>;  // stage, seconds

struct SearchResult {
    std::vector<Hit> hits;
    Timings timings;

    // XTR: by query token, the imputed similarity for documents in which it retrieved nothing, and the centroids it probed.
    std::vector<float> imputed;
    std::vector<std::vector<std::uint32_t>> probed;
};

inline void add_time(Timings& timings, const char* stage, double seconds) {
    const auto known = std::find_if(timings.begin(), timings.end(), [stage](const auto& entry) { return entry.first == stage; });
    if (known == timings.end()) timings.emplace_back(stage, seconds);
    else known->second += seconds;
}

// Adds the time since the last call to a stage's total.
class Stopwatch {
public:
    explicit Stopwatch(Timings& timings) : timings_(timings), last_(Clock::now()) {}

    void stage(const char* name) {
        const auto now = Clock::now();
        add_time(timings_, name, std::chrono::duration<double>(now - last_).count());
        last_ = now;
    }

private:
    using Clock = std::chrono::steady_clock;
    Timings& timings_;
    Clock::time_point last_;
};

// The query in the two forms in which it is compared: floats as given, signed bytes balanced and rotated.
struct PreparedQuery {
    PreparedQuery(const Kernels& kernels, const Codec& codec, const float* tokens, std::size_t count);

    QueryLevels levels() const;

    const float* tokens;  // (count, d)
    std::size_t count;
    std::size_t padded;
    std::size_t width;
    std::vector<std::int8_t> rows;
    std::vector<float> scale, centroid_offset, code_offset, with_mean;
};

struct Probe {
    float score;
    std::uint32_t centroid;
};

inline bool nearer(const Probe& a, const Probe& b) { return a.score != b.score ? a.score > b.score : a.centroid < b.centroid; }

using Probes = std::vector<std::vector<Probe>>;  // for each query token its best centroids, best first

// Memory that is reused by the next query: new pages would cost more than writing into them.
struct Workspace {
    std::vector<float> table;          // (K + 1, padded) scores of all centroids; the last row is the mean centroid's
    std::vector<float> asked;          // (count, d) the query of the table, which a search and `scores` share
    std::vector<bool> scored;          // (K,) which rows are computed; empty for all
    std::vector<std::uint8_t> bytes;   // (K, stride) the same as bytes

    // By document; cleared between queries.
    struct Tally {
        std::uint32_t total;
        std::uint32_t query_token;  // last counted, plus one
    };
    std::vector<Tally> tallies;            // (documents,)
    struct Sum {
        float total;
        std::uint32_t next;   // first query token not yet counted
        std::uint32_t found;  // query tokens that retrieved something here
    };
    std::vector<Sum> sums;                 // (documents,): XTR
    std::vector<std::vector<float>> best;  // (ranks, documents): XTR
};

using Documents = std::vector<std::uint32_t>;

// Documents come in no order, so the processor cannot predict the next: prefetch its cache lines during this one.
inline void prefetch(const void* start, std::size_t bytes) {
    const auto* line = static_cast<const char*>(start);
    for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(line + at);
}

class TokenEngine {
public:
    TokenEngine(const Kernels& kernels, Codec codec, std::vector<Segment> segments);

    std::size_t documents() const { return documents_; }

    // query (count, d); eligible (documents,) of 0 and 1, or nullptr for all.
    SearchResult search(const float* query, std::size_t count, std::size_t k, const SearchSettings& settings,
                        const std::uint8_t* eligible);

    // query (count, d), documents (n,) -> scores (n,) of the finest copy that there is; -inf for one without vectors.
    void scores(const float* query, std::size_t count, const Documents& documents, float* out);

private:
    struct Query;  // the state of one search

    Probes probe(const PreparedQuery& query, std::size_t probes, Team& team, Workspace& workspace) const;
    using Gains = std::vector<std::vector<std::uint8_t>>;
    struct ByteScale;  // centroid scores as bytes
    Gains gains_of(const Query& query, const ByteScale& scale) const;
    void tally(Query& query, const Segment& segment, Range range, const Gains& gains, Documents& touched);
    Documents gather(Query& query);
    std::vector<Hit> interact(Query& query, const Documents& candidates);
    std::vector<Hit> maxsim(Query& query, const Documents& documents, bool fine);
    std::vector<Hit> refine(Query& query, const std::vector<Hit>& estimated, std::size_t keep);
    std::vector<Hit> retrieve_tokens(Query& query, std::vector<float>& imputed);
    std::vector<Hit> colbert(Query& query, Stopwatch& watch);
    std::size_t stored_bytes() const;  // of one token
    void score_centroids_of(const PreparedQuery& query, const Documents& documents, Workspace& workspace) const;
    std::unique_ptr<Workspace> take_workspace();
    void give_back(std::unique_ptr<Workspace> workspace);
    float token_similarity(const Segment& segment, std::size_t token, const PreparedQuery& prepared, const QueryLevels& levels,
                           std::size_t query_token, float centroid_score) const;
    void fill_up(const Query& query, std::vector<Hit>& hits) const;
    std::size_t probes_to_start_with(const SearchSettings& settings) const;
    bool probed_enough(const Query& query) const;
    float penalty_of(const Query& query, std::uint32_t document) const;

    const Segment& segment_of(std::size_t document) const;
    std::vector<std::uint32_t> all_documents(const std::uint8_t* eligible) const;

    const Kernels& kernels_;
    Codec codec_;
    std::vector<Segment> segments_;
    std::size_t documents_ = 0;
    std::vector<std::size_t> list_tokens_;  // (K,) tokens of each centroid in all segments

    std::mutex mutex_;
    std::vector<std::unique_ptr<Workspace>> spare_;
};

struct TokenEngine::Query {
    const PreparedQuery& prepared;
    const SearchSettings& settings;
    const std::uint8_t* eligible;
    std::size_t k;
    std::size_t eligible_count;  // documents that are eligible
    Team& team;
    Workspace& workspace;
    Probes probes;

    // What the score of a document with so many vectors is reduced by: a sum over the query's tokens, as the score is.
    float penalty(std::size_t vectors) const {
        if (settings.length_penalty == 0.0) return 0.0f;
        return static_cast<float>(static_cast<double>(prepared.count) * settings.length_penalty * std::log1p(static_cast<double>(vectors)));
    }
};

}  // namespace asterism
