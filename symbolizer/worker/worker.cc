#include "symbolizer/worker/worker.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>

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

// Stands for what read_kernel_symbols() depends on.
std::string kernel_state(const store::PendingBinary& binary) {
  return fmt::format("{} bytes of kernel symbols", binary.kernel_symbol_bytes);
}

bool is_vdso(const store::PendingBinary& binary) {
  // Not any of them: a profile may call any build by that name.
  return std::ranges::all_of(binary.paths, [](const std::string& path) { return path == kVdso; });
}

bool may_end_better(const store::PendingBinary& binary, const SymbolRoots& roots) {
  if (binary.is_kernel) {
    return binary.looked_at != kernel_state(binary);
  }
  return !is_vdso(binary) && FileSearch::has_changed(binary.looked_at, roots);
}

bool is_fresh(const BinarySymbols& symbols, const store::PendingBinary& binary, const SymbolRoots& roots) {
  if (binary.is_kernel) {
    return symbols.looked_at() == kernel_state(binary);
  }
  return is_vdso(binary) || symbols.quality() == store::SymbolQuality::kFull ||
         !FileSearch::has_changed(symbols.looked_at(), roots);
}

std::vector<store::Binding> bindings_of(const std::vector<store::PendingLocation>& locations,
                                        const BinarySymbols& symbols) {
  std::vector<store::Binding> bindings;
  std::vector<uint64_t> addresses;
  std::vector<size_t> places;  // for each address, the binding that it is of
  for (const store::PendingLocation& location : locations) {
    const auto address = location.kind == wire::ELF_FILE_OFFSET ? symbols.address_of(location.address)
                                                                : std::optional(location.address);
    bindings.push_back({location.id, {}});
    if (address) {
      addresses.push_back(*address);
      places.push_back(bindings.size() - 1);
    }
  }
  auto frames = symbols.frames_at(addresses);
  for (size_t i = 0; i < addresses.size(); ++i) {
    // Names of the kernel are C, and come from a profile: nothing there is worth the demangler's risks.
    const wire::LocationKind kind = locations[places[i]].kind;
    const NameForm form{.demangle = kind != wire::KERNEL && kind != wire::MODULE};
    for (store::Frame& frame : frames[i]) {
      frame.function = display_name(frame.function.empty() ? frame.linkage_name : frame.function, form);
    }
    bindings[places[i]].frames = std::move(frames[i]);
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
  int64_t bound_up_to = bound_up_to_[block.number()];
  auto pending = block.find_pending(bound_up_to);
  if (!pending) {
    return propagate(pending);
  }
  order_by_turns(*pending);
  Status done;
  const auto ends = std::chrono::steady_clock::now() + kSlice;
  std::vector<LookedUp> all;
  size_t asked = 0;
  bool is_over = true;
  for (store::PendingBinary& binary : *pending) {
    // Once it was told to stop what is left takes no time.
    if (!all.empty() && all.size() == asked && std::chrono::steady_clock::now() > ends) {
      is_over = false;
      break;
    }
    const bool has_news = binary.new_locations > 0;
    const bool may_be_better = !has_news && look_for_better && !searched_again.contains(binary.key()) &&
                               may_end_better(binary, loader_.roots());
    if (done && (has_news || may_be_better)) {
      ++asked;
      searched_again.insert(binary.key());
      done = look_up(block, std::move(binary), all);
    }
  }
  if (done && !all.empty()) {
    done = write_names(all, block);
  }
  if (!done) {
    return propagate(done);
  }
  if (is_over && all.size() == asked) {
    bound_up_to_[block.number()] = bound_up_to;
  }
  for (const LookedUp& looked_up : all) {
    add_to_report(looked_up, report);
  }
  return is_over;
}

Result<std::shared_ptr<BinarySymbols>> Symbolizer::symbols_of(store::BlockSymbols& block,
                                                              const store::PendingBinary& binary) {
  std::string image;
  const auto fresh = [&](const BinarySymbols& symbols) { return is_fresh(symbols, binary, loader_.roots()); };
  if (binary.is_kernel && !cache_.holds(binary.search_key(), fresh)) {
    auto content = block.kernel_image(binary);
    if (!content) {
      return propagate(content);
    }
    image = std::move(*content);
  }
  return cache_.get(binary.search_key(), fresh, [&]() -> std::optional<BinarySymbols> {
    if (binary.is_kernel) {
      return read_kernel_symbols(image, kernel_state(binary));
    }
    return is_vdso(binary) ? read_vdso_symbols(binary.identity)
                           : loader_.load({.identity_kind = binary.identity_kind,
                                           .identity = binary.identity,
                                           .paths = binary.paths,
                                           .looked_at = binary.looked_at,
                                           .reasons = binary.reasons});
  });
}

Status Symbolizer::look_up(store::BlockSymbols& block, store::PendingBinary binary,
                           std::vector<LookedUp>& all) {
  const auto symbols = symbols_of(block, binary);
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
