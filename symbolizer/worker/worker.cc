#include "symbolizer/worker/worker.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>

#include "base/sort_stably.h"
#include "symbolizer/names/demangle.h"
#include "symbolizer/worker/turns.h"

namespace plimsoll::symbolizer {

struct LookedUp {
  store::PendingBinary binary;
  bool is_better;  // than what its locations were bound to before: they are all here
  store::SymbolQuality quality;
  std::string reasons;
  std::string looked_at;
  std::vector<store::Binding> bindings;
};

namespace {

constexpr size_t kMaxCachedBinaries = 256;
// Nearly all of it mapped files, which take memory only where it is to spare.
constexpr uint64_t kMaxCachedBytes = uint64_t{1} << 30;

// What was found in it is written, and what has come meanwhile has its turn. Finding what is pending takes some 50 ms with 20,000
// binaries.
constexpr std::chrono::seconds kSlice{2};

constexpr std::string_view kVdso = "[vdso]";
constexpr std::string_view kKernel = "[kernel]";

// Stands for the names that with_kernel_names() adds.
std::string kernel_state(const store::PendingBinary& binary) {
  return fmt::format("{} bytes of kernel symbols", binary.kernel_symbol_bytes);
}

bool has_kernel_state(std::string_view looked_at, const store::PendingBinary& binary) {
  return looked_at.substr(0, looked_at.find('\n')) == kernel_state(binary);
}

// Of a kernel's looked_at: what the search for its files depended on.
std::string_view looked_at_of_files(std::string_view looked_at) {
  const size_t line_end = looked_at.find('\n');
  return line_end == std::string_view::npos ? std::string_view() : looked_at.substr(line_end + 1);
}

bool is_kernel_itself(const store::PendingBinary& binary) {
  return std::ranges::find(binary.paths, kKernel) != binary.paths.end();
}

bool is_vdso(const store::PendingBinary& binary) {
  // Not any of them: a profile may call any build by that name.
  return std::ranges::all_of(binary.paths, [](const std::string& path) { return path == kVdso; });
}

bool may_end_better(const store::PendingBinary& binary, const SymbolRoots& roots) {
  if (binary.is_kernel) {
    return !has_kernel_state(binary.looked_at, binary) ||
           FileSearch::has_changed(looked_at_of_files(binary.looked_at), roots);
  }
  return !is_vdso(binary) && FileSearch::has_changed(binary.looked_at, roots);
}

bool is_fresh(const BinarySymbols& symbols, const store::PendingBinary& binary, const SymbolRoots& roots) {
  const std::string_view looked_at = symbols.looked_at();
  if (binary.is_kernel && !has_kernel_state(looked_at, binary)) {
    return false;
  }
  return is_vdso(binary) || symbols.quality() == store::SymbolQuality::kFull ||
         !FileSearch::has_changed(binary.is_kernel ? looked_at_of_files(looked_at) : looked_at, roots);
}

std::vector<store::Binding> bindings_of(const std::vector<store::PendingLocation>& locations,
                                        const BinarySymbols& symbols) {
  std::vector<store::Binding> bindings;
  bindings.reserve(locations.size());
  for (const store::PendingLocation& location : locations) {
    // Names of the kernel are C, and come from a profile: nothing there is worth the demangler's risks.
    const NameForm form{.demangle = location.kind != wire::KERNEL && location.kind != wire::MODULE};
    auto frames = symbols.frames_of(location.kind, location.address);
    for (store::Frame& frame : frames) {
      frame.function = display_name(frame.function.empty() ? frame.linkage_name : frame.function, form);
    }
    bindings.push_back({location.id, std::move(frames)});
  }
  return bindings;
}

void add_to_report(const LookedUp& looked_up, SymbolizeReport& report) {
  const std::string& path = looked_up.binary.paths.front();
  for (size_t i = 0; i < looked_up.bindings.size(); ++i) {
    const bool is_new = looked_up.binary.locations[i].is_new;
    ++(is_new ? report.locations : report.renamed);
    report.named += is_new && !looked_up.bindings[i].frames.empty() ? 1 : 0;
  }
  if (looked_up.is_better) {
    report.improved.push_back(fmt::format("{}: {} addresses symbolized again ({}, was {})", path,
                                          looked_up.bindings.size(), store::name_of(looked_up.quality),
                                          store::name_of(looked_up.binary.quality)));
  }
  if (looked_up.quality <= store::SymbolQuality::kDynsym && !looked_up.reasons.empty()) {
    const bool is_partial = looked_up.quality != store::SymbolQuality::kNone;
    report.missing.push_back(is_partial ? fmt::format("partial symbols for {} (exported functions only): {}; "
                                                      "add its debug file (plimsoll binaries "
                                                      "add), or install its debug package",
                                                      path, looked_up.reasons)
                                        : fmt::format("no symbols for {}: {}", path, looked_up.reasons));
  }
}

store::NamedBinary named(const LookedUp& looked_up) {
  const store::PendingBinary& binary = looked_up.binary;
  // Of a search that found less than the bindings were made with, only the account is kept.
  const bool keeps_quality = looked_up.bindings.empty();
  return {.ids = binary.ids,
          .path = binary.paths.front(),
          .account = {.quality = keeps_quality ? binary.quality : looked_up.quality,
                      .generation = std::max<int64_t>(1, binary.generation + (looked_up.is_better ? 1 : 0)),
                      .reasons = looked_up.reasons,
                      .looked_at = looked_up.looked_at},
          .bindings = looked_up.bindings};
}

Status write_names(const std::vector<LookedUp>& all, store::BlockSymbols& block) {
  std::vector<store::NamedBinary> binaries;
  binaries.reserve(all.size());
  for (const LookedUp& looked_up : all) {
    binaries.push_back(named(looked_up));
  }
  return block.bind(binaries);
}

WantedBinary wanted_of(const store::PendingBinary& binary) {
  return {.identity_kind = binary.identity_kind,
          .identity = binary.identity,
          .paths = binary.paths,
          .looked_at = binary.looked_at,
          .reasons = binary.reasons};
}

}  // namespace

SymbolizeReport& SymbolizeReport::operator+=(SymbolizeReport other) {
  locations += other.locations;
  named += other.named;
  renamed += other.renamed;
  std::ranges::move(other.improved, std::back_inserter(improved));
  // Of a binary in several blocks it is said once.
  for (std::string& line : other.missing) {
    if (std::ranges::find(missing, line) == missing.end()) {
      missing.push_back(std::move(line));
    }
  }
  return *this;
}

Symbolizer::Symbolizer(SymbolLoader loader)
    : loader_(std::move(loader)), cache_(kMaxCachedBinaries, kMaxCachedBytes) {}

Result<Symbolizer> Symbolizer::open(const std::string& data_dir, SymbolRoots roots, TableWorker worker,
                                    LoadOptions options) {
  auto tables = TableFolder::open(data_dir);
  return tables ? Result<Symbolizer>(SymbolLoader(std::move(roots), std::move(*tables),
                                                  TableProcess(std::move(worker)), std::move(options)))
                : propagate(tables);
}

Result<SymbolizeReport> Symbolizer::run(store::BlockSymbols& block, bool look_for_better) {
  SymbolizeReport report;
  std::set<std::string> searched_again;
  while (true) {
    const auto is_over = run_slice(block, look_for_better, searched_again, report);
    if (!is_over) {
      return propagate(is_over);
    }
    if (*is_over) {
      return report;
    }
  }
}

Result<bool> Symbolizer::run_slice(store::BlockSymbols& block, bool look_for_better,
                                   std::set<std::string>& searched_again, SymbolizeReport& report) {
  const BlockKey key(block.number(), block.generation());
  int64_t bound_up_to = bound_up_to_[key];
  auto pending = block.find_pending(bound_up_to);
  if (!pending) {
    return propagate(pending);
  }
  order_by_turns(*pending);
  offer_all(*pending, look_for_better);
  Status done;
  const auto ends = std::chrono::steady_clock::now() + kSlice;
  std::vector<LookedUp> all;
  size_t asked = 0;
  bool is_over = true;
  std::set<std::string>& left = left_[key];
  std::set<std::string> left_now;
  for (store::PendingBinary& binary : *pending) {
    // Once it was told to stop what is left takes no time.
    if (!all.empty() && all.size() == asked && std::chrono::steady_clock::now() > ends) {
      is_over = false;
      break;
    }
    if (!done || !(left.contains(binary.key()) || is_due(binary, look_for_better, searched_again))) {
      continue;
    }
    if (!begin_here(binary, look_for_better || left.contains(binary.key()))) {
      left_now.insert(binary.key());
      continue;
    }
    ++asked;
    searched_again.insert(binary.key());
    done = look_up(block, std::move(binary), all);
  }
  if (done && !all.empty()) {
    done = write_names(all, block);
  }
  if (!done) {
    return propagate(done);
  }
  if (is_over) {
    left = std::move(left_now);
  } else {
    // The next slice would look them up again, and might get no further.
    for (const LookedUp& looked_up : all) {
      left.erase(looked_up.binary.key());
    }
    left.merge(left_now);
  }
  if (is_over && all.size() == asked && left.empty()) {
    bound_up_to_[key] = bound_up_to;
  }
  for (const LookedUp& looked_up : all) {
    add_to_report(looked_up, report);
  }
  return is_over;
}

Result<std::shared_ptr<BinarySymbols>> Symbolizer::symbols_of(store::BlockSymbols& block,
                                                              const store::PendingBinary& binary) {
  const auto fresh = [&](const BinarySymbols& symbols) { return is_fresh(symbols, binary, loader_.roots()); };
  Status read;
  auto symbols = cache_.get(binary.search_key(), fresh, [&]() -> std::optional<BinarySymbols> {
    if (!binary.is_kernel) {
      return is_vdso(binary) ? read_vdso_symbols(binary.identity) : loader_.load(wanted_of(binary));
    }
    const auto image = block.kernel_image(binary);
    if (!image) {
      read = propagate(image);
      return std::nullopt;
    }
    return with_kernel_names(files_of_kernel(binary), *image, kernel_state(binary));
  });
  return read ? Result<std::shared_ptr<BinarySymbols>>(std::move(symbols)) : propagate(read);
}

BinarySymbols Symbolizer::files_of_kernel(const store::PendingBinary& binary) {
  // "[kernel]" and names of modules are no paths.
  std::vector<std::string> paths;
  std::ranges::copy_if(binary.paths, std::back_inserter(paths),
                       [](const std::string& path) { return path.starts_with('/'); });
  auto found = loader_.load({.identity_kind = binary.identity_kind,
                             .identity = binary.identity,
                             .paths = paths,
                             .looked_at = looked_at_of_files(binary.looked_at),
                             .reasons = binary.reasons});
  if (!found) {
    // Told to stop: the names alone, and the next pass searches.
    return BinarySymbols(std::nullopt, {}, {});
  }
  // What has a path is a program too, whatever a profile calls it.
  const bool is_kernel_alone = is_kernel_itself(binary) && paths.empty();
  if (is_kernel_alone && found->quality() != store::SymbolQuality::kNone && !found->has_kernel_text()) {
    return BinarySymbols(std::nullopt, "its files have no symbol _text, which addresses count from",
                         found->looked_at());
  }
  return *std::move(found);
}

bool Symbolizer::has_left(int64_t block, int64_t generation) const {
  const auto found = left_.find({block, generation});
  return found != left_.end() && !found->second.empty();
}

bool Symbolizer::has_come(const store::PendingBinary& binary) const {
  return loader_.remote() != nullptr && !binary.is_kernel && loader_.remote()->has(binary.identity);
}

bool Symbolizer::is_due(const store::PendingBinary& binary, bool look_for_better,
                        const std::set<std::string>& searched_again) const {
  if (binary.new_locations > 0) {
    return true;
  }
  return look_for_better && !searched_again.contains(binary.key()) && may_end_better(binary, loader_.roots());
}

void Symbolizer::offer_all(std::vector<store::PendingBinary>& pending, bool look_for_better) {
  const RemoteTables* const remote = loader_.remote();
  if (remote == nullptr || !remote->has_workers()) {
    return;
  }
  // Tables that have come cost nothing more, and make room for others.
  sort_stably(pending, [this](const store::PendingBinary& binary) { return !has_come(binary); });
  for (const store::PendingBinary& binary : pending) {
    offer(binary, look_for_better);
  }
}

void Symbolizer::offer(const store::PendingBinary& binary, bool look_for_better) {
  RemoteTables& remote = *loader_.remote();
  const auto fresh = [&](const BinarySymbols& symbols) { return is_fresh(symbols, binary, loader_.roots()); };
  const bool is_wanted =
      (binary.new_locations > 0 || look_for_better) && !binary.is_kernel && !is_vdso(binary);
  if (is_wanted && remote.may_offer(wanted_of(binary)) && may_end_better(binary, loader_.roots()) &&
      !cache_.holds(binary.search_key(), fresh)) {
    remote.offer(wanted_of(binary));
  }
}

bool Symbolizer::begin_here(const store::PendingBinary& binary, bool look_for_better) {
  RemoteTables* const remote = loader_.remote();
  if (remote == nullptr || binary.is_kernel) {
    return true;
  }
  // Its files may have come since this slice began, when there was nothing to offer. One that is coming would be found by a search, and not be
  // offered: in this order one of both is seen.
  if (remote->has_workers()) {
    if (remote->is_coming(binary.identity)) {
      return false;
    }
    offer(binary, look_for_better);
  }
  return remote->begin_here(binary.identity);
}

Status Symbolizer::look_up(store::BlockSymbols& block, store::PendingBinary binary,
                           std::vector<LookedUp>& all) {
  const auto symbols = symbols_of(block, binary);
  if (RemoteTables* const remote = loader_.remote(); remote != nullptr && !binary.is_kernel) {
    remote->end_here(binary.identity);
  }
  if (!symbols) {
    return propagate(symbols);
  }
  if (*symbols == nullptr) {
    return {};
  }
  const bool is_better = binary.generation != 0 && (*symbols)->quality() > binary.quality;
  if (const Status read = block.add_locations(is_better, binary); !read) {
    return read;
  }
  auto bindings = bindings_of(binary.locations, **symbols);
  all.push_back({.binary = std::move(binary),
                 .is_better = is_better,
                 .quality = (*symbols)->quality(),
                 .reasons = (*symbols)->reasons(),
                 .looked_at = (*symbols)->looked_at(),
                 .bindings = std::move(bindings)});
  return {};
}

}  // namespace plimsoll::symbolizer
