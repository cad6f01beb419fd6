// The pipeline: which stages a method has, and what happens when they find too little.
#include "tokens/engine.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace asterism {
Range Segment::tokens_of(std::size_t document) const {
    if (fixed != 0) return {document * fixed, (document + 1) * fixed};
    const std::int64_t begin = offsets[document];
    const std::int64_t end = offsets[document + 1];
    if (begin < 0 || begin > end || static_cast<std::size_t>(end) > tokens) {
        throw DamagedIndex("a document's offsets lie outside its segment");
    }
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

Range Segment::list_of(std::size_t centroid) const {
    const std::int64_t begin = list_starts[centroid];
    const std::int64_t end = list_starts[centroid + 1];
    if (begin < 0 || begin > end || static_cast<std::size_t>(end) > tokens) {
        throw DamagedIndex("a centroid's list lies outside its segment");
    }
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

std::size_t Segment::token_of(std::size_t entry) const {
    const std::size_t document = list_documents[entry];
    if (document >= documents) throw DamagedIndex("a list names a document that does not exist");
    const std::size_t place = place_bytes == 1   ? static_cast<const std::uint8_t*>(list_places)[entry]
                              : place_bytes == 2 ? static_cast<const std::uint16_t*>(list_places)[entry]
                                                 : static_cast<const std::uint32_t*>(list_places)[entry];
    const Range range = tokens_of(document);
    if (place >= range.end - range.begin) throw DamagedIndex("a list names a token that does not exist");
    return range.begin + place;
}

void keep_best(std::vector<Hit>& hits, std::size_t keep) {
    const std::size_t count = std::min(keep, hits.size());
    std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(count), hits.end(), before);
    hits.resize(count);
}

TokenEngine::TokenEngine(const Kernels& kernels, Codec codec, std::vector<Segment> segments)
    : kernels_(kernels), codec_(codec), segments_(std::move(segments)), list_tokens_(codec.centroids) {
    for (const Segment& segment : segments_) {
        documents_ += segment.documents;
        for (std::size_t c = 0; c < codec_.centroids; ++c) {
            const Range list = segment.list_of(c);
            list_tokens_[c] += list.end - list.begin;
        }
    }
}

const Segment& TokenEngine::segment_of(std::size_t document) const {
    const auto after = std::upper_bound(segments_.begin(), segments_.end(), document,
                                        [](std::size_t d, const Segment& s) { return d < s.first_document; });
    return *std::prev(after);
}

std::vector<std::uint32_t> TokenEngine::all_documents(const std::uint8_t* eligible) const {
    Documents documents;
    for (std::size_t document = 0; document < documents_; ++document) {
        if (!eligible || eligible[document]) documents.push_back(static_cast<std::uint32_t>(document));
    }
    return documents;
}

float TokenEngine::penalty_of(const Query& query, std::uint32_t document) const {
    if (query.settings.length_penalty == 0.0) return 0.0f;  // without a look at its offsets
    const Segment& segment = segment_of(document);
    const Range tokens = segment.tokens_of(document - segment.first_document);
    return query.penalty(tokens.end - tokens.begin);
}

// Fill up to k documents: those that the stages did not reach (they have no vectors) come last, with score -inf.
void TokenEngine::fill_up(const Query& query, std::vector<Hit>& hits) const {
    const std::size_t wanted = std::min(query.k, query.eligible_count);
    if (hits.size() >= wanted) return;
    std::vector<bool> there(documents_);
    for (const Hit& hit : hits) there[hit.document] = true;
    for (std::size_t document = 0; document < documents_ && hits.size() < wanted; ++document) {
        if (there[document] || (query.eligible && !query.eligible[document])) continue;
        hits.push_back({-std::numeric_limits<float>::infinity(), static_cast<std::uint32_t>(document)});
    }
}

// WARP's imputation needs the best centroids in order until they hold t' tokens: start with four times the average.
std::size_t TokenEngine::probes_to_start_with(const SearchSettings& settings) const {
    if (settings.method != Method::xtr || settings.imputation != Imputation::cluster) return settings.probes;
    const std::size_t tokens = std::accumulate(list_tokens_.begin(), list_tokens_.end(), std::size_t{1});
    return std::max(settings.probes, 4 * settings.cluster_tokens * codec_.centroids / tokens + 1);
}

bool TokenEngine::probed_enough(const Query& query) const {
    const SearchSettings& settings = query.settings;
    if (settings.method != Method::xtr || settings.imputation != Imputation::cluster) return true;
    return std::all_of(query.probes.begin(), query.probes.end(), [&](const std::vector<Probe>& probes) {
        std::size_t tokens = 0;
        for (const Probe& probe : probes) tokens += list_tokens_[probe.centroid];
        return tokens >= settings.cluster_tokens || probes.size() == codec_.centroids;
    });
}

std::vector<Hit> TokenEngine::colbert(Query& query, Stopwatch& watch) {
    Documents documents;
    if (query.eligible_count <= query.settings.candidates) {
        documents = all_documents(query.eligible);
    } else {
        documents = gather(query);
        watch.stage("gather");
    }
    const std::vector<Hit> estimated = interact(query, documents);
    watch.stage("interaction");
    const bool finer = std::any_of(segments_.begin(), segments_.end(), [](const Segment& segment) { return segment.fine; });
    std::vector<Hit> hits = refine(query, estimated, finer ? query.settings.rescore : query.k);
    watch.stage("refine");
    if (finer) {
        documents.resize(hits.size());
        std::transform(hits.begin(), hits.end(), documents.begin(), [](const Hit& hit) { return hit.document; });
        hits = maxsim(query, documents, true);
        keep_best(hits, query.k);
        watch.stage("rescore");
    }
    return hits;
}

SearchResult TokenEngine::search(const float* tokens, std::size_t count, std::size_t k, const SearchSettings& given,
                                 const std::uint8_t* eligible) {
    SearchResult result;
    Stopwatch watch(result.timings);
    SearchSettings settings = given;
    Team team(std::max<std::size_t>(1, settings.threads));
    std::unique_ptr<Workspace> workspace = take_workspace();
    const PreparedQuery prepared(kernels_, codec_, tokens, count);
    const std::size_t eligible_count =
        eligible ? static_cast<std::size_t>(std::count_if(eligible, eligible + documents_, [](auto bit) { return bit != 0; })) : documents_;
    Query query{prepared, settings, eligible, k, eligible_count, team, *workspace, {}};
    const std::size_t wanted = std::min(k, eligible_count);
    watch.stage("prepare");

    // If a method finds fewer than k documents, probe more, up to all lists.
    const bool needs_centroids = settings.method != Method::exact || codec_.bits < 16;
    std::size_t probes = probes_to_start_with(settings);
    while (true) {
        if (needs_centroids) {
            query.probes = probe(prepared, settings.method == Method::exact ? 1 : probes, team, *workspace);
            watch.stage("centroids");
        }
        if (!probed_enough(query)) {
            probes *= 4;
            continue;
        }
        if (settings.method == Method::xtr) {
            result.hits = retrieve_tokens(query, result.imputed);
            watch.stage("retrieve");
        } else if (settings.method == Method::exact) {
            result.hits = maxsim(query, all_documents(eligible), true);
            keep_best(result.hits, k);
            watch.stage("refine");
        } else {
            result.hits = colbert(query, watch);
        }
        if (result.hits.size() >= wanted || settings.method == Method::exact || settings.probes >= codec_.centroids) break;
        settings.probes = std::min(settings.probes * 4, codec_.centroids);
        probes = std::max(probes, settings.probes);
    }
    fill_up(query, result.hits);
    if (settings.method == Method::xtr) {
        for (const std::vector<Probe>& probes : query.probes) {
            auto& lists = result.probed.emplace_back();
            for (std::size_t p = 0; p < std::min(settings.probes, probes.size()); ++p) lists.push_back(probes[p].centroid);
        }
    }
    give_back(std::move(workspace));
    return result;
}

void TokenEngine::scores(const float* tokens, std::size_t count, const Documents& documents, float* out) {
    for (const std::uint32_t document : documents) {
        if (document >= documents_) throw std::out_of_range("a document's number is beyond the last");
    }
    const PreparedQuery prepared(kernels_, codec_, tokens, count);
    const SearchSettings settings{};
    Team team(1);
    std::unique_ptr<Workspace> workspace = take_workspace();
    Query query{prepared, settings, nullptr, documents.size(), documents.size(), team, *workspace, {}};
    if (codec_.bits < 16) score_centroids_of(prepared, documents, *workspace);
    const std::vector<Hit> hits = maxsim(query, documents, true);
    std::transform(hits.begin(), hits.end(), out, [](const Hit& hit) { return hit.score; });
    give_back(std::move(workspace));
}

std::unique_ptr<Workspace> TokenEngine::take_workspace() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return std::make_unique<Workspace>();
    std::unique_ptr<Workspace> workspace = std::move(spare_.back());
    spare_.pop_back();
    return workspace;
}

void TokenEngine::give_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(workspace));
}

}  // namespace asterism
