#include "server/profile_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "base/deadline.h"
#include "base/hex.h"
#include "base/stop_scope.h"
#include "base/time.h"
#include "base/version.h"
#include "elf/build_id.h"
#include "query/fdo/counts/binary_paths.h"
#include "query/fdo/counts/count_binary.h"
#include "query/registry/view.h"
#include "query/selection/parameters.h"
#include "query/selection/sides.h"
#include "server/server_sources.h"
#include "server/wanted_process.h"
#include "server/withheld.h"
#include "symbolizer/process/messages.h"

namespace plimsoll::server {
namespace {

using fdo::ProfileFormat;
using fdo::Usefulness;

// Each costs passes over all rows, and a place in the request to the process.
constexpr size_t kMaxOlder = 8;

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

Status too_many_older() {
  return with_field(with_hint(fail(ErrorCode::kInvalid, "more than {} older builds", kMaxOlder),
                              "samples of builds long ago count little: give the newest"),
                    "older");
}

Result<ProfileQuestion> parse_question(const query::Parameters& parameters) {
  ProfileQuestion question;
  enum class Form { kText, kBinary, kGcov, kReport };
  Form form = Form::kBinary;
  std::vector<query::Parameter> known{query::text_parameter("build_id", question.build_id),
                                      {"older",
                                       [&question](const std::string& text) {
                                         question.older.push_back(text);
                                         return question.older.size() <= kMaxOlder ? Status()
                                                                                   : too_many_older();
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

// In bytes; the longest, where perf has cut it in some profiles. Of all binaries that the store knows, sampled or not; empty for none.
std::string known_build(const query::Snapshot& snapshot, const std::string& wanted) {
  std::string known;
  const auto& binaries = snapshot.dictionaries.binaries;
  for (uint32_t id = 1; id < binaries.size(); ++id) {
    const std::string& identity = binaries[id].identity;
    if (binaries[id].identity_kind != wire::GNU_BUILD_ID || identity.size() <= known.size()) {
      continue;
    }
    const std::string text = to_hex(identity);
    if (text.starts_with(wanted) || (identity.size() == elf::kCutBuildIdBytes && wanted.starts_with(text))) {
      known = identity;
    }
  }
  return known;
}

// Builds of one profile, and a tag of what the answer is made from. A part at a time: the text of a build can be large.
class BuildList {
 public:
  explicit BuildList(const ProfileQuestion& question)
      : wants_report_(question.wants_report),
        tagged_(fmt::format("{} {} {} {}\n", version(), static_cast<int>(question.format),
                            question.wants_report, static_cast<int>(question.min_quality))) {}

  Status add(fdo::ProfileOrder::Build build) {
    if (std::ranges::any_of(
            builds_, [&](const auto& other) { return other.files.identity == build.files.identity; })) {
      return with_hint(with_field(fail(ErrorCode::kInvalid, "the build ID {} is given twice",
                                       to_hex(build.files.identity)),
                                  "older"),
                       "name each other build of the program once; build_id has the newest");
    }
    const std::string text = tagged_text(build.counts);
    bytes_ += text.size();
    if (bytes_ > symbolizer::kMaxRequestBytes) {
      return with_hint(fail(ErrorCode::kTooLarge, "the counts of {} builds take more than {} bytes",
                            builds_.size() + 1, symbolizer::kMaxRequestBytes),
                       "ask for a shorter time, or for fewer older builds");
    }
    tagged_ += fmt::format("{:016x}\n", checksum64(as_bytes(text)));
    builds_.push_back(std::move(build));
    return {};
  }

  const std::vector<fdo::ProfileOrder::Build>& builds() const { return builds_; }
  std::string entity_tag() const { return fmt::format("\"{:016x}\"", checksum64(as_bytes(tagged_))); }

 private:
  // Profiles come from rows alone. What else is known of the fleet, which changes meanwhile, is in reports.
  std::string tagged_text(query::Table& counts) const {
    if (wants_report_) {
      return query::to_json(counts);
    }
    query::Coverage coverage = std::exchange(counts.coverage, {});
    std::vector<std::string> notes = std::exchange(counts.notes, {});
    std::string text = query::to_json(counts);
    counts.coverage = std::move(coverage);
    counts.notes = std::move(notes);
    return text;
  }

  const bool wants_report_;
  std::string tagged_;
  size_t bytes_ = 0;
  std::vector<fdo::ProfileOrder::Build> builds_;
};

// A list of tags, or "*"; weak tags are as good for a GET (RFC 9110, 13.1.2).
bool matches(std::string_view if_none_match, std::string_view tag) {
  return if_none_match == "*" || if_none_match.find(tag) != std::string_view::npos;
}

// Which binaries the fleet runs is for those who may ask the other views, too.
Error without_binaries(Error error, const http::Caller& caller) {
  if (!http::permits(caller.role, http::Right::kRead) &&
      (error.code == ErrorCode::kNotFound || error.field == "build_id")) {
    error.hint =
        "readelf -n FILE prints the build ID of a binary; a token of role read sees which ones have samples "
        "(plimsoll fdo-counts)";
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
    const auto list = builds_of(*question, request.caller);
    if (!list) {
      return propagate(list);
    }
    // Before anything is made: who asks whether there is something new need not wait for another's profile.
    const std::string tag = list->entity_tag();
    if (matches(request.header("If-None-Match"), tag)) {
      return http::Response{.status = 304, .headers = {{"ETag", tag}}};
    }
    const std::unique_lock one(making_, std::try_to_lock);
    if (!one.owns_lock()) {
      return with_hint(fail(ErrorCode::kUnavailable, "another compiler profile is being made"),
                       "wait, and ask again");
    }
    auto made = make(list->builds(), *question, check);
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

  Result<BuildList> builds_of(const ProfileQuestion& question, const http::Caller& caller) {
    const int64_t now_ns = wall_now_ns();
    const auto snapshot = sources_.snapshot(query::times_of(question.filters, now_ns));
    if (!snapshot) {
      return propagate(snapshot);
    }
    BuildList list(question);
    std::vector<std::string> wanted{question.build_id};
    wanted.insert(wanted.end(), question.older.begin(), question.older.end());
    for (const std::string& build_id : wanted) {
      const bool is_older = !list.builds().empty();
      auto counts = counts_of(question, build_id, now_ns);
      // An older build may have run too long ago: the report says so. One that never ran is a mistake.
      if (is_older && !counts && counts.error().code == ErrorCode::kNotFound) {
        counts = without_samples(**snapshot, build_id, counts.error());
      }
      if (!counts) {
        Error error = without_binaries(counts.error(), caller);
        return std::unexpected(is_older && error.field == "build_id" ? with_name(std::move(error), "older")
                                                                     : std::move(error));
      }
      const auto read = fdo::counts_from(*counts);
      if (!read) {
        return propagate(read);
      }
      const auto identity = from_hex(read->build_id);
      if (!identity) {
        return fail(ErrorCode::kCorrupt, "the store has the build ID \"{}\"", read->build_id);
      }
      if (auto added = list.add({.counts = std::move(*counts),
                                 .files = {.identity_kind = wire::GNU_BUILD_ID,
                                           .identity = *identity,
                                           .paths = fdo::paths_of_build(**snapshot, *identity),
                                           .roots = settings_.roots}});
          !added) {
        return propagate(added);
      }
    }
    return list;
  }

  Result<query::Table> counts_of(const ProfileQuestion& question, const std::string& build_id,
                                 int64_t now_ns) {
    query::Question counts{.parameters = question.filters, .now_ns = now_ns};
    counts.parameters.emplace_back("build_id", build_id);
    auto answer = counts_view_->answer(counts, sources_);
    return answer ? std::get<query::Table>(std::move(*answer)) : Result<query::Table>(propagate(answer));
  }

  // `error`: that there are none.
  static Result<query::Table> without_samples(const query::Snapshot& snapshot, const std::string& build_id,
                                              const Error& error) {
    const std::string known = known_build(snapshot, fdo::lower_hex(build_id));
    if (known.empty()) {
      return std::unexpected(with_name(error, "build_id"));
    }
    fdo::BinaryCounts none;
    none.build_id = to_hex(known);
    return fdo::counts_table(none);
  }

  static Error with_name(Error error, const char* field) {
    error.field = field;
    return error;
  }

  Result<fdo::ReportedProfile> make(const std::vector<fdo::ProfileOrder::Build>& builds,
                                    const ProfileQuestion& question, const StopCheck& check) const {
    return make_while_wanted(
        check, {.limits = settings_.limits, .folder = settings_.folder},
        [&](const symbolizer::MakeOptions& options) {
          return process_.make(
              {.builds = builds, .format = question.format, .min_quality = question.min_quality}, options);
        });
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
