#include "formats/legacy_heap.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/heap_text.h"
#include "formats/legacy_rows.h"
#include "formats/text_scanner.h"

namespace plimsoll::formats {
namespace {

constexpr std::string_view kStart = "heap profile:";

struct HeapHeader {
  HeapNumbers totals;
  bool is_growth = false;
  int64_t period_bytes = 1;
};

// "heap_v2/524288": the dialect, and how far apart its samples are.
bool take_dialect(std::string_view dialect, HeapHeader& header) {
  const size_t slash = std::min(dialect.find('/'), dialect.size());
  const std::string_view name = dialect.substr(0, slash);
  int64_t period_bytes = 0;
  if (slash < dialect.size()) {
    TextScanner digits(dialect.substr(slash + 1));
    const auto period = digits.take_integer();
    if (!period || *period < 0 || !digits.rest().empty()) {
      return false;
    }
    period_bytes = *period;
  }
  if (name == "heap_v2" || name == "heapz_v2") {
    header.period_bytes = period_bytes;
  } else if (name == "heap") {
    // Old Go programs write twice their sampling rate here.
    header.period_bytes = period_bytes / 2;
  } else if (name == "growth" || name == "growthz") {
    header.is_growth = true;
  } else {
    return name == "heapprofile";
  }
  return true;
}

Result<HeapHeader> read_header(const LineReader& lines, std::string_view text) {
  TextScanner line(text);
  line.take(kStart);
  HeapHeader header;
  const auto totals = take_heap_numbers(line);
  if (!totals || !line.take("@") || !take_dialect(line.take_word(), header)) {
    return bad_line(lines, text, "the header of a heap profile that is known here");
  }
  header.totals = *totals;
  return header;
}

bool has_allocations(const HeapHeader& header) {
  const auto says_more = [](int64_t allocated, int64_t inuse) {
    return allocated != inuse && allocated != 0;
  };
  return !header.is_growth && (says_more(header.totals.allocated.objects, header.totals.inuse.objects) ||
                               says_more(header.totals.allocated.bytes, header.totals.inuse.bytes));
}

std::vector<ValueType> types_of(const HeapHeader& header) {
  if (header.is_growth) {
    return {{"growth_objects", "count"}, {"growth_space", "bytes"}};
  }
  return heap_types(has_allocations(header));
}

struct Row {
  HeapNumbers numbers;
  std::vector<uint64_t> return_addresses;
};

// Rows as they come, but those of objects of the same size on the same stack as one: gperftools writes a row for each
// sampled object, and cutting the estimate of every single one to an integer would lose up to half of the objects.
class Rows {
 public:
  // False where the sums have no room.
  bool add(const HeapNumbers& numbers, const std::vector<uint64_t>& return_addresses) {
    const auto key = key_of(numbers, return_addresses);
    const auto [entry, is_new] = index_.try_emplace(key.value_or(std::string()), rows_.size());
    if (!key || is_new) {
      rows_.push_back({numbers, return_addresses});
      return true;
    }
    HeapNumbers& sums = rows_[entry->second].numbers;
    const auto add_to = [](HeapValues& sum, const HeapValues& values) {
      return !__builtin_add_overflow(sum.objects, values.objects, &sum.objects) &&
             !__builtin_add_overflow(sum.bytes, values.bytes, &sum.bytes);
    };
    return add_to(sums.inuse, numbers.inuse) && add_to(sums.allocated, numbers.allocated);
  }

  const std::vector<Row>& all() const { return rows_; }

 private:
  // Nothing where the objects of the row are not all known to be of one size.
  static std::optional<std::string> key_of(const HeapNumbers& numbers,
                                           const std::vector<uint64_t>& return_addresses) {
    std::string key;
    for (const HeapValues& values : {numbers.inuse, numbers.allocated}) {
      if (values.objects <= 0 ? values.bytes != 0 : values.bytes % values.objects != 0) {
        return std::nullopt;
      }
      const int64_t object_bytes = values.objects == 0 ? 0 : values.bytes / values.objects;
      key.append(reinterpret_cast<const char*>(&object_bytes), sizeof object_bytes);
    }
    key.append(reinterpret_cast<const char*>(return_addresses.data()),
               return_addresses.size() * sizeof return_addresses[0]);
    return key;
  }

  std::vector<Row> rows_;
  std::unordered_map<std::string, size_t> index_;
};

// Up to the memory map, or the end; `line` is the first of them, and then the one that ended them.
Status read_rows(LineReader& lines, std::optional<std::string_view>& line, const Limits& limits, Rows& rows) {
  std::vector<uint64_t> addresses;
  for (; line && !begins_memory_map(*line); line = lines.next()) {
    if (is_blank_or_comment(*line)) {
      continue;
    }
    TextScanner scanner(*line);
    const auto numbers = take_heap_numbers(scanner);
    if (!numbers || !take_addresses(scanner, addresses)) {
      return bad_line(lines, *line, "\"OBJECTS: BYTES [OBJECTS: BYTES] @ ADDRESSES\"");
    }
    for (const HeapValues& values : {numbers->inuse, numbers->allocated}) {
      if (values.objects == 0 && values.bytes != 0) {
        return bad_line(lines, *line, "bytes in objects");
      }
    }
    if (rows.all().size() >= limits.max_entries || !rows.add(*numbers, addresses)) {
      return fail(ErrorCode::kTooLarge,
                  "line {} of the profile: it has over {} rows, or their sums have no room", lines.number(),
                  limits.max_entries);
    }
  }
  return {};
}

}  // namespace

bool looks_like_legacy_heap(std::string_view text) {
  return text.starts_with(kStart);
}

Result<ApplicationProfile> read_legacy_heap(std::string_view text, const Limits& limits,
                                            AddressKind address_kind) {
  LineReader lines(text);
  const auto header = read_header(lines, lines.next().value_or(std::string_view()));
  if (!header) {
    return propagate(header);
  }
  ApplicationProfile profile;
  profile.types = types_of(*header);
  profile.period_type = {"space", "bytes"};
  profile.period = header->period_bytes;
  Rows rows;
  auto line = lines.next();
  if (auto read = read_rows(lines, line, limits, rows); !read) {
    return propagate(read);
  }
  LegacyRows samples(profile, limits, address_kind);
  std::vector<int64_t> values;
  for (const Row& row : rows.all()) {
    values.clear();
    Status taken;
    if (has_allocations(*header)) {
      taken = append_scaled(row.numbers.allocated, header->period_bytes, values);
    }
    if (taken) {
      taken = append_scaled(row.numbers.inuse, header->period_bytes, values);
    }
    if (taken) {
      taken = samples.add(row.return_addresses, values);
    }
    if (!taken) {
      return propagate(taken);
    }
  }
  samples.read_memory_map(line, lines);
  return profile;
}

}  // namespace plimsoll::formats
