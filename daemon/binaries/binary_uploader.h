// Sends the server the binaries that it lacks, of those that the operator permits to leave this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "daemon/binaries/offered_file.h"
#include "daemon/spool/retry_timer.h"
#include "elf/binary_part.h"
#include "http/client.h"
#include "proto/profile.pb.h"

namespace plimsoll::binaries {

// Of one binary. The server gives a body an hour.
inline constexpr int64_t kTransferTimeoutNs = kNsPerHour;

struct BinaryUploadSettings {
  std::vector<std::string> paths = {};  // patterns; none: nothing is sent, and the server is not asked
  int64_t ask_interval_ns = 600 * kNsPerSecond;
  // What may leave the machine of a file, at most.
  elf::BinaryPart content = elf::BinaryPart::kDebugSections;
  uint64_t max_file_bytes = uint64_t{256} << 20;
  int64_t max_bytes_per_second = 1 << 20;  // as sent
  std::function<int64_t()> monotonic_ns = &monotonic_now_ns;
};

// Remembers the state of each build: its newest paths, and when to ask for it, or to send it, again. Of very many builds those that were noted
// longest ago are forgotten. One that was refused, or cannot be read here, rests for a day and
// keeps no other from being sent, and so does one that takes longer than kTransferTimeoutNs; one that is not wanted any more (409) until the server is asked again. A transfer that is cut goes on where it ended, if the server still
// has what it got. note() and due_ns(): any thread;
// step(): one.
class BinaryUploader {
 public:
  explicit BinaryUploader(BinaryUploadSettings settings);

  // The binaries of a profile that is about to be sent.
  void note(const wire::RawProfile& profile);

  // Asks which builds the server lacks with `asking`, or sends the next of them with `sending`, which has kTransferTimeoutNs; or does nothing,
  // where it is not due. An error: of the server or the network; due_ns() says when to try again.
  Status step(http::Client& asking, http::Client& sending);

  // Monotonic; INT64_MAX: once something new is noted.
  int64_t due_ns() const;

 private:
  struct Offered {
    std::vector<std::string> paths = {};  // the newest last
    uint64_t noted = 0;                   // when, in the order of all
    int64_t rests_until_ns = 0;
    bool is_unreadable = false;  // rests because none of the paths could be read
  };
  struct Wanted {
    std::string build_id;
    elf::BinaryPart part = elf::BinaryPart::kDebugSections;
  };
  struct Opened {
    std::string path;
    std::shared_ptr<const UniqueFd> file;
    SentContent content;
  };

  struct Rest {
    std::unique_ptr<http::BodySource> source;
    uint64_t offset = 0;  // where it begins
  };

  // With mutex_ held, both.
  void note_path(const std::string& build_id, const std::string& path);
  void forget_oldest();
  std::optional<Opened> open_any(const Wanted& wanted);
  Result<SentContent> open_path(const std::string& path, const Wanted& wanted,
                                std::shared_ptr<const UniqueFd>& file) const;
  std::vector<std::string> due_builds(int64_t now_ns) const;
  Status ask(http::Client& client, const std::vector<std::string>& build_ids);
  void take_answer(std::string_view answer, const std::vector<std::string>& build_ids);
  Status send(http::Client& asking, http::Client& client, const Wanted& wanted);
  static Result<Rest> rest_of(const Opened& opened, uint64_t offset);
  static uint64_t offset_at_server(http::Client& asking, const std::string& path);
  void let_rest(const std::string& build_id, int64_t rest_ns);
  Status failed(Error error, int64_t asked_pause_s);

  const BinaryUploadSettings settings_;
  mutable std::mutex mutex_;
  std::map<std::string, Offered, std::less<>> offered_;  // by build ID; guarded by mutex_, as the rest
  uint64_t notes_ = 0;
  std::deque<Wanted> wanted_;  // by the server
  spool::RetryTimer retry_;
};

}  // namespace plimsoll::binaries
