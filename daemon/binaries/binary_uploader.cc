#include "daemon/binaries/binary_uploader.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdint>
#include <ranges>
#include <utility>

#include "base/hex.h"
#include "base/log.h"
#include "base/random.h"
#include "daemon/binaries/offered_file.h"

namespace plimsoll::binaries {
namespace {

// As the server has it.
constexpr size_t kMaxAsked = 1000;
constexpr size_t kMinSentBuildIdBytes = 4;
constexpr size_t kMaxSentBuildIdBytes = 64;
constexpr size_t kMaxOffered = 10'000;
// Of a build: containers and releases have it at different ones.
constexpr size_t kMaxPaths = 4;
// After a refusal, and after it was sent.
constexpr int64_t kRestNs = 24 * kNsPerHour;
constexpr std::string_view kOctets = "application/octet-stream";

constexpr unsigned kConflict = 409;

// What the server says of the file stays true; anything else may be otherwise later.
bool is_refusal(unsigned status) {
  return status >= 400 && status < 500 && status != 401 && status != 408 && status != 429;
}

}  // namespace

BinaryUploader::BinaryUploader(BinaryUploadSettings settings)
    : settings_(std::move(settings)), retry_(random_seed()) {}

void BinaryUploader::note(const wire::RawProfile& profile) {
  const std::lock_guard lock(mutex_);
  for (const wire::Binary& binary : profile.binaries()) {
    const std::string& build_id = binary.identity();
    const bool is_sendable = binary.identity_kind() == wire::GNU_BUILD_ID &&
                             build_id.size() >= kMinSentBuildIdBytes &&
                             build_id.size() <= kMaxSentBuildIdBytes;
    if (is_sendable && is_listed(settings_.paths, binary.path())) {
      note_path(build_id, binary.path());
    }
  }
}

void BinaryUploader::note_path(const std::string& build_id, const std::string& path) {
  if (offered_.size() >= kMaxOffered && !offered_.contains(build_id)) {
    forget_oldest();
  }
  Offered& offered = offered_[build_id];
  offered.noted = ++notes_;
  if (std::ranges::find(offered.paths, path) != offered.paths.end()) {
    return;
  }
  if (offered.paths.size() >= kMaxPaths) {
    offered.paths.erase(offered.paths.begin());
  }
  offered.paths.push_back(path);
  if (std::exchange(offered.is_unreadable, false)) {
    // Not at once: a program that is mapped from ever new places is to cost little.
    offered.rests_until_ns =
        std::min(offered.rests_until_ns, settings_.monotonic_ns() + settings_.ask_interval_ns);
  }
}

void BinaryUploader::forget_oldest() {
  offered_.erase(
      std::ranges::min_element(offered_, {}, [](const auto& entry) { return entry.second.noted; }));
}

int64_t BinaryUploader::due_ns() const {
  const std::lock_guard lock(mutex_);
  if (!wanted_.empty()) {
    return retry_.due_ns();
  }
  int64_t due_ns = INT64_MAX;
  for (const auto& [build_id, offered] : offered_) {
    due_ns = std::min(due_ns, offered.rests_until_ns);
  }
  return std::max(due_ns, retry_.due_ns());
}

std::vector<std::string> BinaryUploader::due_builds(int64_t now_ns) const {
  std::vector<std::string> build_ids;
  const std::lock_guard lock(mutex_);
  for (const auto& [build_id, offered] : offered_) {
    if (offered.rests_until_ns <= now_ns && build_ids.size() < kMaxAsked) {
      build_ids.push_back(build_id);
    }
  }
  return build_ids;
}

Status BinaryUploader::step(http::Client& asking, http::Client& sending) {
  const int64_t now_ns = settings_.monotonic_ns();
  if (now_ns < due_ns()) {
    return {};
  }
  std::optional<Wanted> next;
  {
    const std::lock_guard lock(mutex_);
    if (!wanted_.empty()) {
      next = std::move(wanted_.front());
      wanted_.pop_front();
    }
  }
  return next ? send(asking, sending, *next) : ask(asking, due_builds(now_ns));
}

Status BinaryUploader::ask(http::Client& client, const std::vector<std::string>& build_ids) {
  std::string lines;
  for (const std::string& build_id : build_ids) {
    lines.append(to_hex(build_id)).append("\n");
    let_rest(build_id, settings_.ask_interval_ns);
  }
  const auto response =
      client.send("POST", fmt::format("/fleet/v1/binaries/wanted?content={}", name_of(settings_.content)),
                  lines, kOctets);
  if (!response) {
    return failed(response.error(), 0);
  }
  if (!response->ok()) {
    return failed(http::error_of(*response, "asking which binaries the server lacks"),
                  http::retry_after_s(*response));
  }
  take_answer(response->body, build_ids);
  return {};
}

void BinaryUploader::take_answer(std::string_view answer, const std::vector<std::string>& build_ids) {
  const std::lock_guard lock(mutex_);
  retry_.succeeded();
  while (!answer.empty()) {
    const size_t end = std::min(answer.find('\n'), answer.size());
    const std::string_view line = answer.substr(0, end);
    const size_t space = std::min(line.find(' '), line.size());
    const auto build_id = from_hex(line.substr(0, space));
    const auto part = elf::parse_binary_part(line.substr(std::min(space + 1, line.size())));
    // Nothing that was not offered, or may not leave the machine, and nothing twice, whatever the server says.
    if (build_id && part && *part <= settings_.content &&
        std::ranges::find(build_ids, *build_id) != build_ids.end() &&
        std::ranges::find(wanted_, *build_id, &Wanted::build_id) == wanted_.end()) {
      wanted_.push_back({.build_id = *build_id, .part = *part});
    }
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
}

Result<SentContent> BinaryUploader::open_path(const std::string& path, const Wanted& wanted,
                                              std::shared_ptr<const UniqueFd>& file) const {
  auto opened = open_offered(settings_.paths, path, wanted.build_id, settings_.max_file_bytes);
  if (!opened) {
    return propagate(opened);
  }
  file = std::make_shared<const UniqueFd>(*std::move(opened));
  return content_of(file, wanted.part, settings_.max_file_bytes);
}

std::optional<BinaryUploader::Opened> BinaryUploader::open_any(const Wanted& wanted) {
  const std::string& build_id = wanted.build_id;
  std::vector<std::string> paths;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = offered_.find(build_id); found != offered_.end()) {
      paths = found->second.paths;
      found->second.is_unreadable =
          true;  // until one is read: a path that is noted meanwhile is to end the rest
    }
  }
  for (const std::string& path : std::views::reverse(paths)) {
    std::shared_ptr<const UniqueFd> file;
    auto content = open_path(path, wanted, file);
    if (content) {
      const std::lock_guard lock(mutex_);
      if (const auto found = offered_.find(build_id); found != offered_.end()) {
        found->second.is_unreadable = false;
      }
      return Opened{path, std::move(file), *std::move(content)};
    }
    log_warning("{} is not sent to the server: {}", path, content.error().text());
  }
  return std::nullopt;
}

