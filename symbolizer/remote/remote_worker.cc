#include "symbolizer/remote/remote_worker.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <utility>

#include "base/hex.h"
#include "base/lock_file.h"
#include "base/log.h"
#include "base/time.h"
#include "symbolizer/remote/pause.h"

namespace plimsoll::symbolizer {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kFirstPauseMs = 500;
constexpr int64_t kLongestPauseMs = 60'000;
constexpr int64_t kPauseAfterFailureMs = 10'000;
constexpr int kMaxTriesToBring = 20;

// However long leases are: /readyz expects an answer of the server each minute.
constexpr int64_t kMaxRenewalMs = 20'000;
// Once it is stopped, what it says last must not take long.
constexpr int64_t kLastWordsMs = 3'000;

// As much as is announced: what the server says may be nonsense.
uint64_t bytes_of(const wire::LeasedBinary& binary, uint64_t max_bytes) {
  uint64_t bytes = 0;
  for (const wire::LeasedBinary::File& file : binary.files()) {
    bytes += std::min(file.size_bytes(), max_bytes + 1);
  }
  return bytes;
}

// A failure that another worker would have in the same way: not for want of room, time or a connection.
bool is_final(const Error& error) {
  return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupported ||
         error.code == ErrorCode::kNotFound || error.code == ErrorCode::kTooLarge;
}

Status clear(const std::string& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (!error) {
    std::filesystem::create_directories(folder, error);
  }
  return error ? fail_errno(error.value(), "making {} empty", folder) : Status();
}

}  // namespace

// Pauses grow while requests fail, and differ between workers, so that a server that comes back is not asked by all at once.
struct RemoteWorker::Pause {
  explicit Pause(uint64_t seed) : random(seed) {}

  milliseconds jittered(int64_t pause_ms) {
    return milliseconds(std::uniform_int_distribution<int64_t>(pause_ms / 2, pause_ms * 3 / 2)(random));
  }
  milliseconds after_failure() {
    failure_ms = std::clamp(failure_ms * 2, kFirstPauseMs, kLongestPauseMs);
    return jittered(failure_ms);
  }

  std::mt19937_64 random;
  int64_t failure_ms = 0;
  milliseconds next{0};
};

Result<std::unique_ptr<RemoteWorker>> RemoteWorker::start(RemoteWorkerSettings settings) {
  std::error_code error;
  std::filesystem::create_directories(settings.folder, error);
  if (error) {
    return fail_errno(error.value(), "creating {}", settings.folder);
  }
  auto lock = take_lock_file(settings.folder + "/lock", settings.folder + " is in use by",
                             "give each worker a folder of its own (symbolizer.folder)");
  if (!lock) {
    return propagate(lock);
  }
  if (const Status cleared = clear(settings.folder + "/jobs"); !cleared) {
    return propagate(cleared);
  }
  UniqueFd cancel(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!cancel.valid()) {
    return fail_errno(errno, "making an eventfd");
  }
  settings.client.cancel_fd = cancel.get();
  settings.client.max_file_bytes = settings.max_bytes;
  settings.parallel = std::max(settings.parallel, 1U);
  std::unique_ptr<RemoteWorker> worker(
      new RemoteWorker(std::move(settings), *std::move(lock), std::move(cancel)));
  RemoteWorker* const it = worker.get();
  for (unsigned number = 0; number < it->settings_.parallel; ++number) {
    it->threads_.emplace_back([it, number](const std::stop_token& stop) { it->work(number, stop); });
  }
  it->threads_.emplace_back([it](const std::stop_token& stop) { it->renew_leases(stop); });
  return worker;
}

RemoteWorker::RemoteWorker(RemoteWorkerSettings settings, UniqueFd lock, UniqueFd cancel)
    : settings_(std::move(settings)),
      lock_(std::move(lock)),
      cancel_(std::move(cancel)),
      process_(settings_.table_worker),
      room_(settings_.max_bytes) {}

