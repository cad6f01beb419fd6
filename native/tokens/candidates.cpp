// From probed lists to the documents to refine. Sums of bytes in integers: no rounding, independent of order. They are
// below 2^24, so estimates, which are floats, have the same order and the same ties.
#include "tokens/engine.hpp"

#include <algorithm>
#include <bit>

namespace asterism {
namespace {

constexpr std::size_t kAhead = 4;  // documents prefetched

// A float's bits in the order of their values: those of a positive number above those of any negative one.
constexpr std::uint32_t kSign = 0x80000000u;
std::uint32_t to_ordered(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return bits & kSign ? ~bits : bits | kSign;
}
float from_ordered(std::uint32_t ordered) { return std::bit_cast<float>(ordered & kSign ? ordered ^ kSign : ~ordered); }

// Estimate in the high half, complement of the document in the low: descending keys are best first, ties by document.
std::uint64_t key_of(float estimate, std::uint32_t document) {
    return std::uint64_t{to_ordered(estimate)} << 32 | (0xffffffffu - document);
}
float estimate_of(std::uint64_t key) { return from_ordered(static_cast<std::uint32_t>(key >> 32)); }
std::uint32_t document_of(std::uint64_t key) { return 0xffffffffu - static_cast<std::uint32_t>(key); }

Documents best_documents(std::vector<std::uint64_t>& keys, std::size_t count) {
    if (keys.size() > count) {
        std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count), keys.end(), std::greater<>());
        keys.resize(count);
    }
    Documents documents(keys.size());
    std::transform(keys.begin(), keys.end(), documents.begin(), document_of);
    return documents;
}

std::vector<std::uint64_t> concatenate(std::vector<std::vector<std::uint64_t>>& parts) {
    std::vector<std::uint64_t> all = std::move(parts[0]);
    for (std::size_t rank = 1; rank < parts.size(); ++rank) all.insert(all.end(), parts[rank].begin(), parts[rank].end());
    return all;
}

}  // namespace

// Centroid scores as bytes: zero is the score of the mean centroid, 255 the best score of all.
struct TokenEngine::ByteScale {
    std::vector<float> low;
    float factor = 0.0f;
    float unit = 0.0f;  // of a byte: what it adds to a score

    ByteScale(const std::vector<float>& table, const Probes& probes, std::size_t padded, std::size_t centroids)
        : low(table.begin() + static_cast<std::ptrdiff_t>(centroids * padded), table.end()) {
        float range = 0.0f;
        for (std::size_t j = 0; j < probes.size(); ++j) range = std::max(range, probes[j][0].score - low[j]);
        if (range > 1e-30f) {
            factor = 255.0f / range;
            unit = 1.0f / factor;
        }
    }
};

// By query token and probe: how many bytes a document in that list gains over one that was not found.
TokenEngine::Gains TokenEngine::gains_of(const Query& query, const ByteScale& scale) const {
    const std::vector<float>& table = query.workspace.table;
    const std::size_t padded = query.prepared.padded;
    Gains gains(query.probes.size());
    for (std::size_t j = 0; j < gains.size(); ++j) {
        const std::size_t group = j / kQueryGroup * kQueryGroup;
        for (const Probe& probe : query.probes[j]) {
            std::uint8_t byte[kUnit];
            kernels_.to_bytes(&table[probe.centroid * padded + group], 1, kQueryGroup, &scale.low[group], scale.factor, byte, kUnit);
            gains[j].push_back(byte[j - group]);
        }
        for (auto& gain : gains[j]) gain = static_cast<std::uint8_t>(gain - gains[j].back());
    }
    return gains;
}

// Adds to the tallies of a segment's documents begin..end; appends new ones to `touched`.
void TokenEngine::tally(Query& query, const Segment& segment, Range range, const Gains& gains, Documents& touched) {
    auto& tallies = query.workspace.tallies;
    const bool whole = range.begin == 0 && range.end == segment.documents;
    for (std::size_t j = 0; j < gains.size(); ++j) {
        const auto stamp = static_cast<std::uint32_t>(j + 1);
        for (std::size_t p = 0; p < gains[j].size(); ++p) {  // best first: the first gain of a document is its largest
            const Range list = segment.list_of(query.probes[j][p].centroid);
            const std::uint32_t* entry = segment.list_documents + list.begin;
            const std::uint32_t* last = segment.list_documents + list.end;
            if (!whole) {  // lists are sorted by document
                entry = std::lower_bound(entry, last, range.begin);
                last = std::lower_bound(entry, last, range.end);
            }
            for (; entry != last; ++entry) {
                if (*entry < range.begin || *entry >= range.end) throw DamagedIndex("a list names a document out of order");
                const std::size_t document = segment.first_document + *entry;
                Workspace::Tally& tally = tallies[document];
                if (tally.query_token == stamp) continue;
                if (tally.query_token == 0) {
                    if (query.eligible && !query.eligible[document]) continue;
                    touched.push_back(static_cast<std::uint32_t>(document));
                }
                tally.query_token = stamp;
                tally.total += gains[j][p];
            }
        }
    }
}

