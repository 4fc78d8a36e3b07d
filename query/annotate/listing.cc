#include "query/annotate/listing.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plimsoll::annotate {
namespace {

// By chain, then by address: a chain that others begin with comes before them.
std::vector<size_t> in_source_order(const Annotation& annotation, const AnnotatedFunction& function) {
  std::vector<size_t> chains(annotation.chains.size());
  std::iota(chains.begin(), chains.end(), size_t{0});
  std::ranges::sort(chains, [&](size_t a, size_t b) { return annotation.chains[a] < annotation.chains[b]; });
  std::vector<size_t> rank(chains.size());
  for (size_t i = 0; i < chains.size(); ++i) {
    rank[chains[i]] = i;
  }
  std::vector<size_t> order(function.instructions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t instruction) {
    return std::pair(rank[function.instructions[instruction].chain], instruction);
  });
  return order;
}

class ListingMaker {
 public:
  ListingMaker(const Annotation& annotation, const AnnotatedFunction& function)
      : annotation_(annotation), function_(function), listing_{.events = annotation.events.size()} {}

  void add(size_t instruction) {
    const Chain& chain = annotation_.chains[function_.instructions[instruction].chain];
    size_t same = 0;
    while (newest_ != nullptr && same < chain.size() && same < newest_->size() &&
           chain[same] == (*newest_)[same]) {
      ++same;
    }
    // Back from an inlined call: the line around it is said again, so that what follows is not taken for the call's.
    if (newest_ != nullptr && same == chain.size() && newest_->size() > chain.size()) {
      --same;
    }
    headings_.resize(std::min(headings_.size(), same));
    for (size_t depth = same; depth < chain.size(); ++depth) {
      headings_.push_back(listing_.rows.size());
      add_row({.depth = static_cast<uint32_t>(depth), .is_heading = true, .place = chain[depth]});
    }
    const size_t row = listing_.rows.size();
    add_row({.depth = static_cast<uint32_t>(chain.size() - 1), .instruction = instruction});
    const auto counts = function_.counts_of(instruction, listing_.events);
    for (size_t event = 0; event < listing_.events; ++event) {
      listing_.counts[row * listing_.events + event] = counts[event];
      for (const size_t heading : headings_) {
        listing_.counts[heading * listing_.events + event] += counts[event];
      }
    }
    newest_ = &chain;
  }

  Listing take() { return std::move(listing_); }

 private:
  void add_row(const ListingRow& row) {
    listing_.rows.push_back(row);
    listing_.counts.resize(listing_.rows.size() * listing_.events);
  }

  const Annotation& annotation_;
  const AnnotatedFunction& function_;
  Listing listing_;
  const Chain* newest_ = nullptr;
  std::vector<size_t> headings_;  // rows that the next instruction may belong to, by depth
};

}  // namespace

Listing listing_of(const Annotation& annotation, const AnnotatedFunction& function, Order order) {
  ListingMaker maker(annotation, function);
  if (order == Order::kSource) {
    for (const size_t instruction : in_source_order(annotation, function)) {
      maker.add(instruction);
    }
  } else {
    for (size_t instruction = 0; instruction < function.instructions.size(); ++instruction) {
      maker.add(instruction);
    }
  }
  return maker.take();
}

}  // namespace plimsoll::annotate
