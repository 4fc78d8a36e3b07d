#include "symbolizer/debuginfod/debuginfod_fetcher.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/unique_fd.h"
#include "elf/elf_file.h"
#include "symbolizer/repository/repository_files.h"
#include "symbolizer/search/debug_links.h"

namespace plimsoll::symbolizer {
namespace {

constexpr std::string_view kDebuginfo = "debuginfo";
constexpr std::string_view kExecutable = "executable";
// Of a debug file that is kept: no request, but remembered like one.
constexpr std::string_view kSupplement = "supplement";

constexpr int64_t kFirstRestNs = 60 * kNsPerSecond;
constexpr int64_t kLongestRestNs = kNsPerHour;

// After what a server will not repeat soon: the answer of the others is not known, or names are being read from a file that has just come.
constexpr int64_t kShortRetryNs = int64_t{10} * 60 * kNsPerSecond;

// What is left of a budget must do for an answer, or a request only costs its server. Where the whole budget is less: timeouts have
// milliseconds, and are not exact.
constexpr int64_t kShortestRequestNs = kNsPerSecond;
constexpr int64_t kShortestOfShortBudgetNs = 10'000'000;

constexpr size_t kMaxRemembered = 100'000;
constexpr uint64_t kMaxSupplementedBytes = uint64_t{64} << 30;

std::string memory_key(std::string_view build_id, std::string_view artifact) {
  return fmt::format("{} {}", artifact, build_id);
}

}  // namespace

// What is left of a build's, and what came of it.
struct DebuginfodFetcher::Budget {
  uint64_t bytes_left;
  int64_t ends_ns;  // monotonic
  int64_t shortest_request_ns;
  int cancel_fd;
  const std::stop_token& stop;
  FetchReport report;