// 0 too where the server does not say.
uint64_t BinaryUploader::offset_at_server(http::Client& asking, const std::string& path) {
  const auto response = asking.send("GET", path);
  uint64_t offset = 0;
  if (response && response->ok()) {
    const std::string& text = response->body;
    std::from_chars(text.data(), text.data() + text.size(), offset);
  }
  return offset;
}

Result<BinaryUploader::Rest> BinaryUploader::rest_of(const Opened& opened, uint64_t offset) {
  auto source = gzip_source(opened.file, opened.content.layout);
  if (!source) {
    return propagate(source);
  }
  if (auto rest = without_beginning(*std::move(source), offset)) {
    return Rest{.source = *std::move(rest), .offset = offset};
  }
  // What the server has was compressed otherwise, by another version; or it has all of it, and its end was cut off.
  auto whole = gzip_source(opened.file, opened.content.layout);
  return whole ? Result<Rest>(Rest{.source = *std::move(whole), .offset = 0}) : propagate(whole);
}

Status BinaryUploader::send(http::Client& asking, http::Client& client, const Wanted& wanted) {
  const std::string& build_id = wanted.build_id;
  let_rest(build_id, kRestNs);
  const auto opened = open_any(wanted);
  if (!opened) {
    return {};
  }
  const std::string& path = opened->path;
  const std::string upload = fmt::format("/fleet/v1/binaries/{}?content={}&digest={}", to_hex(build_id),
                                         name_of(wanted.part), to_hex(opened->content.digest));
  const auto rest = rest_of(*opened, offset_at_server(asking, upload));
  if (!rest) {
    log_warning("{} is not sent to the server: {}", path, rest.error().text());
    return {};
  }
  const int64_t begun_ns = settings_.monotonic_ns();
  const auto response = client.send_stream(fmt::format("{}&offset={}", upload, rest->offset), *rest->source,
                                           {.content_type = kOctets,
                                            .further_headers = {{"Content-Encoding", "gzip"}},
                                            .max_bytes_per_second = settings_.max_bytes_per_second});
  if (response && (response->ok() || is_refusal(response->status))) {
    if (response->ok()) {
      log_info("sent {} to the server, which lacked it", path);
    } else if (response->status == kConflict) {
      // Not wanted any more, or not yet: a server that has just started does not know what it wants.
      let_rest(build_id, settings_.ask_interval_ns);
    } else {
      log_warning("{} is not sent again for a day: {}", path,
                  http::error_of(*response, "sending a binary").text());
    }
    const std::lock_guard lock(mutex_);
    retry_.succeeded();
    return {};
  }
  // One that had all its time would have no more the next time. Timeouts are not exact.
  const bool took_all_time = settings_.monotonic_ns() - begun_ns >= kTransferTimeoutNs - kNsPerSecond;
  let_rest(build_id, took_all_time ? kRestNs : settings_.ask_interval_ns);
  return response ? failed(http::error_of(*response, "sending a binary"), http::retry_after_s(*response))
                  : failed(response.error(), 0);
}

void BinaryUploader::let_rest(const std::string& build_id, int64_t rest_ns) {
  const std::lock_guard lock(mutex_);
  if (const auto found = offered_.find(build_id); found != offered_.end()) {
    found->second.rests_until_ns = settings_.monotonic_ns() + rest_ns;
  }
}

Status BinaryUploader::failed(Error error, int64_t asked_pause_s) {
  const int64_t now_ns = settings_.monotonic_ns();
  const std::lock_guard lock(mutex_);
  retry_.failed(now_ns);
  retry_.asked_to_wait(now_ns, asked_pause_s * kNsPerSecond);
  return std::unexpected(std::move(error));
}

}  // namespace plimsoll::binaries
