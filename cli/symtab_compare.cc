#include "cli/symtab_compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/printable.h"

namespace plimsoll::cli {
namespace {

using symbolizer::MappedTable;
using symbolizer::ReaderChoice;
using symbolizer::Symtab;
using symbolizer::SymtabFrame;
using symbolizer::SymtabQuality;

constexpr double kMinEqualShare = 0.999;
constexpr uint64_t kMaxShown = 5;

// Addresses that either table says something of, drawn so that each byte is as likely as any other.
class KnownCode {
 public:
  KnownCode(const Symtab& one, const Symtab& other) {
    std::vector<Stretch> stretches = stretches_of(one);
    std::ranges::copy(stretches_of(other), std::back_inserter(stretches));
    std::ranges::sort(stretches, {}, &Stretch::from);
    for (const Stretch& stretch : stretches) {
      const uint64_t from = std::max(stretch.from, stretches_.empty() ? 0 : stretches_.back().to);
      if (from < stretch.to) {
        bytes_ += stretch.to - from;
        stretches_.push_back({from, stretch.to, bytes_});
      }
    }
  }

  bool empty() const { return bytes_ == 0; }

  uint64_t draw(std::mt19937_64& random) const {
    const uint64_t byte = random() % bytes_;
    const auto stretch = std::ranges::upper_bound(stretches_, byte, {}, &Stretch::bytes_up_to_end);
    return stretch->to - (stretch->bytes_up_to_end - byte);
  }

 private:
  struct Stretch {
    uint64_t from;
    uint64_t to;
    uint64_t bytes_up_to_end = 0;  // of this stretch and of those before
  };

  static std::vector<Stretch> stretches_of(const Symtab& table) {
    std::vector<Stretch> stretches;
    uint64_t from = 0;
    bool is_known = false;
    std::vector<SymtabFrame> frames;
    table.for_each_row([&](uint64_t next) {
      if (is_known && next > from) {
        stretches.push_back({from, next});
      }
      frames.clear();
      table.look_up(next, frames);
      from = next;
      is_known = !frames.empty();
    });
    return stretches;
  }

  std::vector<Stretch> stretches_;  // by address, without overlaps
  uint64_t bytes_ = 0;
};

bool is_same_frame(const SymtabFrame& one, const SymtabFrame& other) {
  return one.function == other.function && one.file == other.file && one.line == other.line;
}

std::string chain_text(const std::vector<SymtabFrame>& frames) {
  std::string text;
  for (const SymtabFrame& frame : frames) {
    text += fmt::format("{}{} {}:{}", text.empty() ? "" : " < ",
                        frame.function.empty() ? "?" : printable(frame.function),
                        frame.file.empty() ? "?" : printable(frame.file), frame.line);
  }
  return text.empty() ? "-" : text;
}

Result<MappedTable> table_by(ReaderChoice reader, std::string_view name, TableSource source) {
  source.reader = reader;
  auto made = make_table(source);
  if (!made) {
    return propagate(made, "reading with {}", name);
  }
  auto mapped = std::move(made->mapped);
  if (!mapped || made->quality < SymtabQuality::kLines) {
    return fail(ErrorCode::kUnsupported, "{} reads no lines in {}: {}", name, source.files.binary,
                made->reasons.empty() ? "it has no DWARF" : printable(made->reasons));
  }
  return *std::move(mapped);
}

// Prints the first addresses that differ, and gives how many are equal.
uint64_t count_equal(const Symtab& ours, const Symtab& theirs, const KnownCode& code,
                     const ReaderComparisonOptions& options) {
  std::mt19937_64 random(options.seed);
  std::vector<SymtabFrame> by_ours;
  std::vector<SymtabFrame> by_libdw;
  uint64_t equal = 0;
  uint64_t shown = 0;
  for (uint64_t i = 0; i < options.addresses; ++i) {
    const uint64_t address = code.draw(random);
    by_ours.clear();
    by_libdw.clear();
    ours.look_up(address, by_ours);
    theirs.look_up(address, by_libdw);
    if (std::ranges::equal(by_ours, by_libdw, is_same_frame)) {
      ++equal;
    } else if (shown++ < kMaxShown) {
      fmt::print("{:#x}\n  plimsoll: {}\n  libdw:    {}\n", address, chain_text(by_ours),
                 chain_text(by_libdw));
    }
  }
  return equal;
}

}  // namespace

Status run_reader_comparison(const ReaderComparisonOptions& options) {
  const auto ours = table_by(ReaderChoice::kOursAlone, "our reader", options.source);
  if (!ours) {
    return propagate(ours);
  }
  const auto theirs = table_by(ReaderChoice::kSecondAlone, "libdw", options.source);
  if (!theirs) {
    return propagate(theirs);
  }
  const KnownCode code(ours->table, theirs->table);
  const std::string& path = options.source.files.binary;
  if (code.empty()) {
    return fail(ErrorCode::kNotFound, "neither reader finds code in {}", path);
  }
  const uint64_t equal = count_equal(ours->table, theirs->table, code, options);
  const double share = static_cast<double>(equal) / static_cast<double>(options.addresses);
  fmt::print("{}: {} of {} addresses have equal chains ({:.3f} %), seed {}\n", path, equal, options.addresses,
             share * 100, options.seed);
  return share >= kMinEqualShare
             ? Status()
             : fail(ErrorCode::kCorrupt,
                    "comparing the readers of {}: fewer than {} % of the chains are equal", path,
                    kMinEqualShare * 100);
}

}  // namespace plimsoll::cli
