#include "formats/to_raw_profile.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <compare>
#include <map>
#include <optional>
#include <set>

#include "formats/event_meaning.h"
#include "formats/sample_counts.h"
#include "formats/sample_labels.h"
#include "proto/squares.h"

namespace plimsoll::formats {
namespace {

// As wire::validate() permits.
constexpr uint64_t kMaxHits = uint64_t{1} << 56;
constexpr uint32_t kDeepestInlining = 256;
// Of all names of all frames; a raw profile may hold twice as much.
constexpr uint64_t kMaxNameBytes = uint64_t{64} << 20;

bool is_file(std::string_view path) {
  return !path.empty() && !path.starts_with('[') && !path.starts_with("//");
}

class Converter {
 public:
  Converter(const ApplicationProfile& application, CodePlaces& places, wire::RawProfile& raw)
      : application_(application),
        places_(places),
        raw_(raw),
        labels_(application, raw),
        counts_(application),
        weights_(application.types.size()) {}

  Status convert() {
    for (const auto step :
         {&Converter::add_events, &Converter::add_locations, &Converter::sum_rows, &Converter::add_rows}) {
      if (auto done = (this->*step)(); !done) {
        return done;
      }
    }
    return {};
  }

 private:
  // Of a stack and a type of values.
  struct Sums {
    uint64_t value = 0;  // in our unit
    double samples = 0;
    double squares = 0;
  };

  Status add_events() {
    std::set<std::string> names;
    for (const ValueType& type : application_.types) {
      meanings_.push_back(meaning_of(type));
      const EventMeaning& meaning = meanings_.back();
      if (!names.insert(meaning.name).second) {
        return fail(ErrorCode::kCorrupt, "the profile has two types of values that are {}", meaning.name);
      }
      wire::Event& event = *raw_.add_events();
      event.set_name(meaning.name);
      event.set_unit(meaning.unit);
      event.set_kind(meaning.kind);
      if (meaning_of(application_.period_type).unit == meaning.unit) {
        event.set_mean_period(static_cast<uint64_t>(application_.period));
      }
    }
    return {};
  }

  // Index of the first of the location's frames in the raw profile.
  std::optional<uint64_t> add_frames(const Location& location) {
    const auto first = static_cast<uint64_t>(raw_.frames_size());
    const uint32_t count = std::min(location.frame_count, kDeepestInlining);
    for (uint32_t i = 0; i < count; ++i) {
      const Frame& from = application_.frames[location.first_frame + i];
      const Function& function = application_.functions[from.function];
      wire::NamedFrame& frame = *raw_.add_frames();
      frame.set_function(application_.texts[function.name]);
      frame.set_file(application_.texts[function.file]);
      frame.set_linkage_name(application_.texts[function.linkage_name]);
      frame.set_line(from.line);
      frame.set_column(from.column);
      frame.set_inlined_into_next(i + 1 < count);
      name_bytes_ += frame.function().size() + frame.file().size() + frame.linkage_name().size();
      if (name_bytes_ > kMaxNameBytes) {
        return std::nullopt;
      }
    }
    return first;
  }

  Status add_locations() {
    wire::Locations& locations = *raw_.mutable_locations();
    for (const Location& location : application_.locations) {
      CodePlace place;
      if (location.frame_count > 0) {
        const auto first = add_frames(location);
        if (!first) {
          return fail(ErrorCode::kTooLarge, "the names of the profile's functions have over {} bytes",
                      kMaxNameBytes);
        }
        place = {wire::NAMED, 0, *first};
      } else if (location.address != 0) {
        place = places_.find(location, raw_);
      }
      locations.add_kind(place.kind);
      locations.add_owner(place.owner);
      locations.add_address(place.address);
    }
    return {};
  }

  uint32_t node_of(std::span<const uint32_t> leaf_first) {
    wire::Stacks& stacks = *raw_.mutable_stacks();
    uint32_t node = 0;
    for (size_t i = leaf_first.size(); i > 0; --i) {
      const uint32_t location = leaf_first[i - 1];
      const auto next = static_cast<uint32_t>(stacks.parent_size()) + 1;
      const auto [entry, is_new] = nodes_.try_emplace(uint64_t{node} << 32U | location, next);
      if (is_new) {
        stacks.add_parent(node);
        stacks.add_location(location);
      }
      node = entry->second;
    }
    return node;
  }

  Status add_value(int64_t value, double samples, size_t type, Sums& sums) {
    if (value < 0) {
      return with_hint(
          fail(ErrorCode::kUnsupported, "the profile has a {} of {}", meanings_[type].name, value),
          "differences of two profiles cannot be imported: import both");
    }
    wire::Event& event = *raw_.mutable_events(static_cast<int>(type));
    int64_t scaled = 0;
    const bool overflows = __builtin_mul_overflow(value, meanings_[type].factor, &scaled);
    if (overflows || event.hits() + static_cast<uint64_t>(scaled) > kMaxHits ||
        static_cast<uint64_t>(scaled) > kMaxHits) {
      return fail(ErrorCode::kTooLarge, "the {} of the profile sum to more than 2^56", meanings_[type].name);
    }
    event.set_hits(event.hits() + static_cast<uint64_t>(scaled));
    sums.value += static_cast<uint64_t>(scaled);
    if (value > 0) {
      const auto weighted = static_cast<double>(scaled);
      sums.samples += samples;
      sums.squares += weighted * weighted / samples;
      weights_[type].add(weighted, samples);
    }
    return {};
  }

