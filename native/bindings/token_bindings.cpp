// Python bindings of the module and of the token engine: arrays in, arrays out, without the GIL while it works.
#include "bindings/arrays.hpp"
#include "bindings/codec_arrays.hpp"
#include "tokens/engine.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

namespace asterism {

void bind_building(nb::module_& m);  // building_bindings.cpp
void bind_files(nb::module_& m);     // file_bindings.cpp
void bind_lexical(nb::module_& m);   // lexical_bindings.cpp

namespace {

struct PySegment {
    std::size_t documents;
    std::size_t fixed;
    std::optional<In<std::int64_t, 1>> offsets;
    In<std::uint32_t, 1> centroids;
    nb::ndarray<nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro> codes;
    std::optional<In<std::uint16_t, 1>> scales;
    In<std::int64_t, 1> list_starts;
    In<std::uint32_t, 1> list_documents;
    nb::ndarray<nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu, nb::ro> list_places;
    std::optional<In<std::uint16_t, 2>> fine;

    // Checks that the arrays have as many rows as there are tokens and documents; values are checked when read.
    void check() const {
        const std::size_t tokens = centroids.shape(0);
        require(codes.shape(0) == tokens && list_documents.shape(0) == tokens && list_places.shape(0) == tokens,
                "a segment's arrays do not belong together");
        require((!scales || scales->shape(0) == tokens) && (!fine || fine->shape(0) == tokens), "a segment's arrays do not belong together");
        require(fixed > 0 ? documents * fixed == tokens : offsets && offsets->shape(0) == documents + 1,
                "a segment's documents do not have its tokens");
        const std::size_t bytes = list_places.itemsize();
        require(bytes == 1 || bytes == 2 || bytes == 4, "a segment's places are of no known type");
    }
    // Rows as wide as the codec's codes or vectors.
    void check_with(const PyCodec& codec) const {
        const std::size_t row = codec.bits < 16 ? codec.format().row_bytes : codec.dimensions * static_cast<std::size_t>(codec.bits) / 8;
        require(codes.shape(1) * codes.itemsize() == row && (codec.bits >= 16 || scales), "a segment's codes are not of its codec");
        require(list_starts.shape(0) == codec.centroids.half_norms.shape(0) + 1, "a segment's lists are not of its codec");
        require(!fine || fine->shape(1) == codec.dimensions, "a segment's vectors are not of its codec");
    }
    Segment view(std::size_t first_document) const {
        return {first_document,
                documents,
                centroids.shape(0),
                fixed,
                offsets ? offsets->data() : nullptr,
                centroids.data(),
                static_cast<const std::uint8_t*>(codes.data()),
                scales ? scales->data() : nullptr,
                list_starts.data(),
                list_documents.data(),
                list_places.data(),
                list_places.itemsize(),
                fine ? fine->data() : nullptr};
    }
};

struct PyEngine {
    PyCodec codec;
    std::vector<PySegment> segments;
    std::unique_ptr<TokenEngine> engine;

