#include "tests/store/crash_fixture.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "proto/profile_codec.h"
#include "query/views/top.h"
#include "store/care/check.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

// Each has functions of its own, and one that some share.
wire::RawProfile crash_profile(uint64_t number) {
  return make_profile(
      {.seed = number,
       .machine = fmt::format("m{}", number % 3),
       .from_ns = start_of(number),
       .job = number % 2 == 0 ? "db" : "web",
       .stacks = fmt::format("main;f{0} {1}\nthread=io main;read;g{0}@g.cc:{0} {2}\nmain;shared {0}\n",
                             number, 1 + number, 2 * number)});
}

using Answer = std::map<std::string, double>;

Answer answer_of(const Profiles& profiles) {
  Answer answer;
  for (const uint64_t number : profiles) {
    const auto hits = static_cast<double>(number);
    answer[fmt::format("f{}", number)] += 1 + hits;
    answer[fmt::format("g{}", number)] += 2 * hits;
    answer["shared"] += hits;
  }
  return answer;
}

Result<Answer> ask(const std::string& data_dir) {
  const auto snapshot = query::Snapshot::load(data_dir);
  const auto request = query::parse_top({{"limit", "1000"}, {"margins", "no"}}, 0);
  const auto table = !snapshot  ? propagate(snapshot)
                     : !request ? propagate(request)
                                : query::top(*request, **snapshot);
  if (!table) {
    return propagate(table);
  }
  Answer answer;
  for (const auto& row : table->rows) {
    if (const double self = std::get<double>(row[1]); self != 0) {
      answer[std::get<std::string>(row[0])] = self;
    }
  }
  return answer;
}

std::string text_of(const Answer& answer) {
  std::string text;
  for (const auto& [function, hits] : answer) {
    text += fmt::format(" {}={}", function, hits);
  }
  return text;
}

}  // namespace

int64_t start_of(uint64_t profile) {
  return kStartNs + static_cast<int64_t>(profile) * 20 * kMinuteNs;
}

std::string wrong_answer(const std::string& data_dir, const Profiles& expected) {
  const auto answer = ask(data_dir);
  if (!answer) {
    return "asking: " + answer.error().text();
  }
  const Answer right = answer_of(expected);
  return *answer == right ? "" : fmt::format("the answer is{}, and not{}", text_of(*answer), text_of(right));
}

std::string damage_in(const std::string& data_dir) {
  const auto report = store::check_store(data_dir);
  if (!report) {
    return "checking: " + report.error().text();
  }
  for (const store::Finding& finding : report->findings) {
    if (finding.is_damage) {
      return fmt::format("damage: {}: {}", finding.file, finding.what);
    }
  }
  return "";
}

Profiles up_to(uint64_t last) {
  Profiles profiles;
  for (uint64_t number = 1; number <= last; ++number) {
    profiles.insert(number);
  }
  return profiles;
}

store::IngestOptions options_of(uint64_t profiles_per_block) {
  // One time for all: blocks do not grow old, and a run does the same each time.
  return {.block_limits = {.max_profiles = profiles_per_block}, .now_ns = [] { return kStartNs + kDayNs; }};
}

Status accept(store::Ingest& ingest, uint64_t profile, Profiles* unknown) {
  const auto accepted = ingest.accept(as_bytes(wire::encode(crash_profile(profile))), {});
  if (accepted && unknown != nullptr && accepted->acceptance == store::Acceptance::kNew) {
    unknown->insert(profile);
  }
  return accepted ? Status() : propagate(accepted);
}

Status build(store::Ingest& ingest) {
  const auto built = ingest.build_pending();
  return built ? Status() : propagate(built);
}

Status build_all(store::Ingest& ingest) {
  while (true) {
    const auto built = ingest.build_pending();
    if (!built || built->profiles + built->unbuildable == 0) {
      return built ? Status() : propagate(built);
    }
  }
}

void must(const Status& status) {
  if (!status) {
    std::fprintf(stderr, "preparing: %s\n", status.error().text().c_str());
    std::abort();
  }
}

void fill(const std::string& data_dir, uint64_t last, uint64_t per_block) {
  auto ingest = store::Ingest::open(data_dir, options_of(per_block));
  must(ingest ? Status() : propagate(ingest));
  for (uint64_t number = 1; number <= last; ++number) {
    must(accept(**ingest, number));
    must(build(**ingest));
  }
}

OpenIngest open(const std::string& data_dir, uint64_t per_block, Witness& witness) {
  OpenIngest ingest;
  witness.step([&]() -> Status {
    auto opened = store::Ingest::open(data_dir, options_of(per_block));
    if (opened) {
      ingest = std::move(*opened);
    }
    return opened ? Status() : propagate(opened);
  });
  return ingest;
}

void accept_and_acknowledge(store::Ingest& ingest, uint64_t profile, Witness& witness) {
  if (witness.step([&] { return accept(ingest, profile); })) {
    witness.acknowledge(profile);
  }
}

std::string WholeScenario::check(const std::string& folder, const Profiles& acknowledged) const {
  const std::string data_dir = folder + "/data";
  {
    const auto ingest = store::Ingest::open(data_dir, options_of(per_block_));
    if (!ingest) {
      return "opening: " + ingest.error().text();
    }
    Profiles unknown;
    for (uint64_t number = 1; number <= last_; ++number) {
      if (const Status accepted = accept(**ingest, number, &unknown); !accepted) {
        return fmt::format("sending profile {} again: {}", number, accepted.error().text());
      }
      if (acknowledged.contains(number) && unknown.contains(number)) {
        return fmt::format("profile {} was acknowledged, and is gone", number);
      }
    }
    if (const Status built = build_all(**ingest); !built) {
      return "building: " + built.error().text();
    }
    if (std::string wrong = finish(folder, **ingest); !wrong.empty()) {
      return wrong;
    }
  }
  const std::string wrong = wrong_answer(data_dir, up_to(last_));
  return wrong.empty() ? damage_in(data_dir) : wrong;
}

bool Witness::step(const std::function<Status()>& work) {
  std::string why;
  for (int i = 0; i < kTries; ++i) {
    const Status done = work();
    if (done) {
      return true;
    }
    why = done.error().text();
  }
  failure_ = failure_.empty() ? why : failure_;
  return false;
}

std::vector<std::unique_ptr<Scenario>> all_scenarios() {
  std::vector<std::unique_ptr<Scenario>> all;
  add_writing_scenarios(all);
  add_care_scenarios(all);
  return all;
}

}  // namespace plimsoll::testing
