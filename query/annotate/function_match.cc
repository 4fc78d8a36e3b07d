#include "query/annotate/function_match.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "symbolizer/names/demangle.h"

namespace plimsoll::annotate {
namespace {

// More would not help to find the right one.
constexpr size_t kShownFunctions = 5;

// As linked, by DWARF or, without it, by the symbol.
std::string linked_name(const fdo::FunctionExtent& extent, const symbolizer::Symtab* symbols) {
  std::vector<symbolizer::SymtabFrame> frames;
  if (symbols != nullptr) {
    symbols->look_up(extent.from, frames);
  }
  return frames.empty() || frames.back().function.empty() ? extent.name : std::string(frames.back().function);
}

// "f (61.0 %), g (20.2 %)", the largest first.
std::string largest(const std::map<std::string, double>& values) {
  std::vector<std::pair<double, std::string>> sorted;
  double sum = 0;
  for (const auto& [name, value] : values) {
    sorted.emplace_back(-value, name);
    sum += value;
  }
  std::ranges::sort(sorted);
  sorted.resize(std::min(sorted.size(), kShownFunctions));
  std::vector<std::string> texts;
  texts.reserve(sorted.size());
  for (const auto& [value, name] : sorted) {
    texts.push_back(fmt::format("{} ({:.1f} %)", name, sum > 0 ? -100 * value / sum : 0));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Samples of the first event by function: of the whole binary, and of calls of one that were inlined.
class SampledFunctions {
 public:
  explicit SampledFunctions(const FunctionMatch& match) : match_(match) {}

  std::map<std::string, double> all() const {
    std::map<const fdo::FunctionExtent*, double> extents;
    for (const fdo::AddressSamples& at : match_.counts.front().addresses) {
      if (const fdo::FunctionExtent* const extent = fdo::extent_at(match_.extents, at.address)) {
        extents[extent] += at.value;
      }
    }
    std::map<std::string, double> functions;
    for (const auto& [extent, value] : extents) {
      functions[shown_name(*extent, match_.symbols)] += value;
    }
    return functions;
  }

  std::map<std::string, double> that_inline(std::string_view function) {
    std::map<std::string, double> functions;
    if (match_.symbols == nullptr) {
      return functions;
    }
    std::vector<symbolizer::SymtabFrame> frames;
    for (const fdo::AddressSamples& at : match_.counts.front().addresses) {
      frames.clear();
      match_.symbols->look_up(at.address, frames);
      for (size_t depth = 0; depth + 1 < frames.size(); ++depth) {
        if (is_called(frames[depth], function)) {
          functions[shown_name(frames.back())] += at.value;
          break;
        }
      }
    }
    return functions;
  }

 private:
  // Demangling costs microseconds, and few functions are inlined at many addresses.
  bool is_called(const symbolizer::SymtabFrame& frame, std::string_view function) {
    const std::string_view known = frame.known_as.empty() ? frame.function : frame.known_as;
    const auto [entry, is_new] = is_called_.try_emplace(known, false);
    if (is_new) {
      entry->second = frame.function == function || shown_name(frame) == function;
    }
    return entry->second;
  }

  const FunctionMatch& match_;
  std::unordered_map<std::string_view, bool> is_called_;
};

std::unexpected<Error> no_such_function(std::string_view function, const FunctionMatch& match) {
  SampledFunctions sampled(match);
  const auto around = sampled.that_inline(function);
  if (!around.empty()) {
    return with_hint(
        with_field(fail(ErrorCode::kNotFound,
                        "{} was inlined wherever it has samples in {}, and has no code of its own", function,
                        match.binary),
                   "function"),
        fmt::format("annotate a function that it was inlined into: {}", largest(around)));
  }
  const auto all = sampled.all();
  return with_hint(with_field(fail(ErrorCode::kNotFound, "{} has no samples in a function called {}",
                                   match.binary, function),
                              "function"),
                   all.empty() ? "no sample of it is in a function that its symbols name"
                               : fmt::format("its functions with the most samples are {}", largest(all)));
}

}  // namespace

std::string shown_name(const symbolizer::SymtabFrame& frame) {
  return symbolizer::display_name(frame.known_as.empty() ? frame.function : frame.known_as);
}

std::string shown_name(const fdo::FunctionExtent& extent, const symbolizer::Symtab* symbols) {
  std::vector<symbolizer::SymtabFrame> frames;
  if (symbols != nullptr) {
    symbols->look_up(extent.from, frames);
  }
  return frames.empty() || frames.back().function.empty() ? symbolizer::display_name(extent.name)
                                                          : shown_name(frames.back());
}

void add_extents_of_table(std::string_view function, const elf::ElfFile& binary,
                          const symbolizer::Symtab& symbols, std::span<const fdo::BinaryCounts> counts,
                          std::vector<fdo::FunctionExtent>& extents) {
  std::vector<symbolizer::SymtabFrame> frames;
  const auto is_uncovered = [&](const fdo::AddressSamples& at) {
    if (fdo::extent_at(extents, at.address) != nullptr) {
      return false;
    }
    frames.clear();
    symbols.look_up(at.address, frames);
    return !frames.empty() && (frames.back().function == function || shown_name(frames.back()) == function);
  };
  if (std::ranges::none_of(counts, [&](const fdo::BinaryCounts& of_event) {
        return std::ranges::any_of(of_event.addresses, is_uncovered);
      })) {
    return;
  }
  std::vector<fdo::FunctionExtent> added;
  for (fdo::FunctionExtent& extent : fdo::function_extents(binary, symbols)) {
    const auto next = std::ranges::upper_bound(extents, extent.from, {}, &fdo::FunctionExtent::from);
    if (next != extents.end()) {
      extent.to = std::min(extent.to, next->from);
    }
    if (next == extents.begin() || std::prev(next)->to <= extent.from) {
      added.push_back(std::move(extent));
    }
  }
  extents.insert(extents.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
  std::ranges::sort(extents, {}, &fdo::FunctionExtent::from);
}

Result<std::vector<uint64_t>> sampled_addresses_of(std::string_view function, const FunctionMatch& match) {
  std::map<const fdo::FunctionExtent*, bool> is_called;
  std::vector<uint64_t> addresses;
  for (const fdo::BinaryCounts& counts : match.counts) {
    for (const fdo::AddressSamples& at : counts.addresses) {
      const fdo::FunctionExtent* const extent = fdo::extent_at(match.extents, at.address);
      if (extent == nullptr) {
        continue;
      }
      const auto [known, is_new] = is_called.try_emplace(extent, false);
      if (is_new) {
        known->second = extent->name == function || fdo::hot_name_of(extent->name) == function ||
                        linked_name(*extent, match.symbols) == function ||
                        shown_name(*extent, match.symbols) == function;
      }
      if (known->second) {
        addresses.push_back(at.address);
      }
    }
  }
  if (addresses.empty()) {
    return no_such_function(function, match);
  }
  std::ranges::sort(addresses);
  const auto repeated = std::ranges::unique(addresses);
  addresses.erase(repeated.begin(), repeated.end());
  return addresses;
}

}  // namespace plimsoll::annotate
