#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <functional>

#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/query/names.h"
#include "bench/query/parts.h"
#include "bench/query/views_peer.h"
#include "bench/store/clock.h"
#include "bench/store/generator.h"
#include "bench/store/raw_profiles.h"
#include "query/views/callers.h"
#include "query/views/diff.h"
#include "query/views/flame.h"
#include "query/views/series.h"
#include "query/views/shared.h"
#include "query/views/stability.h"
#include "query/views/top.h"
#include "store/compaction/compactor.h"
#include "store/ingest.h"

namespace plimsoll::bench {
namespace {

using query::Parameters;

constexpr double kGoalOfViewMs = 300;
constexpr double kGoalFirstMs = 1000;
constexpr double kGoalStabilityMs = 2000;

// A draw of every tenth machine, a new one for each window.
void add_draw(uint32_t window, wire::RawProfile& profile) {
  wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
  draw.set_id(fmt::format("draw-{}", window));
  draw.set_inclusion_probability(0.1);
}

Status fill(const std::string& data_dir, uint32_t machines, uint32_t windows) {
  const StackTree tree = generate_stacks(kJobs, kStacksOfJob);
  const RawProfiles profiles(tree);
  auto ingest = store::Ingest::open(data_dir);
  if (!ingest) {
    return propagate(ingest);
  }
  for (uint32_t window = 0; window < windows; ++window) {
    for (uint32_t machine = 0; machine < machines; ++machine) {
      wire::RawProfile profile = profiles.generate(machine, window);
      add_draw(window, profile);
      if (const auto accepted = (*ingest)->accept(as_bytes(wire::encode(profile)), {}); !accepted) {
        return propagate(accepted);
      }
    }
    while (true) {
      const auto built = (*ingest)->build_pending();
      if (!built) {
        return propagate(built);
      }
      if (built->profiles == 0) {
        break;
      }
    }
  }
  if (const Status bound = Namer(tree, **ingest).bind_new(); !bound) {
    return bound;
  }
  auto compactor = store::Compactor::open(**ingest, store::CompactionLimits::thorough(uint64_t{64} << 20));
  const auto merged = compactor ? (*compactor)->merge_all() : propagate(compactor);
  return merged ? Status() : propagate(merged);
}

size_t size_of(const query::Table& table) {
  return table.rows.size();
}
size_t size_of(const query::Flame& flame) {
  return flame.nodes.size();
}

// How many rows or nodes the answer has.
using View = Result<size_t> (*)(const Parameters& parameters, const query::Snapshot& snapshot);

template <auto parse, auto view>
Result<size_t> ask(const Parameters& parameters, const query::Snapshot& snapshot) {
  const auto request = parse(parameters, 0);
  if (!request) {
    return propagate(request);
  }
  const auto answer = view(*request, snapshot);
  return answer ? Result<size_t>(size_of(*answer)) : propagate(answer);
}
constexpr View kTop = ask<query::parse_top, query::top>;
constexpr View kCallers = ask<query::parse_callers, query::callers>;
constexpr View kDiff = ask<query::parse_diff, query::diff>;
constexpr View kFlame = ask<query::parse_flame, query::flame>;
constexpr View kShared = ask<query::parse_shared, query::shared>;
constexpr View kSeries = ask<query::parse_series, query::series>;
constexpr View kStability = ask<query::parse_stability, query::stability>;

struct Question {
  const char* name;
  View view;
  Parameters parameters;
  double goal_ms = kGoalOfViewMs;
  std::string sql = {};  // the same without margins, for a peer; empty: not asked
};

Result<double> time_ms(const query::Snapshot& snapshot, View view, const Parameters& parameters) {
  const double start_s = now_s();
  const auto size = view(parameters, snapshot);
  if (!size) {
    return propagate(size);
  }
  if (*size == 0) {
    return fail(ErrorCode::kInvalid, "a question of the benchmark selects nothing");
  }
  return (now_s() - start_s) * 1e3;
}

// `peer` may be absent.
std::vector<Question> questions_beside(const ViewsPeer* peer) {
  const Parameters filtered{{"where", "job=~^job-1"}};
  const auto jobs = [&](char digit) {
    return peer == nullptr ? std::string() : peer->jobs([digit](std::string_view job) {
      return job.starts_with("job-") && job[4] == digit;
    });
  };
  std::vector<Question> questions{
      {"top", kTop, {}, kGoalOfViewMs, ViewsPeer::top_functions("true")},
      {"top_filtered", kTop, filtered, kGoalOfViewMs, ViewsPeer::top_functions(jobs('1'))},
      {"top_no_margins", kTop, {{"margins", "no"}}, kGoalOfViewMs, ViewsPeer::top_functions("true")},
      {"top_filtered_no_margins",
       kTop,
       {{"where", "job=~^job-1"}, {"margins", "no"}},
       kGoalOfViewMs,
       ViewsPeer::top_functions(jobs('1'))},
      {"top_job", kTop, {{"by", "job"}}, kGoalOfViewMs, ViewsPeer::top_jobs()},
      {"top_job_function", kTop, {{"by", "job,function"}, {"where", "job=~^job-1"}}},
      {"flame", kFlame, {{"where", "job=~^job-1"}, {"min_share", "0.5%"}}},  // as the command line asks
      {"flame_whole", kFlame, filtered},
      {"callers", kCallers, {{"of", "binary=~7[.]so$"}, {"where", "job=~^job-1"}}},
      {"diff_jobs",
       kDiff,
       {{"base_where", "job=~^job-1"}, {"new_where", "job=~^job-2"}},
       kGoalOfViewMs,
       ViewsPeer::diff_functions(jobs('1'), jobs('2'))},
      {"diff_draws",
       kDiff,
       {{"where", "job=~^job-1"}, {"base_where", "draw=draw-0"}, {"new_where", "draw=draw-1"}}},
      {"shared", kShared, {{"where", "job=~^job-1"}, {"max_share", "100%"}}},
      {"series", kSeries, filtered},
      {"stability", kStability, {}, kGoalStabilityMs},
      {"stability_filtered", kStability, filtered, kGoalStabilityMs},
  };
  for (Question& question : questions) {
    question.sql = peer == nullptr ? "" : question.sql;
  }
  return questions;
}

// Whether the peer says what the view does.
Status check(const Question& question, const query::Snapshot& snapshot, ViewsPeer& peer) {
  if (question.sql.empty() || question.view != kTop) {
    return {};
  }
  const auto request = query::parse_top(question.parameters, 0);
  const auto table = request ? query::top(*request, snapshot) : propagate(request);
  return table ? peer.expect_same(question.sql, *table) : propagate(table);
}

// The medians of interleaved runs; the peer's is 0 where it is not asked.
Result<std::array<double, 2>> measure(const Question& question, const query::Snapshot& snapshot,
                                      ViewsPeer* peer, int rounds) {
  Status status;
  const auto kept = [&](const Result<double>& took_ms) {
    status = took_ms || !status ? status : propagate(took_ms, "asking {}", question.name);
    return took_ms.value_or(0);
  };
  std::vector<std::function<double()>> contenders{
      [&] { return kept(time_ms(snapshot, question.view, question.parameters)); }};
  if (!question.sql.empty()) {
    if (const Status checked = check(question, snapshot, *peer); !checked) {
      return propagate(checked, "asking {}", question.name);
    }
    const auto order = peer->fastest_order(question.sql);
    if (!order) {
      return propagate(order, "asking {}", question.name);
    }
    contenders.emplace_back([&, order = *order] { return kept(peer->time_ms(question.sql, order)); });
  }
  const std::vector<double> medians = interleaved_medians(rounds, contenders);
  return status ? Result<std::array<double, 2>>({medians[0], medians.size() > 1 ? medians[1] : 0})
                : propagate(status);
}

}  // namespace

Status measure_views(const Flags& flags, Report& report) {
  const uint32_t machines = flags.quick ? 250 : 5000;
  const uint32_t windows = flags.quick ? 4 : 8;
  const auto folder = ScratchFolder::create();
  const Status filled = folder ? fill(*folder / "data", machines, windows) : propagate(folder);
  if (!filled) {
    return filled;
  }
  const double start_s = now_s();
  const auto snapshot = query::Snapshot::load(*folder / "data");
  const auto first = snapshot ? time_ms(**snapshot, kTop, {}) : propagate(snapshot);
  if (!first) {
    return propagate(first);
  }
  report.add(
      {.name = "top_first",
       .value = (now_s() - start_s) * 1e3,
       .unit = "ms",
       .goal = kGoalFirstMs,
       .note = fmt::format(
           "from a closed data directory: {} profiles of {} machines, {} stack nodes; loading {:.0f} ms",
           machines * windows, machines, (*snapshot)->dictionaries.stacks.size(),
           (now_s() - start_s) * 1e3 - *first)});
  auto peer = ViewsPeer::start(**snapshot, *folder);
  if (!peer && peer.error().code != ErrorCode::kNotFound) {
    return propagate(peer);
  }
  for (const Question& question : questions_beside(peer ? &*peer : nullptr)) {
    const auto took_ms = measure(question, **snapshot, peer ? &*peer : nullptr, flags.quick ? 3 : 7);
    if (!took_ms) {
      return propagate(took_ms);
    }
    const bool has_peer = !question.sql.empty();
    report.add({.name = question.name,
                .value = (*took_ms)[0],
                .unit = "ms",
                .peer = has_peer ? peer->name() : "",
                .peer_value = (*took_ms)[1],
                .goal = question.goal_ms,
                .note = peer ? (has_peer ? "the peer without margins" : "") : peer.error().text()});
  }
  return {};
}

}  // namespace plimsoll::bench
