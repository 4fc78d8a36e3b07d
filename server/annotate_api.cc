#include "server/annotate_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/hex.h"
#include "base/stop_scope.h"
#include "base/time.h"
#include "http/encoding.h"
#include "query/annotate/annotation_forms.h"
#include "query/annotate/counts/annotate_request.h"
#include "query/fdo/counts/binary_paths.h"
#include "query/selection/sides.h"
#include "server/source_servers.h"
#include "server/wanted_process.h"
#include "server/withheld.h"
#include "symbolizer/repository/repository_files.h"
#include "symbolizer/worker/table_folder.h"

namespace plimsoll::server {
namespace {

// Each has a process, with its limit of memory.
constexpr int kMaxAtOnce = 2;
constexpr std::chrono::seconds kPatience{10};
// Between looks at the client of a request that waits.
constexpr std::chrono::milliseconds kLook{100};

class Places {
 public:
  // Waits for a while where none is free: kUnavailable where none has become free. The errors of `check` end it.
  Status take(const StopCheck& check) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    std::unique_lock lock(mutex_);
    while (!given_back_.wait_for(lock, kLook, [this] { return taken_ < kMaxAtOnce; })) {
      if (auto checked = check(); !checked) {
        return checked;
      }
      if (std::chrono::steady_clock::now() >= end) {
        return with_hint(fail(ErrorCode::kUnavailable, "the code of other functions is being annotated"),
                         "wait, and ask again");
      }
    }
    ++taken_;
    return {};
  }
  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      --taken_;
    }
    given_back_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_back_;
  int taken_ = 0;  // protected by mutex_
};

// One of them, given back at the end.
class Place {
 public:
  Place(Places& places, const StopCheck& check) : places_(places), taken_(places.take(check)) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (taken_) {
      places_.give_back();
    }
  }
  const Status& taken() const { return taken_; }

 private:
  Places& places_;
  const Status taken_;
};

class Annotations {
 public:
  Annotations(query::SnapshotCache& snapshots, AnnotateSettings settings)
      : snapshots_(snapshots), settings_(std::move(settings)), process_(settings_.worker) {}

  http::Response answer(const http::Request& request) {
    Deadline deadline("annotating the code", settings_.max_time, request.is_abandoned);
    const StopCheck check = [&deadline] { return deadline.check(); };
    const StopScope scope(check);
    auto response = respond(request, check);
    if (response) {
      http::compress(request, *response);
      return std::move(*response);
    }
    Error error = without_reasons(response.error(), request.caller);
    if (!http::permits(request.caller.role, http::Right::kOrder)) {
      withhold_paths(snapshots_.data_dir(), error);
    }
    return http::error_response(error);
  }

 private:
  Result<http::Response> respond(const http::Request& request, const StopCheck& check) {
    const int64_t now_ns = wall_now_ns();
    const auto question = annotate::parse_annotate(request.query, now_ns);
    if (!question) {
      return propagate(question);
    }
    const auto snapshot = snapshots_.newest(query::times_of(request.query, now_ns));
    if (!snapshot) {
      return propagate(snapshot);
    }
    auto measured = annotate::measure_function(*question, request.query, now_ns, **snapshot);
    if (!measured) {
      return propagate(measured);
    }
    const auto identity = from_hex(measured->build_id);
    if (!identity) {
      return fail(ErrorCode::kCorrupt, "the store has the build ID \"{}\"", measured->build_id);
    }
    const Place place(places_, check);
    if (!place.taken()) {
      return propagate(place.taken());
    }
    const annotate::AnnotateOrder order{
        .function = question->function,
        .counts = std::move(measured->counts),
        .files = {.identity_kind = wire::GNU_BUILD_ID,
                  .identity = *identity,
                  .paths = fdo::paths_of_build(**snapshot, *identity),
                  .roots = settings_.roots},
        .kept_table = symbolizer::table_path(snapshots_.data_dir(), *identity)};
    auto annotation = make_while_wanted(
        check, {.limits = settings_.limits, .folder = settings_.folder},
        [&](const symbolizer::MakeOptions& options) { return process_.make(order, options); });
    if (!annotation) {
      return propagate(annotation);
    }
    add_sources(measured->build_id, *identity, *annotation);
    if (!http::permits(request.caller.role, http::Right::kOrder)) {
      withhold_paths(snapshots_.data_dir(), annotation->notes);
    }
    const bool is_text = question->form == annotate::AnnotationForm::kText;
    return http::Response{.content_type = is_text ? "text/plain; charset=utf-8" : "application/json",
                          .body = is_text ? annotate::to_text(*annotation, question->order)
                                          : annotate::to_json(*annotation, question->order),
                          .headers = {{"X-Content-Type-Options", "nosniff"}}};
  }

  void add_sources(const std::string& build_id, const std::string& identity,
                   annotate::Annotation& annotation) const {
    annotate::SourcePlaces places{.roots = settings_.sources,
                                  .archive = symbolizer::sources_path(snapshots_.data_dir(), build_id)};
    SourceFetcher fetcher(settings_.source_servers, revision_of(identity));
    if (!settings_.source_servers.empty()) {
      places.fetch = [&fetcher](std::string_view path) { return fetcher.fetch(path); };
    }
    annotate::read_sources(places, annotation);
    if (std::string note = fetcher.note(); !note.empty()) {
      annotation.notes.push_back(std::move(note));
    }
  }

  // As it was given with the binary, and not by a machine: it becomes part of a URL.
  std::string revision_of(const std::string& identity) const {
    if (settings_.source_servers.empty() || identity.size() < symbolizer::kMinBuildIdBytes) {
      return {};
    }
    const std::optional<symbolizer::BinaryRecord> record =
        symbolizer::read_record(snapshots_.data_dir(), identity).value_or(std::nullopt);
    if (!record) {
      return {};
    }
    const auto& labels = record->labels;
    const auto label = std::ranges::find(labels, "revision", [](const auto& one) { return one.first; });
    return label == labels.end() ? std::string() : label->second;
  }

  query::SnapshotCache& snapshots_;
  const AnnotateSettings settings_;
  const annotate::AnnotateProcess process_;
  Places places_;
};

}  // namespace

std::vector<http::Route> annotate_routes(query::SnapshotCache& snapshots, AnnotateSettings settings) {
  const auto annotations = std::make_shared<Annotations>(snapshots, std::move(settings));
  http::Route route;
  route.method = "GET";
  route.path = "/api/v1/annotate";
  route.right = http::Right::kRead;
  route.threads = http::Threads::kLong;
  route.is_question = true;
  route.handle = [annotations](const http::Request& request) { return annotations->answer(request); };
  return {route};
}

}  // namespace plimsoll::server
