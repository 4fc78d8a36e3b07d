// Fetches from debuginfod servers what the repository of binaries lacks, one request at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "symbolizer/debuginfod/debuginfod_client.h"

namespace plimsoll::symbolizer {

struct DebuginfodSettings {
  std::vector<DebuginfodServer> servers = {};  // asked in this order
  FetchBudget per_build = {.bytes = uint64_t{2} << 30, .time_ns = 120 * kNsPerSecond};
  int64_t retry_ns = 24 * kNsPerHour;  // after an answer, the same is not asked for again
  std::function<Status(uint64_t bytes)> check_room = {};
  // What is remembered ages by it: a wall clock that is set back would let servers rest for as long as it was ahead.
  std::function<int64_t()> monotonic_now_ns = plimsoll::monotonic_now_ns;
};

// Of the fetches for one build.
struct FetchReport {
  std::string build_id = {};
  uint64_t files = 0;  // that are new in the repository
  uint64_t bytes = 0;  // that came
  // In words, each with its server: what was refused, and which servers failed.
  std::vector<std::string> remarks = {};
};

// One thread. Borrows the repository. What servers do not have is remembered in memory, as long as `retry_ns`.
class DebuginfodFetcher {
 public:
  DebuginfodFetcher(DebuginfodSettings settings, BinaryRepository& repository);

  // In place of those that were wanted before; the most important first.
  void want(std::vector<std::string> build_ids) { wanted_ = std::move(build_ids); }

  // Asks for the first wanted build that may be asked for now: its debug file (with the supplementary file of dwz that it refers to), and where no
  // server has one, its executable. All of it within `per_build`. Nothing: there is none to ask for. A server that has failed is left
  // alone for a minute, then for twice as long, up to an hour. Errors are those of this machine: the build is asked for again
  // after ten minutes, and the others meanwhile.
  Result<std::optional<FetchReport>> fetch_next(const std::stop_token& stop);

 private:
  struct ServerState {
    int64_t rests_until_ns = 0;
    int64_t rest_ns = 0;  // the newest
  };
  enum class AskEnd : uint8_t { kStored, kMissing, kCancelled };
  struct Budget;

  bool may_ask(std::string_view build_id, std::string_view artifact, int64_t now_ns) const;
  bool lacks(std::string_view build_id, std::string_view artifact) const;
  bool any_server_awake(int64_t now_ns) const;
  void remember(std::string_view build_id, std::string_view artifact, int64_t age_ns);
  void let_rest(ServerState& server, int64_t retry_after_s) const;
  Status fetch_build(const std::string& build_id, Budget& budget);
  Result<AskEnd> ask_all(std::string_view build_id, std::string_view artifact, Budget& budget);
  // The build ID of the file that dwz split off the kept debug file, where that may be asked for now.
  std::optional<std::string> missing_supplement(const std::string& build_id);

  const DebuginfodSettings settings_;
  BinaryRepository& repository_;
  std::vector<ServerState> servers_;  // as settings_.servers
  std::vector<std::string> wanted_;
  // By "ARTIFACT BUILD_ID": until when not to ask for it again.
  std::map<std::string, int64_t, std::less<>> remembered_;
};

}  // namespace plimsoll::symbolizer