  Status sum_rows() {
    const size_t types = application_.types.size();
    for (size_t sample = 0; sample < application_.samples.size(); ++sample) {
      const TableRow row{node_of(application_.samples.stack(sample)),
                         labels_.of(application_.samples.label_set(sample))};
      const auto [entry, is_new] = number_of_row_.try_emplace(row, rows_.size());
      if (is_new) {
        rows_.push_back(row);
        sums_.resize(sums_.size() + types);
      }
      const auto values = application_.samples.values(sample);
      for (size_t type = 0; type < types; ++type) {
        if (auto added = add_value(values[type], counts_.behind(type, values), type,
                                   sums_[entry->second * types + type]);
            !added) {
          return added;
        }
      }
    }
    return {};
  }

  // A hit is a sample where all samples of the type stand for as much; else it is a unit of the value, and how many samples there were,
  // and the squares of what they stand for, are told besides.
  Status add_rows() {
    const size_t types = application_.types.size();
    wire::SampleTable& table = *raw_.add_samples();
    for (size_t type = 0; type < types; ++type) {
      table.add_event(static_cast<uint32_t>(type));
      wire::Event& event = *raw_.mutable_events(static_cast<int>(type));
      event.set_counter_total(static_cast<double>(event.hits()));
      event.set_lost(0);
      if (weights_[type].are_hits()) {
        event.set_hits(0);  // the rows' are added below
      } else {
        const auto samples = static_cast<uint64_t>(std::llround(weights_[type].samples()));
        event.set_samples(std::min(std::max<uint64_t>(samples, 1), event.hits()));
      }
    }
    for (size_t row = 0; row < rows_.size(); ++row) {
      table.add_thread(0);
      table.add_stack(rows_[row].node);
      if (raw_.label_sets_size() > 0) {
        table.add_label_set(rows_[row].label_set);
      }
      for (size_t type = 0; type < types; ++type) {
        table.add_hits(hits_of(sums_[row * types + type], type));
      }
    }
    for (size_t type = 0; type < types; ++type) {
      if (weights_[type].differ()) {
        add_squares(type);
      }
    }
    return {};
  }

  uint64_t hits_of(const Sums& sums, size_t type) {
    if (!weights_[type].are_hits()) {
      return sums.value;
    }
    const auto hits = static_cast<uint64_t>(std::llround(sums.samples));
    wire::Event& event = *raw_.mutable_events(static_cast<int>(type));
    event.set_hits(event.hits() + hits);
    return hits;
  }

  void add_squares(size_t type) {
    std::vector<wire::SquaresOfRow> rows;
    for (size_t row = 0; row < rows_.size(); ++row) {
      rows.push_back({.thread = 0,
                      .stack = rows_[row].node,
                      .label_set = rows_[row].label_set,
                      .squares = sums_[row * application_.types.size() + type].squares});
    }
    wire::add_squares(static_cast<uint32_t>(type), rows, raw_);
  }

  // Of the table of samples.
  struct TableRow {
    uint32_t node = 0;  // of the stack
    uint32_t label_set = 0;
    auto operator<=>(const TableRow&) const = default;
  };

  const ApplicationProfile& application_;
  CodePlaces& places_;
  wire::RawProfile& raw_;
  SampleLabels labels_;
  std::vector<EventMeaning> meanings_;
  uint64_t name_bytes_ = 0;
  boost::unordered_flat_map<uint64_t, uint32_t> nodes_;  // by parent << 32 | location
  std::map<TableRow, size_t> number_of_row_;
  std::vector<TableRow> rows_;
  std::vector<Sums> sums_;  // rows x types
  const SampleCounts counts_;
  std::vector<SampleWeights> weights_;  // by type
};

}  // namespace

OwnMappings::OwnMappings(const std::vector<Mapping>& mappings)
    : mappings_(mappings), binary_plus_1_(mappings.size()) {}

CodePlace OwnMappings::find(const Location& location, wire::RawProfile& profile) {
  const CodePlace without_file{wire::JIT, 0, location.address};
  if (location.mapping_plus_1 == 0) {
    return without_file;
  }
  const Mapping& mapping = mappings_[location.mapping_plus_1 - 1];
  const uint64_t offset = location.address - mapping.start + mapping.file_offset;
  if (!is_file(mapping.path) || offset > location.address) {
    return without_file;
  }
  uint32_t& binary_plus_1 = binary_plus_1_[location.mapping_plus_1 - 1];
  if (binary_plus_1 == 0) {
    wire::Binary wanted;
    wanted.set_identity_kind(mapping.build_id.empty() ? wire::IDENTITY_UNKNOWN : wire::GNU_BUILD_ID);
    wanted.set_identity(mapping.build_id);
    wanted.set_path(mapping.path);
    const auto known = std::ranges::find_if(profile.binaries(), [&](const wire::Binary& binary) {
      return binary.path() == wanted.path() && binary.identity() == wanted.identity();
    });
    binary_plus_1 = static_cast<uint32_t>(known - profile.binaries().begin()) + 1;
    if (known == profile.binaries().end()) {
      *profile.add_binaries() = wanted;
    }
  }
  return {wire::ELF_FILE_OFFSET, binary_plus_1 - 1, offset};
}

Status add_samples(const ApplicationProfile& application, CodePlaces& places, wire::RawProfile& raw) {
  return Converter(application, places, raw).convert();
}

}  // namespace plimsoll::formats