void RemoteWorker::stop() {
  ::eventfd_write(cancel_.get(), 1);
  for (std::jthread& thread : threads_) {
    thread.request_stop();
  }
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [lease, job] : jobs_) {
      job->stop.request_stop();
    }
  }
  threads_.clear();
}

RemoteWorkerStatus RemoteWorker::status() const {
  const std::lock_guard lock(mutex_);
  RemoteWorkerStatus status = status_;
  for (const auto& [lease, job] : jobs_) {
    status.working_on.push_back(to_hex(job->binary.build_id()));
  }
  return status;
}

void RemoteWorker::note_answer(const Status& answer) {
  const std::lock_guard lock(mutex_);
  if (answer) {
    status_.newest_answer_ns = monotonic_now_ns();
    status_.newest_error.clear();
  } else if (status_.newest_error != answer.error().text()) {
    status_.newest_error = answer.error().text();
    log_warning("{}", status_.newest_error);
  }
}

void RemoteWorker::work(unsigned number, const std::stop_token& stop) {
  LeaseClient client(settings_.client);
  Pause pause(settings_.seed + number);
  // Not all threads of all workers in the same moment.
  pause.next = pause.jittered(kFirstPauseMs / 5);
  while (pause_for(pause.next, stop)) {
    const auto binary = take_lease(client, pause);
    // A worker whose disk is full, say, would get the same build again, and use up its failures before a sound one asks.
    if (binary && !do_job(*binary, client, stop)) {
      pause.next = pause.jittered(kPauseAfterFailureMs);
    }
  }
}

std::optional<wire::LeasedBinary> RemoteWorker::take_lease(LeaseClient& client, Pause& pause) {
  auto reply = client.lease(1);
  note_answer(reply ? Status() : propagate(reply));
  if (!reply) {
    pause.next = pause.after_failure();
    return std::nullopt;
  }
  pause.failure_ms = 0;
  if (reply->binaries().empty()) {
    pause.next = pause.jittered(std::clamp<int64_t>(reply->ask_again_ms(), 100, kLongestPauseMs));
    return std::nullopt;
  }
  pause.next = milliseconds(0);
  const std::lock_guard lock(mutex_);
  lease_ns_ = std::max<int64_t>(reply->lease_ms(), 1) * 1'000'000;
  return std::move(*reply->mutable_binaries(0));
}

bool RemoteWorker::do_job(const wire::LeasedBinary& binary, LeaseClient& client,
                          const std::stop_token& stop) {
  const auto job = std::make_shared<Job>(binary, std::stop_source());
  const std::stop_callback end(stop, [&job] { job->stop.request_stop(); });
  {
    const std::lock_guard lock(mutex_);
    jobs_[binary.lease()] = job;
  }
  const Status done = make_and_bring(*job, client);
  end_job(*job, done, client);
  const std::lock_guard lock(mutex_);
  jobs_.erase(binary.lease());
  return done || done.error().code == ErrorCode::kConflict || job->stop.stop_requested() ||
         is_final(done.error());
}

Status RemoteWorker::make_and_bring(const Job& job, LeaseClient& client) {
  const std::stop_token stop = job.stop.get_token();
  const uint64_t bytes = bytes_of(job.binary, room_.max_bytes());
  if (bytes > room_.max_bytes()) {
    return fail(ErrorCode::kExhausted, "its files are larger than symbolizer.max_bytes ({} bytes)",
                room_.max_bytes());
  }
  if (!room_.take(bytes, stop)) {
    return fail(ErrorCode::kUnavailable, "the worker stops");
  }
  const std::shared_ptr<void> taken(nullptr, [this, bytes](void*) { room_.give_back(bytes); });
  std::string folder;
  {
    const std::lock_guard lock(mutex_);
    folder = fmt::format("{}/jobs/{}", settings_.folder, next_folder_++);
  }
  auto files = LeasedFiles::create(folder);
  if (!files) {
    return propagate(files);
  }
  if (const Status fetched = files->fetch(job.binary, client, stop); !fetched) {
    return fetched;
  }
  {
    const std::lock_guard lock(mutex_);
    status_.fetched_bytes += bytes;
  }
  const auto made = make(job.binary, *files, stop);
  if (!made) {
    return propagate(made);
  }
  const auto was_needed = bring(job, made->map.bytes(), client);
  if (!was_needed) {
    return propagate(was_needed);
  }
  const std::lock_guard lock(mutex_);
  ++(*was_needed ? status_.tables : status_.unneeded);
  return {};
}

