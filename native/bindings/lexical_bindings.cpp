// Python bindings of the lexical engine.
#include "bindings/arrays.hpp"
#include "lexical/engine.hpp"
#include "shared/team.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cmath>
#include <limits>

namespace asterism {
namespace {

// Arrays that are kept alive with the pointers into them.
struct PyTermCounts {
    In<std::uint8_t, 2> counts;
    In<std::uint32_t, 1> lengths;
    std::uint32_t longest;
    In<std::uint8_t, 1> shares;
    Bm25 bm25;
    double lowest;
    double highest;
};

struct PyLexicalSegment {
    std::size_t documents;
    In<std::int64_t, 1> term_ids;
    In<std::int64_t, 1> starts;
    In<float, 1> largest;
    In<std::uint32_t, 1> list;
    std::optional<In<float, 1>> weights;
    std::optional<PyTermCounts> counts;
    In<std::uint32_t, 1> long_terms;
    In<std::uint8_t, 2> rows;
    In<std::uint32_t, 2> ranks;

    // Checks that the arrays have as many rows as there are terms, postings and documents; values are checked when read.
    void check() const {
        const std::size_t terms = term_ids.shape(0);
        const std::size_t long_lists = long_terms.shape(0);
        require(starts.shape(0) == terms + 1 && largest.shape(0) == terms && weights.has_value() != counts.has_value() &&
                    (!weights || weights->shape(0) == list.shape(0)) &&
                    rows.shape(0) == long_lists && rows.shape(1) == documents && ranks.shape(0) == long_lists &&
                    ranks.shape(1) == documents / kRanked + 1,
                "a lexical segment's arrays do not belong together");
        if (!counts) return;
        const std::size_t width = counts->counts.shape(1);
        require(counts->counts.shape(0) == list.shape(0) && (width == 1 || width == 2 || width == 4) &&
                    counts->lengths.shape(0) == documents && counts->shares.shape(0) == list.shape(0),
                "a lexical segment's counts do not belong to it");
        require(0.0 < counts->lowest && counts->lowest <= counts->highest && std::isfinite(counts->highest), "weights have no bounds");
    }
    LexicalSegment view(std::size_t first) const {
        LexicalSegment segment{};
        segment.first_document = first;
        segment.documents = documents;
        segment.terms = term_ids.shape(0);
        segment.postings = list.shape(0);
        segment.term_ids = term_ids.data();
        segment.starts = starts.data();
        segment.largest = largest.data();
        segment.list = list.data();
        segment.weights = weights ? weights->data() : nullptr;
        if (counts) {
            segment.counts = {counts->counts.data(), counts->counts.shape(1), counts->lengths.data(), counts->longest, counts->shares.data(),
                              counts->bm25};
        }
        segment.lowest = counts ? counts->lowest : 1.0;
        segment.highest = counts ? counts->highest : 1.0;
        segment.long_lists = long_terms.shape(0);
        segment.long_terms = long_terms.data();
        segment.rows = rows.data();
        segment.ranks = ranks.data();
        return segment;
    }
};

struct PyLexicalEngine {
    std::vector<PyLexicalSegment> segments;
    std::unique_ptr<LexicalEngine> engine;

    PyLexicalEngine(std::vector<PyLexicalSegment> parts, const std::string& kernels) : segments(std::move(parts)) {
        std::vector<LexicalSegment> views;
        std::size_t first = 0;
        for (const PyLexicalSegment& part : segments) {
            views.push_back(part.view(first));
            first += part.documents;
        }
        engine = std::make_unique<LexicalEngine>(kernels_named(kernels), std::move(views));
    }
};

// Queries' terms and weights cut by starts (n + 1,): threads share the queries, one at a time each.
nb::object search_many(const PyLexicalEngine& self, In<std::int64_t, 1> terms, In<float, 1> weights, In<std::int64_t, 1> starts, std::size_t k,
                       std::optional<In<std::uint8_t, 1>> eligible, std::size_t threads) {
    const std::size_t n = starts.shape(0) - 1;
    const std::size_t room = std::min(k, self.engine->documents());
    std::vector<std::int64_t> ids(n * room, -1);
    std::vector<float> scores(n * room, -std::numeric_limits<float>::infinity());
    {
        nb::gil_scoped_release release;
        std::atomic<std::size_t> next{0};
        Team team(std::max<std::size_t>(1, std::min(threads, n)));
        team.run([&](std::size_t) {
            for (std::size_t i = next++; i < n; i = next++) {
                const auto begin = static_cast<std::size_t>(starts.data()[i]);
                const auto end = static_cast<std::size_t>(starts.data()[i + 1]);
                const LexicalQuery query{terms.data() + begin, weights.data() + begin, end - begin};
                const std::vector<Hit> hits = self.engine->search(query, k, eligible ? eligible->data() : nullptr);
                for (std::size_t h = 0; h < hits.size(); ++h) {
                    ids[i * room + h] = hits[h].document;
                    scores[i * room + h] = hits[h].score;
                }
            }
        });
    }
    return nb::make_tuple(as_array(std::move(ids), {n, room}), as_array(std::move(scores), {n, room}));
}

nb::object weights_of(const PyLexicalEngine& self, In<std::int64_t, 1> terms, In<std::int64_t, 1> documents) {
    const std::size_t n = documents.shape(0);
    const std::size_t count = terms.shape(0);
    return nb::cast(as_array(self.engine->weights_of(terms.data(), count, documents.data(), n), {n, count}));
}

}  // namespace

void bind_lexical(nb::module_& m) {
    nb::class_<PyTermCounts>(m, "TermCounts")
        .def(
            "__init__",
            [](PyTermCounts* self, In<std::uint8_t, 2> counts, In<std::uint32_t, 1> lengths, std::uint32_t longest,
               In<std::uint8_t, 1> shares, float gain, float base, float slope, double lowest, double highest) {
                new (self) PyTermCounts{counts, lengths, longest, shares, {gain, base, slope}, lowest, highest};
            },
            nb::kw_only(), "counts"_a, "lengths"_a, "longest"_a, "shares"_a, "gain"_a, "base"_a, "slope"_a, "lowest"_a, "highest"_a);
    nb::class_<PyLexicalSegment>(m, "LexicalSegment")
        .def(
            "__init__",
            [](PyLexicalSegment* self, std::size_t documents, In<std::int64_t, 1> term_ids, In<std::int64_t, 1> starts, In<float, 1> largest,
               In<std::uint32_t, 1> list, std::optional<In<float, 1>> weights, std::optional<PyTermCounts> counts,
               In<std::uint32_t, 1> long_terms, In<std::uint8_t, 2> rows, In<std::uint32_t, 2> ranks) {
                PyLexicalSegment made{documents, term_ids, starts, largest, list, weights, counts, long_terms, rows, ranks};
                made.check();
                new (self) PyLexicalSegment(std::move(made));
            },
            nb::kw_only(), "documents"_a, "term_ids"_a, "starts"_a, "largest"_a, "list"_a, "weights"_a.none(), "counts"_a.none(),
            "long_terms"_a, "rows"_a, "ranks"_a);
    nb::class_<PyLexicalEngine>(m, "LexicalEngine")
        .def(nb::init<std::vector<PyLexicalSegment>, const std::string&>(), "segments"_a, "kernels"_a)
        .def("weights_of", &weights_of, "terms"_a, "documents"_a)
        .def("search_many", &search_many, "terms"_a, "weights"_a, "starts"_a, "k"_a, "eligible"_a.none(), "threads"_a);
}

}  // namespace asterism
