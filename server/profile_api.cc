#include "server/profile_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <utility>
#include <variant>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "base/deadline.h"
#include "base/hex.h"
#include "base/stop_scope.h"
#include "base/time.h"
#include "elf/build_id.h"
#include "query/fdo/counts/count_binary.h"
#include "query/registry/view.h"
#include "query/selection/parameters.h"
#include "query/selection/sides.h"
#include "server/server_sources.h"

namespace plimsoll::server {
namespace {

using fdo::ProfileFormat;
using fdo::Usefulness;

// What a request asks for.
struct ProfileQuestion {
  std::string build_id;
  std::vector<std::string> older = {};  // build IDs
  ProfileFormat format = ProfileFormat::kBinary;
  bool wants_report = false;
  Usefulness min_quality = Usefulness::kPoor;
  query::Parameters filters = {};  // of the view fdo-counts
};

// A parameter that takes one of some words.
template <typename Value>
query::Parameter word_parameter(std::string_view name, std::map<std::string, Value> words, Value& value) {
  return {name, [name, words = std::move(words), &value](const std::string& text) -> Status {
            const auto found = words.find(text);
            if (found == words.end()) {
              std::string all;
              for (const auto& [word, meaning] : words) {
                all += (all.empty() ? "" : ", ") + word;
              }
              return with_field(fail(ErrorCode::kInvalid, "\"{}\" is none of {}", text, all),
                                std::string(name));
            }
            value = found->second;
            return {};
          }};
}

Result<ProfileQuestion> parse_question(const query::Parameters& parameters) {
  ProfileQuestion question;
  enum class Form { kText, kBinary, kGcov, kReport };
  Form form = Form::kBinary;
  std::vector<query::Parameter> known{query::text_parameter("build_id", question.build_id),
                                      {"older",
                                       [&question](const std::string& text) {
                                         question.older.push_back(text);
                                         return Status();
                                       }},
                                      word_parameter<Form>("format",
                                                           {{"binary", Form::kBinary},
                                                            {"text", Form::kText},
                                                            {"gcov", Form::kGcov},
                                                            {"report", Form::kReport}},
                                                           form),
                                      word_parameter<Usefulness>("min_quality",
                                                                 {{"none", Usefulness::kNone},
                                                                  {"poor", Usefulness::kPoor},
                                                                  {"fair", Usefulness::kFair},
                                                                  {"good", Usefulness::kGood}},
                                                                 question.min_quality)};
  for (const char* filter : {"event", "where", "since", "until"}) {
    known.push_back({filter, [&question, filter](const std::string& text) {
                       question.filters.emplace_back(filter, text);
                       return Status();
                     }});
  }
  if (auto read = query::read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  if (question.build_id.empty()) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "the build ID of the binary is missing"), "build_id"),
        "readelf -n FILE prints it; or give its first digits");
  }
  question.wants_report = form == Form::kReport;
  question.format = form == Form::kText   ? ProfileFormat::kText
                    : form == Form::kGcov ? ProfileFormat::kGcov
                                          : ProfileFormat::kBinary;
  // They show where indirect calls went.
  question.filters.emplace_back("calls", "yes");
  return question;
}

// Where machines said that a build lies. perf's beginning of a build ID is of the same build.
std::vector<std::string> paths_of(const query::Snapshot& snapshot, const std::string& build_id) {
  constexpr size_t kMaxPaths = 100;
  std::set<std::string> paths;
  const auto& binaries = snapshot.dictionaries.binaries;
  for (uint32_t id = 1; id < binaries.size() && paths.size() < kMaxPaths; ++id) {
    const store::BinaryEntry& binary = binaries[id];
    if (binary.identity_kind == wire::GNU_BUILD_ID && elf::is_build(build_id, binary.identity)) {
      paths.insert(binary.path);
    }
  }
  return {paths.begin(), paths.end()};
}

// Of what the answer is made from: its rows, without what else is known of the fleet meanwhile.
std::string entity_tag(const std::vector<fdo::ProfileOrder::Build>& builds, const ProfileQuestion& question) {
  std::string text = fmt::format("{} {} {}\n", static_cast<int>(question.format), question.wants_report,
                                 static_cast<int>(question.min_quality));
  for (const fdo::ProfileOrder::Build& build : builds) {
    query::Table rows = build.counts;
    rows.coverage = {};
    rows.notes.clear();
    text += query::to_json(rows);
  }
  return fmt::format("\"{:016x}\"", checksum64(as_bytes(text)));
}

// A list of tags, or "*"; weak tags are as good for a GET (RFC 9110, 13.1.2).
bool matches(std::string_view if_none_match, std::string_view tag) {
  return if_none_match == "*" || if_none_match.find(tag) != std::string_view::npos;
}

// Reasons name paths of this machine (fdo::ProfileProcess::make()): for administrators alone.
Error without_reasons(Error error, const http::Caller& caller) {
  const size_t line_end = error.hint.find('\n');
  if (line_end == std::string::npos) {
    return error;
  }
  if (http::permits(caller.role, http::Right::kOrder)) {
    error.hint.replace(line_end, 1, "; the search: ");
  } else {
    error.hint.resize(line_end);
    error.hint += "; a token of role admin gets the reasons";
  }
  return error;
}

