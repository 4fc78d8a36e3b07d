#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <unordered_map>

#include "base/hex.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/store/clock.h"
#include "bench/store/generator.h"
#include "bench/store/parts.h"
#include "bench/store/raw_profiles.h"
#include "http/client.h"
#include "server/server.h"
#include "store/catalogue/catalogue.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kProfilesPerS = 100;
constexpr double kGoalS = 5;
// After the last one was sent: what is not visible by then is a failure.
constexpr double kPatienceS = 60;

struct Upload {
  std::string id;  // as bytes
  std::string encoded;
  double sent_s = 0;
  double visible_s = 0;  // 0: not yet
};

std::vector<Upload> generate(uint32_t profiles) {
  const StackTree tree = generate_stacks(kJobs, kStacksOfJob);
  const RawProfiles raw(tree);
  std::vector<Upload> uploads(profiles);
  for (uint32_t i = 0; i < profiles; ++i) {
    const wire::RawProfile profile = raw.generate(i, 0);
    uploads[i] = {.id = profile.profile_id(), .encoded = wire::encode(profile)};
  }
  return uploads;
}

// Each at its time, whether those before it are visible or not, over one connection.
Status send_all(const std::string& address, std::vector<Upload>& uploads) {
  http::Client client({.base_url = address});
  const double start_s = now_s();
  for (size_t i = 0; i < uploads.size(); ++i) {
    const double due_s = start_s + static_cast<double>(i) / kProfilesPerS;
    std::this_thread::sleep_for(std::chrono::duration<double>(due_s - now_s()));
    Upload& upload = uploads[i];
    upload.sent_s = now_s();
    const auto answer = client.send("PUT", "/fleet/v1/profiles/" + to_hex(upload.id), upload.encoded);
    if (!answer) {
      return propagate(answer, "sending a profile");
    }
    if (!answer->ok()) {
      return fail(ErrorCode::kInvalid, "the server answered profile {} with {}: {}", i + 1, answer->status,
                  answer->body);
    }
  }
  return {};
}

// Looks as any reader does, until every upload is visible.
Status watch(const std::string& data_dir, std::vector<Upload>& uploads) {
  std::unordered_map<std::string, Upload*> awaited;
  for (Upload& upload : uploads) {
    awaited.emplace(upload.id, &upload);
  }
  auto catalogue = store::Catalogue::open(data_dir + "/blocks/000001/catalogue.db", sqlite::OpenMode::kRead);
  if (!catalogue) {
    return propagate(catalogue);
  }
  const double deadline_s = now_s() + static_cast<double>(uploads.size()) / kProfilesPerS + kPatienceS;
  int64_t seen = 0;
  while (!awaited.empty()) {
    auto origins =
        catalogue->database().query("SELECT id, profile_id FROM origin WHERE id > ? ORDER BY id", seen);
    if (!origins) {
      return propagate(origins);
    }
    while (true) {
      const auto row = origins->step();
      if (!row) {
        return propagate(row);
      }
      if (!*row) {
        break;
      }
      seen = origins->integer(0);
      const auto found = awaited.find(std::string(origins->text(1)));
      if (found != awaited.end()) {
        found->second->visible_s = now_s();
        awaited.erase(found);
      }
    }
    if (now_s() > deadline_s) {
      return fail(ErrorCode::kUnavailable, "{} of {} profiles were not visible {} s after the last was sent",
                  awaited.size(), uploads.size(), kPatienceS);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {};
}

}  // namespace

Status measure_visibility(const Flags& flags, Report& report) {
  std::vector<Upload> uploads = generate((flags.quick ? 5 : 30) * kProfilesPerS);
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  config::ServerConfig config;
  config.data_dir = *folder / "data";
  config.listen = config.fleet_listen = "127.0.0.1:0";
  // Generated profiles are of 2023.
  config.retention_max_upload_age_ns = config.retention_rows_max_age_ns = INT64_MAX / 2;
  const auto server =
      server::Server::start(config, {{sibling_program("plimsoll"), "symtab", "worker", "--zygote"}, true});
  if (!server) {
    return propagate(server);
  }
  Status sent;
  std::thread sender([&] { sent = send_all((*server)->fleet_address(), uploads); });
  const Status watched = watch(config.data_dir, uploads);
  sender.join();
  if (!sent || !watched) {
    return sent ? watched : sent;
  }
  std::vector<double> delays_s;
  for (const Upload& upload : uploads) {
    delays_s.push_back(upload.visible_s - upload.sent_s);
  }
  std::ranges::sort(delays_s);
  report.add({.name = "visible_after",
              .value = delays_s.back(),
              .unit = "s",
              .goal = kGoalS,
              .note = fmt::format(
                  "the slowest of {} profiles of {} samples, sent at {} a second to a running server; "
                  "the middle one {:.2f} s",
                  uploads.size(), kProfileSamples, kProfilesPerS, median(delays_s))});
  return {};
}

}  // namespace plimsoll::bench
