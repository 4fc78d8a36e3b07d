#include "formats/perf_data/damage.h"

#include <fmt/format.h>

namespace plimsoll::perf_data {
namespace {

constexpr uint64_t kShownStretches = 10;

}  // namespace

void DamageLog::add_stretch(uint64_t offset, uint64_t size_bytes, const std::string& why) {
  ++stretches_;
  lost_bytes_ += size_bytes;
  if (stretches_ <= kShownStretches) {
    lines_.push_back(
        size_bytes == 0
            ? fmt::format("damaged: records end too early, at offset {}: {}", offset, why)
            : fmt::format("damaged: {} bytes at offset {} were left out: {}", size_bytes, offset, why));
  }
}

void DamageLog::add(std::string what) {
  lines_.push_back("damaged: " + std::move(what));
}

std::vector<std::string> DamageLog::lines(uint64_t all_bytes) const {
  std::vector<std::string> lines = lines_;
  if (stretches_ > 1) {
    lines.push_back(fmt::format("damaged: {} of {} bytes of records were left out, in {} places", lost_bytes_,
                                all_bytes, stretches_));
  }
  return lines;
}

}  // namespace plimsoll::perf_data
