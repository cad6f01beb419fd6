// Python's view of the native code: arrays in, arrays out, the interpreter released while it works.
#include "arrays.hpp"
#include "codec.hpp"
#include "kernels.hpp"
#include "token_engine.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

namespace asterism {

void bind_lexical(nb::module_& m);  // lexical_bindings.cpp

namespace {

// Arrays kept alive with the views into them.
struct PyCentroids {
    In<std::uint8_t, 2> rows;
    In<float, 1> scales;
    In<float, 1> half_norms;
    In<std::uint8_t, 2> group_rows;
    In<float, 1> group_scales;
    In<float, 1> group_half_norms;
    In<std::uint32_t, 1> starts;

    CentroidTree tree() const {
        return {rows.shape(1),     rows.data(),         scales.data(),           half_norms.data(), group_rows.shape(0),
                group_rows.data(), group_scales.data(), group_half_norms.data(), starts.data()};
    }
};

struct PyCodec {
    PyCentroids centroids;
    In<float, 2> signs;
    In<std::uint8_t, 1> levels;
    In<float, 1> cutoffs;
    std::size_t dimensions;
    int bits;
    float step;
    float zero;
    bool scales_whole_vector;

    CodeFormat format() const {
        const std::size_t row_bytes = bits < 16 ? centroids.rows.shape(1) / dimensions_per_unit(bits) * kUnit : 0;
        return {bits, row_bytes, levels.data(), step, scales_whole_vector};
    }
    ResidualCoder coder() const { return {dimensions, centroids.rows.shape(1), format(), cutoffs.data(), zero}; }
    Codec codec() const {
        const std::size_t count = centroids.half_norms.shape(0);
        return {dimensions, centroids.rows.shape(1), bits,           format(),      zero, count, centroids.rows.data(),
                centroids.scales.data(), signs.shape(0), signs.data()};
    }
};

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
            views.push_back(part.view(first));
            first += part.documents;
        }
        engine = std::make_unique<TokenEngine>(kernels_named(kernels), codec.codec(), std::move(views));
    }
};

SearchSettings settings_from(const std::string& method, std::size_t probes, std::size_t candidates, std::size_t refine,
                             double confidence, std::size_t rescore, const std::string& imputation, std::size_t retrieved, std::size_t cluster_tokens,
                             std::size_t threads) {
    const Method m = method == "exact" ? Method::exact : method == "xtr" ? Method::xtr : Method::colbert;
    const Imputation i = imputation == "cluster" ? Imputation::cluster
                         : imputation == "zero"  ? Imputation::zero
                         : imputation == "none"  ? Imputation::none
                                                 : Imputation::kth;
    return {m, probes, candidates, refine, confidence, rescore, i, retrieved, cluster_tokens, threads};
}

nb::object search(PyEngine& self, In<float, 2> query, std::size_t k, const SearchSettings& settings,
                  std::optional<In<std::uint8_t, 1>> subset) {
    SearchResult result;
    {
        nb::gil_scoped_release release;
        result = self.engine->search(query.data(), query.shape(0), k, settings, subset ? subset->data() : nullptr);
    }
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

// What an XTR search imputed for each query token, and the centroids each probed.
nb::object retrieval(PyEngine& self, In<float, 2> query, std::size_t k, const SearchSettings& settings,
                     std::optional<In<std::uint8_t, 1>> subset) {
    SearchResult result;
    {
        nb::gil_scoped_release release;
        result = self.engine->search(query.data(), query.shape(0), k, settings, subset ? subset->data() : nullptr);
    }
    nb::list probed;
    for (std::vector<std::uint32_t>& lists : result.probed) {
        const std::size_t count = lists.size();
        probed.append(as_array(std::move(lists), {count}));
    }
    const std::size_t tokens = result.imputed.size();
    return nb::make_tuple(as_array(std::move(result.imputed), {tokens}), probed);
}

// Queries (tokens, d) cut by starts (n + 1,): threads share the queries, one each at a time.
nb::object search_many(PyEngine& self, In<float, 2> tokens, In<std::int64_t, 1> starts, std::size_t k, const SearchSettings& given,
                       std::optional<In<std::uint8_t, 1>> subset, std::size_t threads) {
    const std::size_t n = starts.shape(0) - 1;
    std::vector<std::int64_t> ids(n * k, -1);
    std::vector<float> scores(n * k, -std::numeric_limits<float>::infinity());
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
                                                                subset ? subset->data() : nullptr);
                for (std::size_t h = 0; h < result.hits.size(); ++h) {
                    ids[i * k + h] = result.hits[h].document;
                    scores[i * k + h] = result.hits[h].score;
                }
                const std::lock_guard lock(mutex);
                for (const auto& [stage, seconds] : result.timings) add_time(timings, stage, seconds);
            }
        });
    }
    nb::dict stages;
    for (const auto& [stage, seconds] : timings) stages[stage] = seconds;
    return nb::make_tuple(as_array(std::move(ids), {n, k}), as_array(std::move(scores), {n, k}), stages);
}

