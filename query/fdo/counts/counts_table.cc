#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <string_view>

#include "base/time.h"
#include "elf/build_id.h"
#include "query/fdo/counts/count_binary.h"
#include "query/table/values.h"

namespace plimsoll::fdo {
namespace {

using query::Table;
using query::Value;

constexpr std::string_view kBinary = "binary";
constexpr std::string_view kElsewhere = "elsewhere";
constexpr std::string_view kTime = "time";
constexpr std::string_view kSample = "sample";
constexpr std::string_view kSampleOffset = "sample-offset";
constexpr std::string_view kBranch = "branch";
constexpr std::string_view kBranchOffset = "branch-offset";
constexpr std::string_view kRange = "range";
constexpr std::string_view kRangeOffset = "range-offset";
constexpr std::string_view kCall = "call";

// Sums and products of more would leave the range of doubles and of 64 bits. No fleet counts as far.
constexpr double kMaxCount = 1e18;

std::string address_text(uint64_t address) {
  return fmt::format("{:#x}", address);
}

void add_rows(std::string_view kind, const std::vector<AddressSamples>& samples, Table& table) {
  for (const AddressSamples& at : samples) {
    table.rows.push_back({std::string(kind), address_text(at.address), Value(), at.value, at.samples,
                          at.value_of_half, Value(), Value()});
  }
}

void add_rows(std::string_view kind, const std::vector<AddressPair>& pairs, Table& table) {
  for (const AddressPair& pair : pairs) {
    table.rows.push_back({std::string(kind), address_text(pair.from), address_text(pair.to), pair.value,
                          pair.samples, pair.value_of_half, Value(), Value()});
  }
}

class CountsReader {
 public:
  explicit CountsReader(const Table& table) : table_(table) {}

  Result<BinaryCounts> read() {
    for (auto [name, place] :
         {std::pair("kind", &kind_), std::pair("from", &from_), std::pair("to", &to_),
          std::pair("value", &value_), std::pair("samples", &samples_), std::pair("value_of_half", &half_),
          std::pair("machines", &machines_), std::pair("draws", &draws_)}) {
      const auto found = query::find_column(table_, name);
      if (!found) {
        return propagate(found, "reading counts of a binary");
      }
      *place = *found;
    }
    counts_.event = table_.event;
    counts_.unit = table_.columns[value_].unit;
    counts_.coverage = table_.coverage;
    counts_.notes = table_.notes;
    for (const std::vector<Value>& row : table_.rows) {
      if (auto read = read_row(row); !read) {
        return propagate(read, "reading counts of a binary");
      }
    }
    if (counts_.build_id.empty()) {
      return fail(ErrorCode::kCorrupt, "reading counts of a binary: no row names the binary");
    }
    sort();
    return std::move(counts_);
  }

 private:
  static double number_of(const Value& value) { return std::max(0.0, query::number_in(value).value_or(0)); }

  static Result<uint64_t> address_of(const Value& value) {
    const std::string text = query::text_in(value);
    uint64_t address = 0;
    const char* const end = text.data() + text.size();
    if (text.starts_with("0x")) {
      const auto parsed = std::from_chars(text.data() + 2, end, address, 16);
      if (parsed.ec == std::errc() && parsed.ptr == end) {
        return address;
      }
    }
    return fail(ErrorCode::kCorrupt, "\"{}\" is no hexadecimal address", text);
  }

  Status read_row(const std::vector<Value>& row) {
    for (const size_t column : {value_, samples_, half_}) {
      if (number_of(row[column]) > kMaxCount) {
        return fail(ErrorCode::kCorrupt, "the count {:g} of {} {} is more than can be",
                    number_of(row[column]), query::text_in(row[kind_]), query::text_in(row[from_]));
      }
    }
    const std::string kind = query::text_in(row[kind_]);
    if (kind == kBinary) {
      counts_.build_id = query::text_in(row[from_]);
      counts_.path = query::text_in(row[to_]);
      counts_.value = number_of(row[value_]);
      counts_.samples = number_of(row[samples_]);
      counts_.value_of_half = number_of(row[half_]);
      counts_.machines = static_cast<int64_t>(std::min(number_of(row[machines_]), 1e9));
      counts_.draws = static_cast<int64_t>(std::min(number_of(row[draws_]), 1e9));
      return {};
    }
    if (kind == kElsewhere) {
      counts_.value_elsewhere = number_of(row[value_]);
      return {};
    }
    if (kind == kTime) {
      const auto time_ns = parse_time_ns(query::text_in(row[from_]), 0);
      counts_.mean_time_ns = time_ns ? *time_ns : 0;
      return {};
    }
    if (kind == kSample || kind == kSampleOffset) {
      return read_samples(row, kind == kSample ? counts_.addresses : counts_.offsets);
    }
    if (kind == kBranch || kind == kBranchOffset) {
      return read_pair(row, kind == kBranch ? counts_.branches : counts_.offset_branches);
    }
    if (kind == kRange || kind == kRangeOffset) {
      return read_pair(row, kind == kRange ? counts_.ranges : counts_.offset_ranges);
    }
    // A newer server may send other kinds beside.
    return kind == kCall ? read_pair(row, counts_.calls) : Status();
  }

  Status read_samples(const std::vector<Value>& row, std::vector<AddressSamples>& samples) const {
    const auto address = address_of(row[from_]);
    if (!address) {
      return propagate(address);
    }
    samples.push_back({.address = *address,
                       .value = number_of(row[value_]),
                       .samples = number_of(row[samples_]),
                       .value_of_half = number_of(row[half_])});
    return {};
  }