// The server may have too many tables for the moment, or restart: what was made is not thrown away for that.
Result<bool> RemoteWorker::bring(const Job& job, Bytes table, LeaseClient& client) {
  int64_t pause_ms = kFirstPauseMs / 2;
  for (int tries = 1;; ++tries) {
    auto was_needed = client.bring(job.binary, table);
    const bool may_help = !was_needed && was_needed.error().code == ErrorCode::kUnavailable;
    if (!may_help || tries == kMaxTriesToBring || !pause_for(milliseconds(pause_ms), job.stop.get_token())) {
      return was_needed;
    }
    pause_ms = std::min(pause_ms * 2, kLongestPauseMs / 6);
  }
}

Result<MappedTable> RemoteWorker::make(const wire::LeasedBinary& binary, const LeasedFiles& files,
                                       const std::stop_token& stop) const {
  const TableQuery query{.identity_kind = wire::GNU_BUILD_ID,
                         .identity = binary.build_id(),
                         .roots = {.folders = {}, .debug_folders = {files.folder()}}};
  auto made = process_.make_with_fallback(
      query, {.limits = settings_.limits, .folder = settings_.folder, .progress = {}, .stop = stop});
  if (!made) {
    return propagate(made);
  }
  std::optional<MappedTable> mapped = std::move(made->mapped);
  // The server has files besides those of its leases.
  if (!mapped || made->quality != SymtabQuality::kFull) {
    return fail(ErrorCode::kUnsupported, "its files alone do not give full DWARF: {}", made->reasons);
  }
  return *std::move(mapped);
}

void RemoteWorker::end_job(const Job& job, const Status& done, LeaseClient& client) {
  if (done) {
    return;
  }
  const Error& error = done.error();
  const std::string build_id = to_hex(job.binary.build_id());
  // Expired, or no longer needed: the server knows.
  if (error.code == ErrorCode::kConflict) {
    const std::lock_guard lock(mutex_);
    ++status_.unneeded;
    return;
  }
  if (job.stop.stop_requested()) {
    // The client's requests are given up from now on.
    LeaseClientSettings last = settings_.client;
    last.cancel_fd = -1;
    last.message_timeout_ms = kLastWordsMs;
    std::ignore = LeaseClient(last).give_back(job.binary);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++status_.failures;
    status_.newest_failure = fmt::format("{}: {}", build_id, error.text());
  }
  log_warning("build {}: {}", build_id, error.text());
  note_answer(client.fail_lease(job.binary, error.text(), is_final(error)));
}

// Three times within a lease, so that one lost answer is harmless.
void RemoteWorker::renew_leases(const std::stop_token& stop) {
  LeaseClient client(settings_.client);
  while (true) {
    int64_t pause_ms = 0;
    std::vector<wire::LeaseName> leases;
    {
      const std::lock_guard lock(mutex_);
      pause_ms = std::clamp<int64_t>(lease_ns_ / 3 / 1'000'000, 50, kMaxRenewalMs);
      for (const auto& [lease, job] : jobs_) {
        wire::LeaseName& name = leases.emplace_back();
        name.set_lease(lease);
        name.set_build_id(job->binary.build_id());
      }
    }
    if (!leases.empty()) {
      const auto ended = client.renew(leases);
      note_answer(ended ? Status() : propagate(ended));
      const std::lock_guard lock(mutex_);
      for (const std::string& lease : ended ? *ended : std::vector<std::string>()) {
        if (const auto job = jobs_.find(lease); job != jobs_.end()) {
          job->second->stop.request_stop();
        }
      }
    }
    if (!pause_for(milliseconds(pause_ms), stop)) {
      return;
    }
  }
}

}  // namespace plimsoll::symbolizer