// Every document of a probed list gets, for each query token, the byte of its best probed centroid; a query token
// that found nothing in the document counts as the worst centroid probed.
Documents TokenEngine::gather(Query& query) {
    const ByteScale scale(query.workspace.table, query.probes, query.prepared.padded, codec_.centroids);
    const Gains gains = gains_of(query, scale);
    auto& tallies = query.workspace.tallies;
    tallies.resize(documents_);
    std::vector<std::vector<std::uint64_t>> keys(query.team.size());
    query.team.run([&](std::size_t rank) {  // each rank owns a range of documents
        const Range mine = part_of(documents_, rank, query.team.size());
        Documents touched;
        for (const Segment& segment : segments_) {
            const std::size_t first = segment.first_document;
            const Range part{std::max(mine.begin, first), std::min(mine.end, first + segment.documents)};
            if (part.begin < part.end) tally(query, segment, {part.begin - first, part.end - first}, gains, touched);
        }
        keys[rank].reserve(touched.size());
        for (const std::uint32_t document : touched) {
            const float estimate = static_cast<float>(tallies[document].total) * scale.unit - penalty_of(query, document);
            keys[rank].push_back(key_of(estimate, document));
            tallies[document] = {};
        }
    });
    auto all = concatenate(keys);
    return best_documents(all, query.settings.candidates);
}

// PLAID's centroid interaction: MaxSim with every token replaced by its centroid. Best first.
std::vector<Hit> TokenEngine::interact(Query& query, const Documents& candidates) {
    const std::size_t padded = query.prepared.padded;
    const std::size_t stride = (query.prepared.count + kUnit - 1) / kUnit * kUnit;
    const std::vector<float>& table = query.workspace.table;
    const ByteScale scale(table, query.probes, padded, codec_.centroids);
    std::vector<std::uint8_t>& bytes = query.workspace.bytes;
    bytes.resize(codec_.centroids * stride);
    std::vector<std::vector<std::uint64_t>> keys(query.team.size());

    query.team.run([&](std::size_t rank) {
        const Range mine = part_of(codec_.centroids, rank, query.team.size());
        kernels_.to_bytes(table.data() + mine.begin * padded, mine.end - mine.begin, padded, scale.low.data(),
                          scale.factor, bytes.data() + mine.begin * stride, stride);
    });
    query.team.run([&](std::size_t rank) {
        const Range mine = part_of(candidates.size(), rank, query.team.size());
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            if (i + kAhead < mine.end) {
                const Segment& later = segment_of(candidates[i + kAhead]);
                const Range tokens = later.tokens_of(candidates[i + kAhead] - later.first_document);
                prefetch(later.centroids + tokens.begin, (tokens.end - tokens.begin) * sizeof(std::uint32_t));
            }
            const Segment& segment = segment_of(candidates[i]);
            const Range tokens = segment.tokens_of(candidates[i] - segment.first_document);
            if (tokens.begin == tokens.end) continue;  // nothing to refine
            const std::uint32_t total = kernels_.interaction(bytes.data(), stride, codec_.centroids, segment.centroids + tokens.begin,
                                                             tokens.end - tokens.begin);
            if (total == kDamagedIds) throw DamagedIndex("a token names a centroid that does not exist");
            const float estimate = static_cast<float>(total) * scale.unit - query.penalty(tokens.end - tokens.begin);
            keys[rank].push_back(key_of(estimate, candidates[i]));
        }
    });
    auto all = concatenate(keys);
    const std::size_t count = std::min(all.size(), query.settings.refine);
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(), std::greater<>());
    std::vector<Hit> estimated(count);
    for (std::size_t i = 0; i < count; ++i) estimated[i] = {estimate_of(all[i]), document_of(all[i])};
    return estimated;
}

}  // namespace asterism