  FetchBudget left() const { return {bytes_left, std::max<int64_t>(0, ends_ns - monotonic_now_ns())}; }
  bool is_spent() const { return left().bytes == 0 || left().time_ns < shortest_request_ns; }
};

DebuginfodFetcher::DebuginfodFetcher(DebuginfodSettings settings, BinaryRepository& repository)
    : settings_(std::move(settings)), repository_(repository), servers_(settings_.servers.size()) {}

bool DebuginfodFetcher::may_ask(std::string_view build_id, std::string_view artifact, int64_t now_ns) const {
  const auto found = remembered_.find(memory_key(build_id, artifact));
  return lacks(build_id, artifact) && (found == remembered_.end() || found->second <= now_ns);
}

bool DebuginfodFetcher::lacks(std::string_view build_id, std::string_view artifact) const {
  const auto record = repository_.find(build_id);
  if (!record) {
    return true;
  }
  const KeptFile* const executable = record->file(BinaryKind::kExecutable);
  if (artifact == kExecutable) {
    return executable == nullptr;
  }
  // One that was never stripped is its own debug file.
  const bool has_lines = executable != nullptr && executable->quality >= store::SymbolQuality::kLines;
  // A part of a stripped file has no more than that.
  const KeptFile* const debug = record->file(BinaryKind::kDebug);
  const bool is_poor = debug == nullptr || (debug->is_part && debug->quality < store::SymbolQuality::kLines);
  return is_poor && !has_lines;
}

bool DebuginfodFetcher::any_server_awake(int64_t now_ns) const {
  return std::ranges::any_of(servers_,
                             [&](const ServerState& server) { return server.rests_until_ns <= now_ns; });
}

void DebuginfodFetcher::remember(std::string_view build_id, std::string_view artifact, int64_t age_ns) {
  const int64_t now_ns = settings_.monotonic_now_ns();
  if (remembered_.size() >= kMaxRemembered) {
    std::erase_if(remembered_, [&](const auto& entry) { return entry.second <= now_ns; });
  }
  if (remembered_.size() >= kMaxRemembered) {
    remembered_.erase(remembered_.begin());
  }
  remembered_.insert_or_assign(memory_key(build_id, artifact), now_ns + age_ns);
}

void DebuginfodFetcher::let_rest(ServerState& server, int64_t retry_after_s) const {
  server.rest_ns = std::clamp(2 * server.rest_ns, kFirstRestNs, kLongestRestNs);
  const int64_t asked_ns =
      std::clamp<int64_t>(retry_after_s, 0, kLongestRestNs / kNsPerSecond) * kNsPerSecond;
  server.rests_until_ns = settings_.monotonic_now_ns() + std::max(server.rest_ns, asked_ns);
}

Result<std::optional<FetchReport>> DebuginfodFetcher::fetch_next(const std::stop_token& stop) {
  const int64_t now_ns = settings_.monotonic_now_ns();
  if (!any_server_awake(now_ns)) {
    return std::nullopt;
  }
  const auto next = std::ranges::find_if(wanted_, [&](const std::string& build_id) {
    return may_ask(build_id, kDebuginfo, now_ns) || may_ask(build_id, kExecutable, now_ns) ||
           missing_supplement(build_id);
  });
  if (next == wanted_.end() || stop.stop_requested()) {
    return std::nullopt;
  }
  const UniqueFd cancel(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::stop_callback on_stop(stop, [&cancel] { ::eventfd_write(cancel.get(), 1); });
  Budget budget{.bytes_left = settings_.per_build.bytes,
                .ends_ns = monotonic_now_ns() + settings_.per_build.time_ns,
                .shortest_request_ns = settings_.per_build.time_ns > kShortestRequestNs
                                           ? kShortestRequestNs
                                           : kShortestOfShortBudgetNs,
                .cancel_fd = cancel.get(),
                .stop = stop,
                .report = {.build_id = *next}};
  const Status done = fetch_build(*next, budget);
  if (!done) {
    // Or this build would be fetched again and again, and no other: its file may be the one that there is no room for.
    remember(*next, kDebuginfo, std::min(settings_.retry_ns, kShortRetryNs));
    remember(*next, kExecutable, std::min(settings_.retry_ns, kShortRetryNs));
    remember(*next, kSupplement, std::min(settings_.retry_ns, kShortRetryNs));
  }
  return done ? Result<std::optional<FetchReport>>(std::move(budget.report)) : propagate(done);
}

Status DebuginfodFetcher::fetch_build(const std::string& build_id, Budget& budget) {
  for (const std::string_view artifact : {kDebuginfo, kExecutable}) {
    if (!may_ask(build_id, artifact, settings_.monotonic_now_ns())) {
      continue;
    }
    const auto end = ask_all(build_id, artifact, budget);
    if (!end) {
      return propagate(end);
    }
    if (*end == AskEnd::kStored && artifact == kDebuginfo) {
      remember(build_id, kExecutable, kShortRetryNs);
      break;
    }
    if (*end == AskEnd::kCancelled) {
      return {};
    }
  }
  const auto supplement = missing_supplement(build_id);
  const auto end = supplement ? ask_all(*supplement, kDebuginfo, budget) : Result<AskEnd>(AskEnd::kMissing);
  return end ? Status() : propagate(end);
}

Result<DebuginfodFetcher::AskEnd> DebuginfodFetcher::ask_all(std::string_view build_id,
                                                             std::string_view artifact, Budget& budget) {
  bool is_known = true;  // what each server has to say
  for (size_t i = 0; i < servers_.size(); ++i) {
    const int64_t now_ns = settings_.monotonic_now_ns();
    if (servers_[i].rests_until_ns > now_ns || budget.is_spent()) {
      is_known = false;
      continue;
    }
    const auto answer = fetch_from(settings_.servers, i,
                                   {.build_id = build_id,
                                    .artifact = artifact,
                                    .budget = budget.left(),
                                    .check_room = settings_.check_room,
                                    .now_ns = wall_now_ns(),
                                    .cancel_fd = budget.cancel_fd},
                                   repository_);
    if (budget.stop.stop_requested()) {
      return AskEnd::kCancelled;
    }
    if (!answer) {
      return propagate(answer);
    }
    budget.bytes_left -= std::min(budget.bytes_left, answer->bytes);
    budget.report.bytes += answer->bytes;
    if (answer->end == FetchEnd::kFailed) {
      is_known = false;
      let_rest(servers_[i], answer->retry_after_s);
    } else {
      servers_[i] = {};
    }
    if (!answer->reason.empty()) {
      budget.report.remarks.push_back(answer->reason);
    }
    if (answer->end == FetchEnd::kFailed && answer->bytes > 0 && budget.is_spent()) {
      // It would come as far the next time. That the others were not asked makes no difference: they come after this one then, too.
      remember(build_id, artifact, settings_.retry_ns);
      return AskEnd::kMissing;
    }
    if (answer->end == FetchEnd::kStored) {
      budget.report.files += answer->is_new ? 1 : 0;
      remember(build_id, artifact, settings_.retry_ns);
      return AskEnd::kStored;
    }
  }
  remember(build_id, artifact, is_known ? settings_.retry_ns : std::min(settings_.retry_ns, kShortRetryNs));
  return AskEnd::kMissing;
}

std::optional<std::string> DebuginfodFetcher::missing_supplement(const std::string& build_id) {
  const int64_t now_ns = settings_.monotonic_now_ns();
  const auto found = remembered_.find(memory_key(build_id, kSupplement));
  const auto record = repository_.find(build_id);
  if ((found != remembered_.end() && found->second > now_ns) || !record ||
      record->file(BinaryKind::kDebug) == nullptr) {
    return std::nullopt;
  }
  const auto map = MappedFile::open(kept_path(repository_.data_dir(), build_id, BinaryKind::kDebug),
                                    kMaxSupplementedBytes);
  const auto file = map ? elf::ElfFile::parse(map->bytes()) : Result<elf::ElfFile>(propagate(map));
  const auto link = file ? find_supplement_link(*file) : std::nullopt;
  if (!link || link->build_id.size() < kMinBuildIdBytes || link->build_id.size() > kMaxBuildIdBytes) {
    remember(build_id, kSupplement, settings_.retry_ns);
    return std::nullopt;
  }
  std::string supplement(link->build_id);
  if (!may_ask(supplement, kDebuginfo, now_ns)) {
    // It is kept, or its own memory says when: the debug file need not be read with each pass until then.
    remember(build_id, kSupplement, std::min(settings_.retry_ns, kShortRetryNs));
    return std::nullopt;
  }
  return supplement;
}

}  // namespace plimsoll::symbolizer
