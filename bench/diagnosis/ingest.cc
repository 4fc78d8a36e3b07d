// Spans from the door of a server to the disk, and a day of them from the door to findings.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bench/diagnosis/otlp_requests.h"
#include "bench/diagnosis/parts.h"
#include "bench/harness/scratch_folder.h"
#include "query/traces/hour_diagnosis.h"
#include "query/traces/stored_requests.h"
#include "server/doors/trace_door.h"
#include "store/directory/data_directory.h"
#include "store/store.h"
#include "tests/traces/request_generator.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalStoredSpansPerS = 200'000;
constexpr double kGoalDayS = 120;
// As collectors send by default.
constexpr size_t kSpansOfRequest = 8'192;
// Of a day of Aliyun Mail: 20 million requests, 1 in 200.
constexpr size_t kRequestsOfHour = 20'000'000 / 200 / 24;
constexpr int64_t kHoursOfDay = 24;

double seconds_since(int64_t start_ns, int64_t now_ns) {
  return static_cast<double>(now_ns - start_ns) / 1e9;
}

// The door for traces of a data directory of its own.
class TraceServer {
 public:
  static Result<std::unique_ptr<TraceServer>> open() {
    auto folder = ScratchFolder::create();
    if (!folder) {
      return propagate(folder);
    }
    auto directory = store::DataDirectory::open_for_writing(*folder / "data");
    auto sink = directory ? store::open_span_sink(*directory) : propagate(directory);
    if (!sink) {
      return propagate(sink);
    }
    return std::unique_ptr<TraceServer>(
        new TraceServer(*std::move(folder), *std::move(directory), *std::move(sink)));
  }

  // Decompression apart, all that a request takes, in this thread.
  Status send(std::string body) {
    http::Request request;
    request.headers = {{"Content-Type", "application/x-protobuf"}};
    request.body = std::move(body);
    const http::Response answer = routes_.front().handle(request);
    return answer.ok() ? Status() : fail(ErrorCode::kIo, "{}: {}", answer.status, answer.body);
  }

  Status merge() {
    while (true) {
      const auto merged = sink_->merge_once({});
      if (!merged || merged->merged == 0) {
        return merged ? Status() : propagate(merged);
      }
    }
  }

  std::string path() const { return folder_ / "data"; }

 private:
  TraceServer(ScratchFolder folder, store::DataDirectory directory, std::unique_ptr<store::SpanSink> sink)
      : folder_(std::move(folder)),
        directory_(std::move(directory)),
        sink_(std::move(sink)),
        routes_(server::trace_routes(*sink_, {.attributes = {"host.type", "http.route"}})) {}

  ScratchFolder folder_;
  store::DataDirectory directory_;
  std::unique_ptr<store::SpanSink> sink_;
  std::vector<http::Route> routes_;
};

std::vector<std::string> requests_of_hour(uint64_t seed, size_t requests, int64_t shift_ns, size_t& spans) {
  const diagnosis::RequestGenerator generator(
      {.seed = seed, .requests = requests, .replicas = 20, .trees = 3});
  traces::SpanSet set;
  generator.add_spans({}, set);
  spans = set.spans().size();
  return otlp_requests(set, kSpansOfRequest, shift_ns);
}

Status measure_door(const Flags& flags, Report& report) {
  const auto server = TraceServer::open();
  if (!server) {
    return propagate(server);
  }
  size_t spans = 0;
  std::vector<std::string> bodies = requests_of_hour(6, flags.quick ? 1'000 : 10'000, 0, spans);
  const int64_t cpu_ns = thread_cpu_ns();
  const int64_t wall_ns = monotonic_now_ns();
  for (std::string& body : bodies) {
    if (Status sent = (*server)->send(std::move(body)); !sent) {
      return sent;
    }
  }
  const double cpu_s = seconds_since(cpu_ns, thread_cpu_ns());
  const double wall_s = seconds_since(wall_ns, monotonic_now_ns());
  report.add({.name = "stored-spans-per-s",
              .value = static_cast<double>(spans) / cpu_s,
              .unit = "spans/s",
              .better = Better::kHigher,
              .goal = kGoalStoredSpansPerS,
              .note = fmt::format("{} spans, OTLP as Protobuf, {} a request; of CPU time of one thread",
                                  spans, kSpansOfRequest)});
  report.add({.name = "stored-spans-per-s-wall",
              .value = static_cast<double>(spans) / wall_s,
              .unit = "spans/s",
              .better = Better::kHigher,
              .note = "with its fsyncs, one request at a time"});
  return {};
}

Status measure_day(const Flags& flags, Report& report) {
  const auto server = TraceServer::open();
  if (!server) {
    return propagate(server);
  }
  const int64_t hours = flags.quick ? 2 : kHoursOfDay;
  size_t spans_of_day = 0;
  uint64_t requests = 0;
  size_t findings = 0;
  int64_t day_ns = 0;
  for (int64_t hour = 0; hour < hours; ++hour) {
    size_t spans = 0;
    std::vector<std::string> bodies =
        requests_of_hour(static_cast<uint64_t>(hour) + 1, kRequestsOfHour, hour * kNsPerHour, spans);
    spans_of_day += spans;
    const int64_t start_ns = monotonic_now_ns();
    for (std::string& body : bodies) {
      if (Status sent = (*server)->send(std::move(body)); !sent) {
        return sent;
      }
    }
    const Status merged = (*server)->merge();
    // The generator's requests begin at this time.
    const int64_t begin_ns = 1'700'000'000 * kNsPerSecond + hour * kNsPerHour;
    const auto read =
        merged ? query::read_stored_requests_if_any(
                     (*server)->path(), {begin_ns - kNsPerHour, begin_ns + kNsPerHour}, query::kMaxReadSpans)
               : propagate(merged);
    const auto diagnosed = read ? query::diagnose_hour(begin_ns, *read) : propagate(read);
    if (!diagnosed) {
      return propagate(diagnosed);
    }
    day_ns += monotonic_now_ns() - start_ns;
    requests += diagnosed->requests;
    findings += diagnosed->findings.size();
  }
  report.add({.name = "day-of-traces-s",
              .value = static_cast<double>(day_ns) / 1e9,
              .unit = "s",
              .goal = flags.quick ? std::nullopt : std::optional(kGoalDayS),
              .note = fmt::format("{} requests of {} hours, {} spans, 117 methods: received, stored, merged, "
                                  "and each hour diagnosed against the one before; {} findings",
                                  requests, hours, spans_of_day, findings)});
  return {};
}

}  // namespace

Status measure_spans_in(const Flags& flags, Report& report) {
  const Status door = measure_door(flags, report);
  return door ? measure_day(flags, report) : door;
}

}  // namespace plimsoll::bench