void bind_engine(nb::module_& m) {
    nb::class_<PyCentroids>(m, "Centroids")
        .def(
            "__init__",
            [](PyCentroids* self, In<std::uint8_t, 2> rows, In<float, 1> scales, In<float, 1> half_norms,
               In<std::uint8_t, 2> group_rows, In<float, 1> group_scales, In<float, 1> group_half_norms,
               In<std::uint32_t, 1> starts) {
                new (self) PyCentroids{rows, scales, half_norms, group_rows, group_scales, group_half_norms, starts};
            },
            nb::kw_only(), "rows"_a, "scales"_a, "half_norms"_a, "group_rows"_a, "group_scales"_a, "group_half_norms"_a, "starts"_a);
    nb::class_<PyCodec>(m, "Codec")
        .def(
            "__init__",
            [](PyCodec* self, const PyCentroids& centroids, In<float, 2> signs, In<std::uint8_t, 1> levels, In<float, 1> cutoffs,
               std::size_t dimensions, int bits, float step, float zero, bool scales_whole_vector) {
                new (self) PyCodec{centroids, signs, levels, cutoffs, dimensions, bits, step, zero, scales_whole_vector};
            },
            nb::kw_only(), "centroids"_a, "signs"_a, "levels"_a, "cutoffs"_a, "dimensions"_a, "bits"_a, "step"_a, "zero"_a,
            "scales_whole_vector"_a);
    nb::class_<PySegment>(m, "Segment")
        .def(
            "__init__",
            [](PySegment* self, std::size_t documents, std::size_t fixed, std::optional<In<std::int64_t, 1>> offsets,
               In<std::uint32_t, 1> centroids, nb::ndarray<nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro> codes,
               std::optional<In<std::uint16_t, 1>> scales, In<std::int64_t, 1> list_starts, In<std::uint32_t, 1> list_documents,
               nb::ndarray<nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu, nb::ro> list_places,
               std::optional<In<std::uint16_t, 2>> fine) {
                new (self) PySegment{documents, fixed,       offsets,        centroids,   codes,
                                     scales,    list_starts, list_documents, list_places, fine};
            },
            nb::kw_only(), "documents"_a, "fixed"_a, "offsets"_a.none(), "centroids"_a, "codes"_a, "scales"_a.none(), "list_starts"_a,
            "list_documents"_a, "list_places"_a, "fine"_a.none());
    nb::class_<SearchSettings>(m, "SearchSettings")
        .def(
            "__init__",
            [](SearchSettings* self, const std::string& method, std::size_t probes, std::size_t candidates, std::size_t refine,
               double confidence, std::size_t rescore, const std::string& imputation, std::size_t retrieved, std::size_t cluster_tokens,
               std::size_t threads) {
                new (self) SearchSettings(
                    settings_from(method, probes, candidates, refine, confidence, rescore, imputation, retrieved, cluster_tokens, threads));
            },
            nb::kw_only(), "method"_a, "probes"_a, "candidates"_a, "refine"_a, "confidence"_a, "rescore"_a, "imputation"_a, "retrieved"_a,
            "cluster_tokens"_a, "threads"_a);
    nb::class_<PyEngine>(m, "TokenEngine")
        .def(nb::init<PyCodec, std::vector<PySegment>, const std::string&>(), "codec"_a, "segments"_a, "kernels"_a)
        .def("search", &search, "query"_a, "k"_a, "settings"_a, "subset"_a.none())
        .def("retrieval", &retrieval, "query"_a, "k"_a, "settings"_a, "subset"_a.none())
        .def("search_many", &search_many, "tokens"_a, "starts"_a, "k"_a, "settings"_a, "subset"_a.none(), "threads"_a);
}