  Status read_pair(const std::vector<Value>& row, std::vector<AddressPair>& pairs) const {
    const auto from = address_of(row[from_]);
    const auto to = address_of(row[to_]);
    if (!from || !to) {
      return propagate(!from ? from : to);
    }
    pairs.push_back({.from = *from,
                     .to = *to,
                     .value = number_of(row[value_]),
                     .samples = number_of(row[samples_]),
                     .value_of_half = number_of(row[half_])});
    return {};
  }

  void sort() {
    for (auto* samples : {&counts_.addresses, &counts_.offsets}) {
      std::ranges::sort(*samples, {}, &AddressSamples::address);
    }
    for (auto* pairs : {&counts_.branches, &counts_.offset_branches, &counts_.ranges, &counts_.offset_ranges,
                        &counts_.calls}) {
      std::ranges::sort(*pairs, {}, [](const AddressPair& pair) { return std::pair(pair.from, pair.to); });
    }
  }

  const Table& table_;
  BinaryCounts counts_;
  size_t kind_ = 0, from_ = 0, to_ = 0, value_ = 0, samples_ = 0, half_ = 0, machines_ = 0, draws_ = 0;
};

// Adds the entries of `from` at equal keys to those of `to`, which stays ascending.
template <typename Entry, typename KeyOf>
void merge(std::vector<Entry>& to, std::vector<Entry> from, const KeyOf& key_of) {
  std::map<decltype(key_of(Entry())), Entry> merged;
  for (const std::vector<Entry>* entries : {&to, &from}) {
    for (const Entry& entry : *entries) {
      const auto [at, is_new] = merged.try_emplace(key_of(entry), entry);
      if (!is_new) {
        at->second.value += entry.value;
        at->second.samples += entry.samples;
        at->second.value_of_half += entry.value_of_half;
      }
    }
  }
  to.clear();
  for (const auto& [key, entry] : merged) {
    to.push_back(entry);
  }
}

// Empties `offsets`.
void pairs_to_addresses(std::vector<AddressPair>& offsets, std::vector<AddressPair>& pairs,
                        const elf::ElfFile& binary) {
  std::vector<AddressPair> found;
  for (AddressPair pair : offsets) {
    const auto from = binary.address_of(pair.from);
    const auto to = binary.address_of(pair.to);
    if (from && to) {
      pair.from = *from;
      pair.to = *to;
      found.push_back(pair);
    }
  }
  offsets.clear();
  if (!found.empty()) {
    merge(pairs, std::move(found), [](const AddressPair& pair) { return std::pair(pair.from, pair.to); });
  }
}

}  // namespace

Table counts_table(const BinaryCounts& counts) {
  Table table;
  table.event = counts.event;
  table.notes = counts.notes;
  table.coverage = counts.coverage;
  table.columns = {{"kind", ""},           {"from", ""},         {"to", ""},
                   {"value", counts.unit}, {"samples", "count"}, {"value_of_half", counts.unit},
                   {"machines", "count"},  {"draws", "count"}};
  table.rows.push_back({std::string(kBinary), counts.build_id, counts.path, counts.value, counts.samples,
                        counts.value_of_half, counts.machines, counts.draws});
  table.rows.push_back({std::string(kElsewhere), Value(), Value(), counts.value_elsewhere, Value(), Value(),
                        Value(), Value()});
  if (counts.mean_time_ns != 0) {
    table.rows.push_back({std::string(kTime), format_time(counts.mean_time_ns), Value(), Value(), Value(),
                          Value(), Value(), Value()});
  }
  add_rows(kSample, counts.addresses, table);
  add_rows(kBranch, counts.branches, table);
  add_rows(kRange, counts.ranges, table);
  add_rows(kCall, counts.calls, table);
  add_rows(kSampleOffset, counts.offsets, table);
  add_rows(kBranchOffset, counts.offset_branches, table);
  add_rows(kRangeOffset, counts.offset_ranges, table);
  return table;
}

Result<Table> fdo_counts(const CountsRequest& request, const query::Snapshot& snapshot) {
  const auto counts = count_binary(request, snapshot);
  return counts ? Result<Table>(counts_table(*counts)) : propagate(counts);
}

Result<BinaryCounts> counts_from(const Table& table) {
  return CountsReader(table).read();
}

Status check_build_id(const BinaryCounts& counts, std::string_view build_id) {
  const bool is_cut =
      counts.build_id.size() == 2 * elf::kCutBuildIdBytes && build_id.starts_with(counts.build_id);
  return counts.build_id == build_id || is_cut
             ? Status()
             : fail(ErrorCode::kCorrupt, "asked for samples of the build {}, and got those of {}", build_id,
                    counts.build_id);
}

void to_addresses(BinaryCounts& counts, const elf::ElfFile& binary) {
  std::vector<AddressSamples> samples;
  for (AddressSamples at : counts.offsets) {
    if (const auto address = binary.address_of(at.address)) {
      at.address = *address;
      samples.push_back(at);
    }
  }
  if (!samples.empty()) {
    merge(counts.addresses, std::move(samples), [](const AddressSamples& at) { return at.address; });
  }
  pairs_to_addresses(counts.offset_branches, counts.branches, binary);
  pairs_to_addresses(counts.offset_ranges, counts.ranges, binary);
  counts.offsets.clear();
}

}  // namespace plimsoll::fdo