class ProfileMaker {
 public:
  ProfileMaker(query::SnapshotCache& snapshots, QueryHooks hooks, ProfileSettings settings)
      : sources_(snapshots, std::move(hooks)),
        settings_(std::move(settings)),
        process_(settings_.worker),
        counts_view_(query::find_view("fdo-counts")) {}

  http::Response answer(const http::Request& request) {
    Deadline deadline("making the profile", settings_.max_time, request.is_abandoned);
    const StopCheck check = [&deadline] { return deadline.check(); };
    const StopScope scope(check);
    auto response = respond(request, check);
    return response ? std::move(*response)
                    : http::error_response(without_reasons(response.error(), request.caller));
  }

 private:
  Result<http::Response> respond(const http::Request& request, const StopCheck& check) {
    const auto question = parse_question(request.query);
    if (!question) {
      return propagate(question);
    }
    // Counting takes all of the store's rows, too: one at a time.
    const std::unique_lock one(making_, std::try_to_lock);
    if (!one.owns_lock()) {
      return with_hint(fail(ErrorCode::kUnavailable, "another compiler profile is being made"),
                       "wait, and ask again");
    }
    const auto builds = builds_of(*question);
    if (!builds) {
      return propagate(builds);
    }
    const std::string tag = entity_tag(*builds, *question);
    if (matches(request.header("If-None-Match"), tag)) {
      return http::Response{.status = 304, .headers = {{"ETag", tag}}};
    }
    auto made = make(*builds, *question, check);
    if (!made) {
      return propagate(made);
    }
    const char* const type = question->wants_report                     ? "application/json"
                             : question->format == ProfileFormat::kText ? "text/plain; charset=utf-8"
                                                                        : "application/octet-stream";
    return http::Response{
        .content_type = type,
        .body = question->wants_report ? std::move(made->report) : std::move(made->bytes),
        .headers = {{"ETag", tag},
                    {"Plimsoll-Profile-Quality", std::string(fdo::name_of(made->usefulness))}}};
  }

  Result<std::vector<fdo::ProfileOrder::Build>> builds_of(const ProfileQuestion& question) {
    const int64_t now_ns = wall_now_ns();
    const auto snapshot = sources_.snapshot(query::times_of(question.filters, now_ns));
    if (!snapshot) {
      return propagate(snapshot);
    }
    std::vector<fdo::ProfileOrder::Build> builds;
    std::vector<std::string> wanted{question.build_id};
    wanted.insert(wanted.end(), question.older.begin(), question.older.end());
    for (const std::string& build_id : wanted) {
      query::Question counts{.parameters = question.filters, .now_ns = now_ns};
      counts.parameters.emplace_back("build_id", build_id);
      auto answer = counts_view_->answer(counts, sources_);
      if (!answer) {
        // An older build may have run too long ago.
        if (!builds.empty() && answer.error().code == ErrorCode::kNotFound) {
          continue;
        }
        return propagate(answer);
      }
      auto& table = std::get<query::Table>(*answer);
      const auto read = fdo::counts_from(table);
      if (!read) {
        return propagate(read);
      }
      const auto identity = from_hex(read->build_id);
      if (!identity) {
        return fail(ErrorCode::kCorrupt, "the store has the build ID \"{}\"", read->build_id);
      }
      builds.push_back({.counts = std::move(table),
                        .files = {.identity_kind = wire::GNU_BUILD_ID,
                                  .identity = *identity,
                                  .paths = paths_of(**snapshot, *identity),
                                  .roots = settings_.roots}});
    }
    return builds;
  }

  // The child ends with the request.
  Result<fdo::ReportedProfile> make(const std::vector<fdo::ProfileOrder::Build>& builds,
                                    const ProfileQuestion& question, const StopCheck& check) const {
    std::stop_source stop;
    Status stopped;
    auto made =
        process_.make({.builds = builds, .format = question.format, .min_quality = question.min_quality},
                      {.limits = settings_.limits,
                       .folder = settings_.folder,
                       .progress =
                           [&](uint64_t /*opened_bytes*/) {
                             if (stopped && !(stopped = check())) {
                               stop.request_stop();
                             }
                           },
                       .stop = stop.get_token()});
    return stopped ? std::move(made) : Result<fdo::ReportedProfile>(propagate(stopped));
  }

  ServerSources sources_;
  const ProfileSettings settings_;
  const fdo::ProfileProcess process_;
  const query::View* counts_view_;
  std::mutex making_;
};

}  // namespace

std::vector<http::Route> profile_routes(query::SnapshotCache& snapshots, const QueryHooks& hooks,
                                        const ProfileSettings& settings) {
  const auto maker = std::make_shared<ProfileMaker>(snapshots, hooks, settings);
  http::Route route;
  route.method = "GET";
  route.path = "/api/v1/fdo/autofdo";
  route.right = http::Right::kPullProfile;
  route.threads = http::Threads::kLong;
  route.is_question = true;
  route.handle = [maker](const http::Request& request) { return maker->answer(request); };
  return {route};
}

}  // namespace plimsoll::server