    PyEngine(PyCodec given, std::vector<PySegment> parts, const std::string& kernels) : codec(std::move(given)), segments(std::move(parts)) {
        std::vector<Segment> views;
        std::size_t first = 0;
        for (const PySegment& part : segments) {
            part.check_with(codec);
            views.push_back(part.view(first));
            first += part.documents;
        }
        require(first <= 0xffffffffu, "more documents than have numbers");
        engine = std::make_unique<TokenEngine>(kernels_named(kernels), codec.codec(), std::move(views));
    }
};

SearchSettings settings_from(const std::string& method, std::size_t probes, std::size_t candidates, std::size_t refine,
                             double confidence, std::size_t rescore, const std::string& imputation, std::size_t retrieved, std::size_t cluster_tokens,
                             double length_penalty, std::size_t threads) {
    const Method m = method == "exact" ? Method::exact : method == "xtr" ? Method::xtr : Method::colbert;
    const Imputation i = imputation == "cluster" ? Imputation::cluster
                         : imputation == "zero"  ? Imputation::zero
                         : imputation == "none"  ? Imputation::none
                                                 : Imputation::kth;
    return {m, probes, candidates, refine, confidence, rescore, i, retrieved, cluster_tokens, length_penalty, threads};
}

// A query of other dimensions would be read beyond its end.
void check_width(const PyEngine& self, const In<float, 2>& query) {
    if (query.shape(1) != self.codec.codec().dimensions) throw nb::value_error("the query has other dimensions than the index");
}

SearchResult run_search(PyEngine& self, const In<float, 2>& query, std::size_t k, const SearchSettings& settings,
                        const std::optional<In<std::uint8_t, 1>>& eligible) {
    check_width(self, query);
    nb::gil_scoped_release release;
    return self.engine->search(query.data(), query.shape(0), k, settings, eligible ? eligible->data() : nullptr);
}

nb::object search(PyEngine& self, In<float, 2> query, std::size_t k, const SearchSettings& settings,
                  std::optional<In<std::uint8_t, 1>> eligible) {
    SearchResult result = run_search(self, query, k, settings, eligible);
    std::vector<std::int64_t> ids;
    std::vector<float> scores;
    for (const Hit& hit : result.hits) {
        ids.push_back(hit.document);
        scores.push_back(hit.score);
    }
    nb::dict timings;
    for (const auto& [stage, seconds] : result.timings) timings[stage] = seconds;
    const std::size_t n = ids.size();
    return nb::make_tuple(as_array(std::move(ids), {n}), as_array(std::move(scores), {n}), timings);
}

nb::ndarray<nb::numpy, float> scores(const PyEngine& self, In<float, 2> query, In<std::int64_t, 1> documents) {
    check_width(self, query);
    const std::size_t n = documents.shape(0);
    std::vector<float> found(n);
    {
        nb::gil_scoped_release release;
        Documents numbers(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t number = documents.data()[i];
            if (number < 0 || number > 0xffffffffll) throw std::out_of_range("a document's number is beyond the last");
            numbers[i] = static_cast<std::uint32_t>(number);
        }
        self.engine->scores(query.data(), query.shape(0), numbers, found.data());
    }
    return as_array(std::move(found), {n});
}

// The imputed similarity of each query token in an XTR search, and the centroids that it probed.
nb::object retrieval(PyEngine& self, In<float, 2> query, std::size_t k, const SearchSettings& settings,
                     std::optional<In<std::uint8_t, 1>> eligible) {
    SearchResult result = run_search(self, query, k, settings, eligible);
    nb::list probed;
    for (std::vector<std::uint32_t>& lists : result.probed) {
        const std::size_t count = lists.size();
        probed.append(as_array(std::move(lists), {count}));
    }
    const std::size_t tokens = result.imputed.size();
    return nb::make_tuple(as_array(std::move(result.imputed), {tokens}), probed);
}

// Queries (tokens, d) cut by starts (n + 1,): threads share the queries, one at a time each.
nb::object search_many(PyEngine& self, In<float, 2> tokens, In<std::int64_t, 1> starts, std::size_t k, const SearchSettings& given,
                       std::optional<In<std::uint8_t, 1>> eligible, std::size_t threads) {
    check_width(self, tokens);
    const std::size_t n = starts.shape(0) - 1;
    const std::size_t room = std::min(k, self.engine->documents());
    std::vector<std::int64_t> ids(n * room, -1);
    std::vector<float> scores(n * room, -std::numeric_limits<float>::infinity());
    Timings timings;
    {
        nb::gil_scoped_release release;
        SearchSettings settings = given;
        settings.threads = 1;
        std::atomic<std::size_t> next{0};
        std::mutex mutex;
        Team team(std::max<std::size_t>(1, std::min(threads, n)));
        team.run([&](std::size_t) {
            for (std::size_t i = next++; i < n; i = next++) {
                const auto begin = static_cast<std::size_t>(starts.data()[i]);
                const auto end = static_cast<std::size_t>(starts.data()[i + 1]);
                const SearchResult result = self.engine->search(tokens.data() + begin * tokens.shape(1), end - begin, k, settings,
                                                                eligible ? eligible->data() : nullptr);
                for (std::size_t h = 0; h < result.hits.size(); ++h) {
                    ids[i * room + h] = result.hits[h].document;
                    scores[i * room + h] = result.hits[h].score;
                }
                const std::lock_guard lock(mutex);
                for (const auto& [stage, seconds] : result.timings) add_time(timings, stage, seconds);
            }
        });
    }
    nb::dict stages;
    for (const auto& [stage, seconds] : timings) stages[stage] = seconds;
    return nb::make_tuple(as_array(std::move(ids), {n, room}), as_array(std::move(scores), {n, room}), stages);
}

void bind_engine(nb::module_& m) {
    nb::class_<PySegment>(m, "Segment")
        .def(
            "__init__",
            [](PySegment* self, std::size_t documents, std::size_t fixed, std::optional<In<std::int64_t, 1>> offsets,
               In<std::uint32_t, 1> centroids, nb::ndarray<nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro> codes,
               std::optional<In<std::uint16_t, 1>> scales, In<std::int64_t, 1> list_starts, In<std::uint32_t, 1> list_documents,
               nb::ndarray<nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu, nb::ro> list_places,
               std::optional<In<std::uint16_t, 2>> fine) {
                PySegment made{documents, fixed, offsets, centroids, codes, scales, list_starts, list_documents, list_places, fine};
                made.check();
                new (self) PySegment(std::move(made));
            },
            nb::kw_only(), "documents"_a, "fixed"_a, "offsets"_a.none(), "centroids"_a, "codes"_a, "scales"_a.none(), "list_starts"_a,
            "list_documents"_a, "list_places"_a, "fine"_a.none());
    nb::class_<SearchSettings>(m, "SearchSettings")
        .def(
            "__init__",
            [](SearchSettings* self, const std::string& method, std::size_t probes, std::size_t candidates, std::size_t refine,
               double confidence, std::size_t rescore, const std::string& imputation, std::size_t retrieved, std::size_t cluster_tokens,
               double length_penalty, std::size_t threads) {
                new (self) SearchSettings(settings_from(method, probes, candidates, refine, confidence, rescore, imputation, retrieved,
                                                        cluster_tokens, length_penalty, threads));
            },
            nb::kw_only(), "method"_a, "probes"_a, "candidates"_a, "refine"_a, "confidence"_a, "rescore"_a, "imputation"_a, "retrieved"_a,
            "cluster_tokens"_a, "length_penalty"_a, "threads"_a);
    nb::class_<PyEngine>(m, "TokenEngine")
        .def(nb::init<PyCodec, std::vector<PySegment>, const std::string&>(), "codec"_a, "segments"_a, "kernels"_a)
        .def("search", &search, "query"_a, "k"_a, "settings"_a, "eligible"_a.none())
        .def("scores", &scores, "query"_a, "documents"_a)
        .def("retrieval", &retrieval, "query"_a, "k"_a, "settings"_a, "eligible"_a.none())
        .def("search_many", &search_many, "tokens"_a, "starts"_a, "k"_a, "settings"_a, "eligible"_a.none(), "threads"_a);
}

}  // namespace
}  // namespace asterism

NB_MODULE(_native, m) {
    nb::set_leak_warnings(false);
    nb::exception<asterism::DamagedIndex>(m, "DamagedIndex");
    asterism::bind_building(m);
    asterism::bind_files(m);
    asterism::bind_engine(m);
    asterism::bind_lexical(m);
    m.def("kernel_names", [] {
        nb::list names;
        for (const char* name : {"avx2", "scalar"}) {
            if (asterism::find_kernels(name)) names.append(name);
        }
        return names;
    });
}
