#include "daemon/scrape/kind_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/printable.h"
#include "base/random.h"
#include "proto/application_profiles.h"
#include "proto/profile_codec.h"

namespace plimsoll::scrape {
namespace {

struct KindEvent {
  std::string_view kind;
  std::string_view event;
  wire::Unit unit;
  wire::Kind adds_up;
};

// As formats/event_meaning.cc names them. contention and mutex are two views of the same waits.
constexpr std::array<KindEvent, 14> kEvents{{
    {"heap", "heap-inuse-bytes", wire::BYTES, wire::SNAPSHOT},
    {"heap", "heap-inuse-objects", wire::COUNT, wire::SNAPSHOT},
    {"allocs", "alloc-bytes", wire::BYTES, wire::DELTA},
    {"allocs", "alloc-objects", wire::COUNT, wire::DELTA},
    {"growth", "heap-growth-bytes", wire::BYTES, wire::DELTA},
    {"growth", "heap-growths", wire::COUNT, wire::DELTA},
    {"contention", "lock-wait-ns", wire::NANOSECONDS, wire::DELTA},
    {"contention", "lock-contentions", wire::COUNT, wire::DELTA},
    {"mutex", "lock-wait-ns", wire::NANOSECONDS, wire::DELTA},
    {"mutex", "lock-contentions", wire::COUNT, wire::DELTA},
    {"block", "block-wait-ns", wire::NANOSECONDS, wire::DELTA},
    {"block", "block-waits", wire::COUNT, wire::DELTA},
    {"profile", "app-cpu-ns", wire::NANOSECONDS, wire::DELTA},
    {"wall", "wall-ns", wire::NANOSECONDS, wire::DELTA},
}};

bool has_event(const wire::RawProfile& profile, std::string_view name) {
  for (const wire::Event& event : profile.events()) {
    if (event.name() == name) {
      return true;
    }
  }
  return false;
}

// The endpoints of all kinds that count the event; nothing where none of these was asked for.
std::optional<KindAnswer> answer_of_event(std::string_view event, const KindAnswers& answers) {
  std::optional<KindAnswer> sum;
  for (const KindEvent& known : kEvents) {
    const auto answer = answers.find(std::string(known.kind));
    if (known.event == event && answer != answers.end()) {
      sum = sum ? sum : KindAnswer();
      sum->endpoints += answer->second.endpoints;
      sum->answered += answer->second.answered;
    }
  }
  return sum;
}

// What was asked for and is known: where no endpoint of several has answered, nothing is.
void add_events(const KindAnswers& answers, wire::RawProfile& profile) {
  for (const KindEvent& known : kEvents) {
    const auto answer = answer_of_event(known.event, answers);
    const bool is_known = answer && (answer->endpoints == 0 || answer->answered != 0);
    if (!is_known || has_event(profile, known.event)) {
      continue;
    }
    wire::Event& event = *profile.add_events();
    event.set_name(std::string(known.event));
    event.set_unit(known.unit);
    event.set_kind(known.adds_up);
    // The same words for all machines, since answers repeat each note once; the report names the endpoint.
    if (answer->answered < answer->endpoints) {
      event.set_note("some endpoints of applications did not answer: values are too low (plimsoll draws ID)");
    }
  }
}

}  // namespace

std::string text_of(const KindAnswers& answers) {
  std::string text;
  for (const auto& [kind, answer] : answers) {
    text += fmt::format("{}{}: ", text.empty() ? "" : "; ", kind);
    if (answer.endpoints == 0) {
      text += "no endpoint";
    } else {
      text += fmt::format("{} of {} endpoint{}", answer.answered, answer.endpoints,
                          answer.endpoints == 1 ? "" : "s");
    }
    text += answer.problem.empty() ? std::string() : fmt::format(" ({})", answer.problem);
  }
  return text;
}

std::vector<wire::ApplicationKindReport> reports_of(const KindAnswers& answers) {
  std::vector<wire::ApplicationKindReport> reports;
  for (const auto& [kind, answer] : answers) {
    wire::ApplicationKindReport& report = reports.emplace_back();
    report.set_kind(kind);
    report.set_endpoints(static_cast<uint32_t>(answer.endpoints));
    report.set_answered(static_cast<uint32_t>(answer.answered));
    // Of several that are as common, the first by name: the same on all machines.
    const auto commonest =
        std::ranges::max_element(answer.causes, {}, [](const auto& cause) { return cause.second; });
    if (commonest != answer.causes.end()) {
      report.set_cause(commonest->first);
      report.set_with_cause(static_cast<uint32_t>(commonest->second));
    }
  }
  return reports;
}

std::string cause_of(const Error& error) {
  constexpr std::string_view kReturned = "the application returned ";
  switch (error.code) {
    case ErrorCode::kDenied:
    case ErrorCode::kConflict:
      return "permission denied, or another process listens";
    case ErrorCode::kNotFound:
      return "nothing listens, or the process has ended";
    case ErrorCode::kTooLarge:
      return "the profile is too large";
    case ErrorCode::kInvalid:
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
      return "the profile cannot be read";
    case ErrorCode::kExhausted:
      return "the daemon has no memory or descriptors left";
    case ErrorCode::kUnavailable: {
      const size_t at = error.message.find(kReturned);
      return at == std::string::npos ? "no answer" : printable(error.message.substr(at));
    }
    case ErrorCode::kIo:
      break;
  }
  return "a system call failed";
}

wire::RawProfile answer_profile(const wire::Assignment& assignment, const KindAnswers& answers) {
  wire::RawProfile profile;
  profile.set_format_version(wire::kFormatVersion);
  profile.set_profile_id(random_bytes(16));
  profile.mutable_assignment()->set_id(std::string(wire::kApplicationAssignment) + "(kinds)");
  *profile.mutable_assignment()->mutable_draw() = assignment.draw();
  add_events(answers, profile);
  // Errors may quote bytes of applications and paths; a note must be UTF-8.
  profile.add_notes(printable(text_of(answers)));
  return profile;
}

}  // namespace plimsoll::scrape