void bind_build(nb::module_& m) {
    m.def(
        "rotated",
        [](nb::ndarray<nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro> rows, In<float, 2> signs, Out<float, 2> out,
           std::size_t threads, const std::string& kernels) {
            nb::gil_scoped_release release;
            const Kernels& chosen = kernels_named(kernels);
            const std::size_t d = rows.shape(1);
            Team team(threads);
            team.run([&](std::size_t rank) {
                const Range mine = part_of(rows.shape(0), rank, team.size());
                const std::size_t n = mine.end - mine.begin;
                float* own = out.data() + mine.begin * d;
                if (rows.itemsize() == 2) chosen.widen(static_cast<const std::uint16_t*>(rows.data()) + mine.begin * d, n * d, own);
                else std::copy_n(static_cast<const float*>(rows.data()) + mine.begin * d, n * d, own);
                chosen.rotate(own, n, d, signs.data(), signs.shape(0));
            });
        },
        "rows"_a, "signs"_a, "out"_a, "threads"_a, "kernels"_a, "rows (n, d) float16 (as uint16) or float32 -> out (n, d)");
    m.def(
        "assign",
        [](const PyCentroids& centroids, In<float, 2> rows, Out<std::uint32_t, 1> nearest, std::size_t most_groups, float reach,
           std::size_t threads, const std::string& kernels) {
            nb::gil_scoped_release release;
            assign(kernels_named(kernels), centroids.tree(), rows.data(), rows.shape(0), rows.shape(1), {most_groups, reach}, threads,
                   nearest.data());
        },
        "centroids"_a, "rows"_a, "nearest"_a, "most_groups"_a, "reach"_a, "threads"_a, "kernels"_a);
    m.def(
        "sum_by_centroid",
        [](In<float, 2> rows, In<std::uint32_t, 1> nearest, Out<double, 2> sums, Out<std::int64_t, 1> counts, std::size_t threads) {
            nb::gil_scoped_release release;
            sum_by_centroid(rows.data(), rows.shape(0), rows.shape(1), nearest.data(), counts.shape(0), threads, sums.data(),
                            counts.data());
        },
        "rows"_a, "nearest"_a, "sums"_a, "counts"_a, "threads"_a);
    m.def(
        "encode",
        [](const PyCodec& codec, In<float, 2> rows, In<std::uint32_t, 1> nearest, Out<std::uint8_t, 2> codes, Out<float, 1> scales,
           std::size_t threads, const std::string& kernels) {
            nb::gil_scoped_release release;
            encode(kernels_named(kernels), codec.coder(), codec.centroids.tree(), rows.data(), rows.shape(0), nearest.data(), threads, codes.data(),
                   scales.data());
        },
        "codec"_a, "rows"_a, "nearest"_a, "codes"_a, "scales"_a, "threads"_a, "kernels"_a);
    m.def(
        "inverted_lists",
        [](In<std::uint32_t, 1> nearest, In<std::int64_t, 1> offsets, std::size_t centroids) {
            InvertedLists lists;
            {
                nb::gil_scoped_release release;
                lists = invert(nearest.data(), offsets.data(), offsets.shape(0) - 1, centroids);
            }
            const std::size_t tokens = lists.documents.size();
            return nb::make_tuple(as_array(std::move(lists.starts), {centroids + 1}), as_array(std::move(lists.documents), {tokens}),
                                  as_array(std::move(lists.places), {tokens}));
        },
        "nearest"_a, "offsets"_a, "centroids"_a);
    m.def("kernel_names", [] {
        nb::list names;
        for (const char* name : {"avx2", "scalar"}) {
            if (find_kernels(name)) names.append(name);
        }
        return names;
    });
}

}  // namespace
}  // namespace asterism

NB_MODULE(_native, m) {
    nb::set_leak_warnings(false);
    nb::exception<asterism::DamagedIndex>(m, "DamagedIndex");
    asterism::bind_engine(m);
    asterism::bind_build(m);
    asterism::bind_lexical(m);
}
