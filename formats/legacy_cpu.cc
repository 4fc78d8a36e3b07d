#include "formats/legacy_cpu.h"

#include <array>
#include <optional>
#include <vector>

#include "base/time.h"
#include "formats/text_scanner.h"

namespace plimsoll::formats {
namespace {

constexpr int64_t kNsPerMicrosecond = 1000;
constexpr uint64_t kHeaderWords = 3;  // behind their number
constexpr uint64_t kMaxHeaderWords = 100;
constexpr uint64_t kMaxDepth = 65'536;

enum class WordBytes { kNone, kFour, kEight };

// By the header's first words, 0 and the number of the others.
WordBytes word_bytes(Bytes content) {
  ByteReader reader(content);
  const auto first = reader.read<uint32_t>();
  const auto second = reader.read<uint32_t>();
  const auto third = reader.read<uint64_t>();
  if (!reader.ok() || first != 0) {
    return WordBytes::kNone;
  }
  const auto fits = [](uint64_t words) { return words >= kHeaderWords && words <= kMaxHeaderWords; };
  if (fits(second)) {
    return WordBytes::kFour;
  }
  return second == 0 && fits(third) ? WordBytes::kEight : WordBytes::kNone;
}

class LegacyCpuReader {
 public:
  LegacyCpuReader(Bytes content, const Limits& limits, AddressKind address_kind)
      : reader_(content),
        content_(content),
        is_narrow_(word_bytes(content) == WordBytes::kFour),
        rows_(profile_, limits, address_kind) {}

  Result<ApplicationProfile> read() {
    word();
    const uint64_t words = word();
    word();  // version
    const uint64_t period_us = word();
    for (uint64_t skipped = 2; skipped < words; ++skipped) {
      word();
    }
    if (!reader_.ok() || period_us == 0 || period_us > kMaxPeriodUs) {
      return fail(ErrorCode::kCorrupt, "the CPU profile's header has a period of {} us", period_us);
    }
    period_ns_ = static_cast<int64_t>(period_us) * kNsPerMicrosecond;
    profile_.types = {{"samples", "count"}, {"cpu", "nanoseconds"}};
    profile_.period_type = {"cpu", "nanoseconds"};
    profile_.period = period_ns_;
    if (auto read = read_stacks(); !read) {
      return propagate(read);
    }
    const LineReader lines(as_text(content_.subspan(reader_.offset())));
    rows_.read_memory_map_here(lines);
    return std::move(profile_);
  }

 private:
  static constexpr uint64_t kMaxPeriodUs = 3'600'000'000;  // an hour

  uint64_t word() { return is_narrow_ ? reader_.read<uint32_t>() : reader_.read<uint64_t>(); }

  Status read_stacks() {
    std::vector<uint64_t> stack;
    while (true) {
      const size_t start = reader_.offset();
      const uint64_t samples = word();
      const uint64_t depth = word();
      if (!reader_.ok() || depth == 0 || depth > kMaxDepth) {
        return fail(ErrorCode::kCorrupt,
                    "the CPU profile has a stack of {} addresses at byte {}, or ends there", depth, start);
      }
      stack.clear();
      for (uint64_t i = 0; i < depth && reader_.ok(); ++i) {
        stack.push_back(word());
      }
      if (!reader_.ok()) {
        return fail(ErrorCode::kCorrupt, "the CPU profile ends within the stack at byte {}", start);
      }
      if (samples == 0 && depth == 1 && stack[0] == 0) {
        return {};
      }
      if (auto added = add(samples, stack); !added) {
        return propagate(added, "the stack at byte {}", start);
      }
    }
  }

  Status add(uint64_t samples, std::vector<uint64_t>& stack) {
    int64_t time_ns = 0;
    if (samples > INT64_MAX || __builtin_mul_overflow(static_cast<int64_t>(samples), period_ns_, &time_ns)) {
      return fail(ErrorCode::kTooLarge, "{} samples", samples);
    }
    if (stack.size() > 1 && stack[1] == stack[0]) {
      stack.erase(stack.begin() + 1);
    }
    return rows_.add(stack, std::array{static_cast<int64_t>(samples), time_ns});
  }

  ByteReader reader_;
  const Bytes content_;
  const bool is_narrow_;
  ApplicationProfile profile_;
  LegacyRows rows_;
  int64_t period_ns_ = 0;
};

}  // namespace

bool looks_like_legacy_cpu(Bytes content) {
  return word_bytes(content) != WordBytes::kNone;
}

Result<ApplicationProfile> read_legacy_cpu(Bytes content, const Limits& limits, AddressKind address_kind) {
  if (!looks_like_legacy_cpu(content)) {
    return fail(ErrorCode::kCorrupt, "the header of a CPU profile is missing");
  }
  return LegacyCpuReader(content, limits, address_kind).read();
}

}  // namespace plimsoll::formats
