#include "lexical/bounds.hpp"

#include "lexical/weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <type_traits>

namespace asterism {
namespace {

constexpr std::size_t kBlock = 16384;  // documents whose bounds fit the first caches, while rows are still read sequentially
constexpr std::size_t kGroup = 1024;   // documents that are compared with the same threshold
constexpr double kUnits = 65000.0;     // the bound of a document with every term at its largest; the rest is for rounding
constexpr double kRoundings = 4.0;     // maximum units that rounding adds for each list
constexpr double kWidest = 1.0 / 32;   // spread of weights up to which bytes are used
constexpr std::size_t kFewest = 64;    // candidates that are not worth sorting

// How a list adds to bounds: a weight times `unit`, rounded up; a byte of a row, or of a posting, times factor / 256.
struct Share {
    const TermList* list;
    std::size_t next;  // entry of the list
    double unit;
    std::uint16_t factor;
    const std::uint8_t* row;  // nullptr to add postings
    bool by_bytes;            // of the postings
};

// The shares of a query's lists, and by how much bounds may exceed scores, in units. A byte bounds a weight by the segment's
// `highest`, though the weight may be down at its `lowest`. If these are far apart, too many documents would be kept, and
// bounds are added up from the weights themselves: slower, but the same for any mean length.
struct Scale {
    double units;
    std::uint32_t excess = 0;
    std::vector<Share> shares;

    Scale(const LexicalSegment& segment, const std::vector<TermList>& lists) {
        const double spread = 1.0 - segment.lowest / segment.highest;
        double most = 0.0;
        for (const TermList& list : lists) most += double{list.weight} * list.largest;
        units = (kUnits - kRoundings * static_cast<double>(lists.size())) / most;
        if (!(units > 0.0)) throw DamagedIndex("a list's largest weight is no number above 0");
        const bool loose = spread > kWidest;
        for (const TermList& list : lists) {
            const double share = std::clamp(double{list.weight} * list.largest * units, 0.0, kUnits);
            const auto factor = static_cast<std::uint16_t>(share * (256.0 / 255.0) + 1.0);
            const std::uint8_t* row = loose ? nullptr : list.row;
            const bool by_bytes = !loose && segment.weights == nullptr;
            shares.push_back({&list, list.begin, list.weight * units, factor, row, by_bytes});
            excess += static_cast<std::uint32_t>(kRoundings);
            if (row != nullptr || by_bytes) excess += factor / 256u + static_cast<std::uint32_t>(std::ceil(share * spread));
        }
    }
};

// What postings of a list add to bounds: their weights in units, rounded up; or bytes like those of rows, with counts.
template <class Weights>
struct WeightsInUnits {
    Weights weight_of;
    double unit;

    int operator()(std::size_t entry, std::size_t document) const {
        return static_cast<int>(std::min(std::max(0.0, unit * weight_of(entry, document)), kUnits)) + 1;  // 1 for NaN
    }
};

struct SharesInUnits {
    const std::uint8_t* shares;
    std::uint32_t factor;

    int operator()(std::size_t entry, std::size_t) const { return static_cast<int>((shares[entry] * factor) >> 8) + 1; }
};

// The postings of documents first..first + n; whether there were any.
template <class Units>
bool add_postings(std::uint16_t* sums, const std::uint32_t* list, const Units& units_of, Share& share, std::size_t first, std::size_t n) {
    const std::size_t begin = share.next;
    const std::size_t end = share.list->end;
    std::size_t entry = begin;
    for (; entry < end; ++entry) {
        const std::size_t document = std::size_t{list[entry]} - first;
        if (document >= n) break;
        sums[document] = static_cast<std::uint16_t>(sums[document] + units_of(entry, first + document));
    }
    share.next = entry;
    return entry != begin;
}

// All that a list adds to the bounds of documents first..first + n; whether it may have added something.
bool add_list(const Kernels& kernels, std::uint16_t* sums, const LexicalSegment& segment, Share& share, std::size_t first, std::size_t n) {
    if (share.row != nullptr) {
        kernels.add_row(share.row + first, n, share.factor, sums);
        return true;
    }
    if (share.by_bytes) return add_postings(sums, segment.list, SharesInUnits{segment.counts.shares, share.factor}, share, first, n);
    return with_weights(segment, [&](const auto& weight_of) {
        return add_postings(sums, segment.list, WeightsInUnits<std::decay_t<decltype(weight_of)>>{weight_of, share.unit}, share, first, n);
    });
}

// Candidates for the k best so far.
class Shortlist {
public:
    Shortlist(std::size_t k, std::uint32_t excess, std::uint32_t least)
        : k_(k), excess_(excess), least_(static_cast<std::uint16_t>(std::max<std::uint32_t>(least, 1))), room_(std::max(2 * k, kFewest)) {}

    // Documents with a smaller bound are out.
    std::uint16_t least() const { return least_; }

    void add(Candidate candidate) {
        if (candidate.bound < least_) return;
        candidates_.push_back(candidate);
        if (candidates_.size() >= room_) shorten();
    }

    // The k-th largest bound less the excess is a score that k documents reach.
    void shorten() {
        if (candidates_.size() <= k_) return;
        bounds_.clear();
        for (const Candidate& candidate : candidates_) bounds_.push_back(candidate.bound);
        const auto kth = bounds_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
        std::nth_element(bounds_.begin(), kth, bounds_.end(), std::greater<>());
        if (*kth > excess_) least_ = std::max(least_, static_cast<std::uint16_t>(*kth - excess_));
        std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.bound < least_; });
        room_ = std::max(room_, 2 * candidates_.size());  // where there are many ties
    }

    std::vector<Candidate> take() {
        shorten();
        return std::move(candidates_);
    }

private:
    std::size_t k_;
    std::uint32_t excess_;
    std::uint16_t least_;
    std::size_t room_;
    std::vector<Candidate> candidates_;
    std::vector<std::uint16_t> bounds_;
};

}  // namespace

std::vector<Candidate> candidates_of(const Kernels& kernels, const LexicalSegment& segment, const std::vector<TermList>& lists,
                                     std::size_t k, float floor, const std::uint8_t* wanted) {
    Scale scale(segment, lists);
    const double least = floor * scale.units - static_cast<double>(lists.size());
    if (least > kUnits) return {};  // not reachable even with all terms at their largest
    Shortlist shortlist(k, scale.excess, static_cast<std::uint32_t>(std::max(least, 0.0)));
    std::array<std::uint16_t, kBlock> sums;
    std::array<std::uint32_t, kGroup> found;
    for (std::size_t first = 0; first < segment.documents; first += kBlock) {
        const std::size_t n = std::min(kBlock, segment.documents - first);
        std::fill_n(sums.begin(), n, std::uint16_t{0});
        bool any = false;
        for (Share& share : scale.shares) any |= add_list(kernels, sums.data(), segment, share, first, n);
        if (!any) continue;
        for (std::size_t begin = 0; begin < n; begin += kGroup) {
            const std::size_t count = kernels.reaching(sums.data() + begin, std::min(kGroup, n - begin), shortlist.least(), found.data());
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t place = begin + found[i];
                const auto document = static_cast<std::uint32_t>(first + place);
                if (!wanted || wanted[document]) shortlist.add({document, sums[place]});
            }
        }
    }
    for (const Share& share : scale.shares) {
        if (share.row == nullptr && share.next != share.list->end) throw DamagedIndex("a term's list is not in order");
    }
    return shortlist.take();
}

}  // namespace asterism
