#include "formats/jemalloc_heap.h"

#include <optional>
#include <vector>

#include "formats/heap_text.h"
#include "formats/legacy_rows.h"
#include "formats/text_scanner.h"

namespace plimsoll::formats {
namespace {

constexpr std::string_view kJemallocStart = "heap_v2/";

// The numbers behind "t*:"; nothing of a line for one thread.
std::optional<HeapNumbers> numbers_of_all_threads(std::string_view line) {
  TextScanner scanner(line);
  return scanner.take("t*:") ? take_heap_numbers(scanner) : std::nullopt;
}

bool is_of_a_thread(std::string_view line) {
  return line.starts_with('t') && line.find(':') != std::string_view::npos;
}

class JemallocReader {
 public:
  JemallocReader(std::string_view text, const Limits& limits)
      : lines_(text), rows_(profile_, limits, AddressKind::kReturns) {}

  Result<ApplicationProfile> read() {
    const std::string_view first = lines_.next().value_or(std::string_view());
    TextScanner scanner(first);
    scanner.take(kJemallocStart);
    const auto period = scanner.take_integer();
    if (!period || *period < 0 || !scanner.rest().empty()) {
      return bad_line(lines_, first, "\"heap_v2/BYTES\" of a heap profile of jemalloc");
    }
    profile_.period_type = {"space", "bytes"};
    profile_.period = *period;
    line_ = lines_.next();
    const auto totals = line_ ? numbers_of_all_threads(*line_) : std::nullopt;
    if (!totals) {
      return bad_line(lines_, line_.value_or(std::string_view()), "\"t*: OBJECTS: BYTES [OBJECTS: BYTES]\"");
    }
    has_allocations_ = totals->allocated.objects != 0 || totals->allocated.bytes != 0;
    profile_.types = heap_types(has_allocations_);
    if (auto read = read_stacks(); !read) {
      return propagate(read);
    }
    rows_.read_memory_map(line_, lines_);
    return std::move(profile_);
  }

 private:
  Status read_stacks() {
    std::vector<uint64_t> addresses;
    bool has_stack = false;
    for (line_ = lines_.next(); line_ && !begins_memory_map(*line_); line_ = lines_.next()) {
      if (is_blank_or_comment(*line_)) {
        continue;
      }
      TextScanner scanner(*line_);
      if (line_->starts_with('@')) {
        if (!take_addresses(scanner, addresses)) {
          return bad_line(lines_, *line_, "\"@ ADDRESSES\"");
        }
        has_stack = true;
      } else if (const auto numbers = numbers_of_all_threads(*line_); numbers && has_stack) {
        if (auto added = add(*numbers, addresses); !added) {
          return added;
        }
        has_stack = false;
      } else if (!is_of_a_thread(*line_)) {
        return bad_line(lines_, *line_, "a stack, or what threads allocated on it");
      }
    }
    return {};
  }

  Status add(const HeapNumbers& numbers, const std::vector<uint64_t>& addresses) {
    std::vector<int64_t> values;
    Status scaled;
    if (has_allocations_) {
      scaled = append_scaled(numbers.allocated, profile_.period, values);
    }
    if (scaled) {
      scaled = append_scaled(numbers.inuse, profile_.period, values);
    }
    return scaled ? rows_.add(addresses, values) : scaled;
  }

  LineReader lines_;
  std::optional<std::string_view> line_;
  ApplicationProfile profile_;
  LegacyRows rows_;
  bool has_allocations_ = false;
};

}  // namespace

bool looks_like_jemalloc_heap(std::string_view text) {
  return text.starts_with(kJemallocStart);
}

Result<ApplicationProfile> read_jemalloc_heap(std::string_view text, const Limits& limits) {
  return JemallocReader(text, limits).read();
}

}  // namespace plimsoll::formats
