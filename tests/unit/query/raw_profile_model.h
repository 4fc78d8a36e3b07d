// The simple model of views: random profiles, random questions to them, and answers summed straight from the raw profiles.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "proto/squares.h"
#include "statistics/design.h"
#include "statistics/linearization.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query::model {

using Random = std::mt19937_64;

inline uint64_t below(Random& random, uint64_t bound) {
  return random() % bound;
}

inline const std::string& one_of(Random& random, const std::vector<std::string>& values) {
  return values[below(random, values.size())];
}

// Profiles with little variety, so that groups and stacks meet.

inline const std::vector<std::string> kLocations{
    "main@main.cc:3", "main@main.cc:9",   "parse", "lex@lex.cc:1", "parse>lex",
    "lex>peek>get",   "read@io.cc:7>get", "idle"};

inline std::string random_stack(Random& random) {
  std::string stack;
  for (uint64_t depth = below(random, 6); depth > 0; --depth) {
    stack += (stack.empty() ? "" : ";") + one_of(random, kLocations);
  }
  return stack.empty() ? "\"\"" : stack;
}

// As of a recording whose periods vary: some samples of the first event stand for more than others.
inline void add_random_squares(Random& random, wire::RawProfile& profile) {
  std::vector<wire::SquaresOfRow> rows;
  for (const wire::SampleTable& table : profile.samples()) {
    for (int i = 0; table.event_size() == 1 && table.event(0) == 0 && i < table.hits_size(); ++i) {
      rows.push_back(
          {.thread = table.thread(i),
           .stack = table.stack(i),
           .label_set = table.label_set_size() == 0 ? 0 : table.label_set(i),
           .squares = static_cast<double>(table.hits(i)) * static_cast<double>(1 + below(random, 50))});
    }
  }
  wire::add_squares(0, rows, profile);
  wire::Event& event = *profile.mutable_events(0);
  event.set_samples(event.hits() == 0 ? 0 : 1 + below(random, event.hits()));
}

inline wire::RawProfile random_profile(Random& random, uint64_t seed) {
  ProfileSpec spec{.seed = seed,
                   .machine = fmt::format("m{}", below(random, 8)),
                   .length_ns = static_cast<int64_t>(1 + below(random, 5)) * 1'000'000'000,
                   .events = {{.name = "cycles", .scale = 0.5 + static_cast<double>(below(random, 1000))},
                              {.name = "wait", .scale = 1000, .unit = wire::NANOSECONDS}},
                   .job = one_of(random, {"", "storage", "serving"}),
                   .labels = one_of(random, {"", "tier:gold", "tier:free,pod:p1"}),
                   .stacks = ""};
  for (uint64_t line = below(random, 15); line > 0; --line) {
    spec.stacks +=
        fmt::format("process={} thread={} labels={} event={} {} {}\n", one_of(random, {"db", "web"}),
                    one_of(random, {"io", "worker", "db"}),
                    one_of(random, {"", "color:red", "color:blue", "color:red,tier:silver"}),
                    one_of(random, {"cycles", "cycles", "wait"}), random_stack(random), below(random, 100));
  }
  wire::RawProfile profile = make_profile(spec);
  if (profile.threads_size() > 0 && below(random, 2) == 0) {
    wire::Binary library;
    library.set_path(one_of(random, {"/usr/lib/libz.so", "/opt/libz.so", "/usr/lib/libc.so"}));
    add_sample(profile, library, wire::ELF, 0x1000 * below(random, 3), 1 + below(random, 50));
  }
  if (below(random, 2) == 0) {
    wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
    draw.set_id(one_of(random, {"d1", "d2"}));
    draw.set_inclusion_probability(static_cast<double>(1 + below(random, 10)) / 10);
    draw.set_interval_ns(static_cast<int64_t>(below(random, 3)) * 30'000'000'000);
  }
  if (below(random, 3) == 0) {
    add_random_squares(random, profile);
  }
  return profile;
}

// The simple model: each sample of each profile, with all its texts.

struct Frame {
  std::string function, file, binary;
  std::string line = {};
};

// A machine in a draw.
using Unit = std::pair<std::string, std::string>;

struct Sample {
  std::string event;
  Unit unit;
  double value = 0;
  double hits = 0;
  double squares = 0;                        // of what each of its samples stands for
  std::map<std::string, std::string> texts;  // of dimensions that are not of frames
  std::vector<Frame> frames;                 // innermost first; at least one
};

// Why there are no more callers; of other reasons no profile here has any.
inline std::string reason_text(wire::StackProblem problem) {
  switch (problem) {
    case wire::NOT_IN_A_MAPPING:
      return "a return address outside code";
    case wire::TOO_DEEP:
      return "too deep";
    case wire::NO_USER_STACK:
      return "no user stack";
    default:
      return "unknown reason";
  }
}

inline std::vector<Frame> named_frames(const wire::RawProfile& profile, uint64_t first,
                                       const std::string& binary) {
  std::vector<Frame> frames;
  for (auto i = static_cast<int>(first);; ++i) {
    const wire::NamedFrame& frame = profile.frames(i);
    frames.push_back({frame.function(), frame.file(), binary,
                      frame.line() == 0 ? "" : fmt::format("{}:{}", frame.file(), frame.line())});
    if (!frame.inlined_into_next()) {
      return frames;
    }
  }
}

inline std::vector<Frame> frames_of_location(const wire::RawProfile& profile, int location) {
  const uint64_t address = profile.locations().address(location);
  const auto nameless = [](const std::string& binary) {
    return std::vector<Frame>{{fmt::format("[no symbol in {}]", binary), "", binary}};
  };
  switch (profile.locations().kind(location)) {
    case wire::NAMED:
      return named_frames(profile, address, "");
    case wire::BPF:
      return named_frames(profile, address, "[bpf]");
    case wire::JIT:
      return nameless("[jit]");
    case wire::UNRESOLVED:
      return nameless("[unresolved]");
    case wire::UNFINISHED:
      return {
          {fmt::format("[unfinished: {}]", reason_text(static_cast<wire::StackProblem>(address))), "", ""}};
    default:
      const std::string& path =
          profile.binaries(static_cast<int>(profile.locations().owner(location))).path();
      return nameless(path.substr(path.rfind('/') + 1));
  }
}

inline std::vector<Frame> frames_of_stack(const wire::RawProfile& profile, uint32_t stack) {
  std::vector<Frame> frames;
  for (; stack != 0; stack = profile.stacks().parent(static_cast<int>(stack - 1))) {
    const auto location = static_cast<int>(profile.stacks().location(static_cast<int>(stack - 1)));
    for (const Frame& frame : frames_of_location(profile, location)) {
      frames.push_back(frame);
    }
  }
  if (frames.empty()) {
    frames.push_back({"[no stack]", "[no stack]", "[no stack]", "[no stack]"});
  }
  return frames;
}

inline std::string stack_text(const std::vector<Frame>& frames) {
  std::string text;
  for (const Frame& frame : frames) {
    text = &frame == &frames.front() ? frame.function : frame.function + ";" + text;
  }
  return text;
}

inline double length_ns(const wire::RawProfile& profile) {
  return static_cast<double>(profile.window().end().monotonic_ns()) -
         static_cast<double>(profile.window().start().monotonic_ns());
}

// Of a draw, how long each machine was observed for each event.
using ObservedTimes = std::map<std::array<std::string, 3>, double>;

inline std::array<std::string, 3> observed_key(const wire::RawProfile& profile, const std::string& event) {
  return {profile.assignment().draw().id(), profile.machine().id(), event};
}

inline ObservedTimes observed_times(const std::vector<wire::RawProfile>& profiles) {
  ObservedTimes times;
  for (const wire::RawProfile& profile : profiles) {
    for (const wire::Event& event : profile.events()) {
      times[observed_key(profile, event.name())] += length_ns(profile);
    }
  }
  return times;
}

inline double weight(const wire::RawProfile& profile, const std::string& event,
                     const ObservedTimes& observed) {
  const wire::Draw& draw = profile.assignment().draw();
  const double observed_ns =
      draw.id().empty() ? length_ns(profile) : observed.at(observed_key(profile, event));
  const double of_time = draw.interval_ns() == 0 ? 1 : static_cast<double>(draw.interval_ns()) / observed_ns;
  return draw.id().empty() ? of_time : of_time / draw.inclusion_probability();
}

inline Unit unit_of(const wire::RawProfile& profile) {
  return {profile.assignment().draw().id(), profile.machine().id()};
}

// What one hit stands for in its own profile.
inline double scale(const wire::Event& event) {
  const auto hits = static_cast<double>(event.hits());
  const double produced = hits + static_cast<double>(event.lost());
  const double busy =
      event.ticks_due() == 0 ? 1 : std::min(1.0, produced / static_cast<double>(event.ticks_due()));
  const double turns = event.time_running_ns() == 0 ? 1
                                                    : static_cast<double>(event.time_enabled_ns()) /
                                                          static_cast<double>(event.time_running_ns());
  return event.counter_total() * turns * busy / hits;
}

// Of some hits, where some samples stand for several.
inline double samples_behind(const wire::Event& event, uint64_t hits) {
  const uint64_t samples = event.samples() == 0 ? event.hits() : event.samples();
  return static_cast<double>(hits) * static_cast<double>(samples) / static_cast<double>(event.hits());
}

// Of all profiles of a machine in a draw.
inline std::map<std::string, std::string> origin_texts(const wire::RawProfile& profile) {
  return {{"machine", profile.machine().id()},
          {"draw", profile.assignment().draw().id()},
          {"hostname", profile.machine().hostname()},
          {"platform", profile.machine().platform()}};
}

inline const wire::Event& event_called(const wire::RawProfile& profile, std::string_view name) {
  const auto found =
      std::ranges::find(profile.events(), name, [](const wire::Event& event) { return event.name(); });
  EXPECT_NE(found, profile.events().end()) << name;
  return *found;
}

inline bool has_squares(const wire::RawProfile& profile, const wire::Event& event) {
  return std::ranges::any_of(profile.events(), [&](const wire::Event& other) {
    return other.kind() == wire::SQUARES && wire::squared_event(other.name()) == event.name();
  });
}

inline std::string app_of(const wire::Process& process) {
  const std::string& executable = process.executable();
  return executable.empty() ? process.comm() : executable.substr(executable.rfind('/') + 1);
}

// `label_set` is the sample's, plus 1; 0: none.
inline std::string label_of(const wire::RawProfile& profile, const wire::Process& process, uint32_t label_set,
                            const std::string& key) {
  if (label_set != 0) {
    const auto& labels = profile.label_sets(static_cast<int>(label_set - 1)).labels();
    if (const auto label = labels.find(key); label != labels.end()) {
      return label->second;
    }
  }
  const auto label = process.labels().find(key);
  return label == process.labels().end() ? std::string() : label->second;
}

inline const std::vector<std::string> kLabels{"color", "tier", "pod"};

inline void add_sample(const wire::RawProfile& profile, const wire::Event& event, uint32_t thread_index,
                       uint32_t label_set, uint64_t hits, std::vector<Frame> frames,
                       const ObservedTimes& observed, std::vector<Sample>& samples) {
  if (hits == 0) {
    return;
  }
  const wire::Thread& thread = profile.threads(static_cast<int>(thread_index));
  const wire::Process& process = profile.processes(static_cast<int>(thread.process()));
  Sample& sample = samples.emplace_back();
  sample.event = event.name();
  sample.unit = unit_of(profile);
  if (event.kind() == wire::SQUARES) {
    const wire::Event& of = event_called(profile, wire::squared_event(event.name()));
    const double value_of_hit = scale(of) * weight(profile, of.name(), observed);
    sample.event = of.name();
    sample.squares = static_cast<double>(hits) * scale(event) * value_of_hit * value_of_hit;
  } else {
    sample.hits = samples_behind(event, hits);
    sample.value = static_cast<double>(hits) * scale(event) * weight(profile, event.name(), observed);
    sample.squares = has_squares(profile, event) ? 0 : sample.value * sample.value / sample.hits;
  }
  sample.frames = std::move(frames);
  sample.texts = origin_texts(profile);
  sample.texts["job"] = process.job();
  sample.texts["app"] = app_of(process);
  sample.texts["thread"] = thread.name();
  sample.texts["stack"] = stack_text(sample.frames);
  for (const std::string& key : kLabels) {
    sample.texts["label:" + key] = label_of(profile, process, label_set, key);
  }
}

// A branch is a stack of two: where it led to, called by where it came from.
inline void add_branches(const wire::RawProfile& profile, const wire::BranchTable& table,
                         const ObservedTimes& observed, std::vector<Sample>& samples) {
  for (int i = 0; i < table.hits_size(); ++i) {
    std::vector<Frame> frames = frames_of_location(profile, static_cast<int>(table.to_location(i)));
    for (const Frame& frame : frames_of_location(profile, static_cast<int>(table.from_location(i)))) {
      frames.push_back(frame);
    }
    add_sample(profile, profile.events(static_cast<int>(table.event())), table.thread(i), 0, table.hits(i),
               frames, observed, samples);
    if (table.mispredicted_event_plus_1() != 0) {
      add_sample(profile, profile.events(static_cast<int>(table.mispredicted_event_plus_1() - 1)),
                 table.thread(i), 0, table.mispredicted(i), frames, observed, samples);
    }
  }
}

inline void add_samples(const wire::RawProfile& profile, const ObservedTimes& observed,
                        std::vector<Sample>& samples) {
  for (const wire::SampleTable& table : profile.samples()) {
    for (int i = 0; i < table.hits_size(); ++i) {
      const int row = i / table.event_size();
      const auto event = static_cast<int>(table.event(i % table.event_size()));
      const uint32_t label_set = table.label_set_size() == 0 ? 0 : table.label_set(row);
      add_sample(profile, profile.events(event), table.thread(row), label_set, table.hits(i),
                 frames_of_stack(profile, table.stack(row)), observed, samples);
    }
  }
  for (const wire::BranchTable& table : profile.branches()) {
    add_branches(profile, table, observed, samples);
  }
}

inline std::string text_of(const Sample& sample, const Frame& frame, const std::string& dimension) {
  // Raw profiles do not tell names as linked.
  if (dimension == "function" || dimension == "linkage_name") {
    return frame.function;
  }
  if (dimension == "file") {
    return frame.file;
  }
  if (dimension == "line") {
    return frame.line;
  }
  return dimension == "binary" ? frame.binary : sample.texts.at(dimension);
}

// dim=value or dim!=value
struct Condition {
  std::string dimension;
  bool negated = false;
  std::string value;

  bool holds(const Sample& sample) const {
    const bool matches = std::ranges::any_of(
        sample.frames, [&](const Frame& frame) { return text_of(sample, frame, dimension) == value; });
    return matches != negated;
  }
  std::string text() const { return fmt::format("{}{}{}", dimension, negated ? "!=" : "=", value); }
  bool operator==(const Condition&) const = default;
};

// focus, ignore or hide, with an expression that means itself.
struct FramePattern {
  std::string parameter;
  std::string text;

  bool matches(const Frame& frame) const {
    return frame.function.contains(text) || frame.file.contains(text) || frame.binary.contains(text);
  }
  bool selects(const Sample& sample) const {
    const bool contains =
        std::ranges::any_of(sample.frames, [&](const Frame& frame) { return matches(frame); });
    return parameter == "hide" || contains == (parameter == "focus");
  }
};

struct Question {
  std::string event;
  std::vector<std::string> by;
  std::vector<Condition> where;
  std::vector<FramePattern> patterns = {};

  // Calls `use` with each sample that is selected, without the frames that are hidden.
  template <typename Use>
  void for_each(const std::vector<Sample>& samples, Use use) const {
    const bool hides = std::ranges::find(patterns, "hide", &FramePattern::parameter) != patterns.end();
    for (const Sample& sample : samples) {
      if (!selects(sample)) {
        continue;
      }
      if (!hides) {
        use(sample);
        continue;
      }
      Sample shown = sample;
      std::erase_if(shown.frames, [&](const Frame& frame) { return is_hidden(frame); });
      if (!shown.frames.empty()) {
        shown.texts["stack"] = stack_text(shown.frames);
        use(shown);
      }
    }
  }

  Parameters parameters() const {
    Parameters parameters{{"event", event}, {"limit", "1000000"}};
    for (const std::string& dimension : by) {
      parameters.emplace_back("by", dimension);
    }
    add_filters(parameters);
    return parameters;
  }
  void add_filters(Parameters& parameters) const {
    for (const Condition& condition : where) {
      parameters.emplace_back("where", condition.text());
    }
    add_patterns(parameters);
  }
  void add_patterns(Parameters& parameters) const {
    for (const FramePattern& pattern : patterns) {
      parameters.emplace_back(pattern.parameter, pattern.text);
    }
  }

 private:
  bool selects(const Sample& sample) const {
    return sample.event == event &&
           std::ranges::all_of(where, [&](const Condition& condition) { return condition.holds(sample); }) &&
           std::ranges::all_of(patterns,
                               [&](const FramePattern& pattern) { return pattern.selects(sample); });
  }
  bool is_hidden(const Frame& frame) const {
    return std::ranges::any_of(patterns, [&](const FramePattern& pattern) {
      return pattern.parameter == "hide" && pattern.matches(frame);
    });
  }
};

struct Sums {
  double value = 0;
  double squares = 0;  // of what each of its samples stands for
};

// By unit.
using Sampled = std::map<Unit, Sums>;

inline void add(const Sample& sample, Sampled& sums) {
  sums[sample.unit].value += sample.value;
  sums[sample.unit].squares += sample.squares;
}

inline double sum(const Sampled& sums) {
  double sum = 0;
  for (const auto& [unit, of_unit] : sums) {
    sum += of_unit.value;
  }
  return sum;
}

struct Expected {
  Sampled self;
  Sampled total;
};

struct ExpectedTable {
  std::map<std::vector<std::string>, Expected> rows;
  Sampled all;
};

inline ExpectedTable expected_answer(const Question& question, const std::vector<Sample>& samples) {
  ExpectedTable table;
  question.for_each(samples, [&](const Sample& sample) {
    add(sample, table.all);
    std::set<std::vector<std::string>> groups;
    for (const Frame& frame : sample.frames) {
      std::vector<std::string> group;
      for (const std::string& dimension : question.by) {
        group.push_back(text_of(sample, frame, dimension));
      }
      if (&frame == &sample.frames.front()) {
        add(sample, table.rows[group].self);
      }
      groups.insert(group);
    }
    for (const auto& group : groups) {
      add(sample, table.rows[group].total);
    }
  });
  return table;
}

// The frame next to the outermost match, on its outer side, or next to the innermost one, on its inner side.
inline std::string neighbour_of(const Sample& sample, const Condition& of, Neighbour neighbour) {
  std::vector<size_t> matches;
  for (size_t i = 0; i < sample.frames.size(); ++i) {
    if (text_of(sample, sample.frames[i], of.dimension) == of.value) {
      matches.push_back(i);
    }
  }
  if (neighbour == Neighbour::kCaller) {
    return matches.back() + 1 == sample.frames.size() ? "[no caller]"
                                                      : sample.frames[matches.back() + 1].function;
  }
  return matches.front() == 0 ? "[itself]" : sample.frames[matches.front() - 1].function;
}

inline const std::vector<std::string> kDimensions{"machine", "draw",        "job",       "app",
                                                  "thread",  "stack",       "function",  "file",
                                                  "binary",  "label:color", "label:tier"};

inline Question random_question(Random& random, const std::vector<Sample>& samples) {
  Question question{.event = one_of(random, {"cycles", "cycles", "wait"}), .by = {}, .where = {}};
  for (uint64_t i = 1 + below(random, 3); i > 0; --i) {
    const std::string& dimension = one_of(random, kDimensions);
    if (std::ranges::find(question.by, dimension) == question.by.end()) {
      question.by.push_back(dimension);
    }
  }
  for (uint64_t i = below(random, 3); i > 0; --i) {
    const std::string& dimension = one_of(random, kDimensions);
    const Sample& sample = samples[below(random, samples.size())];
    const Frame& frame = sample.frames[below(random, sample.frames.size())];
    question.where.push_back({dimension, below(random, 2) == 0, text_of(sample, frame, dimension)});
  }
  for (uint64_t i = below(random, 8); i > 5; --i) {
    question.patterns.push_back(
        {one_of(random, {"focus", "ignore", "hide", "hide"}),
         one_of(random, {"main", "lex", "parse", "io.cc", "cc", "libz", "no s", "get"})});
  }
  return question;
}

inline bool has_event(const wire::RawProfile& profile, const std::string& name) {
  return std::ranges::any_of(profile.events(),
                             [&](const wire::Event& event) { return event.name() == name; });
}

// The machines that the question is about (of no event: of any), whether they have samples or not. Each part of
// the fleet in each draw is a stratum; the same part in successive draws stands side by side.
inline std::map<Unit, statistics::SampledMachine> sampled_machines(
    const Question& question, const std::vector<wire::RawProfile>& profiles) {
  std::map<std::string, int64_t> starts_ns;
  for (const wire::RawProfile& profile : profiles) {
    const auto [entry, is_new] =
        starts_ns.try_emplace(profile.assignment().draw().id(), profile.window().start().wall_ns());
    entry->second = std::min(entry->second, profile.window().start().wall_ns());
  }
  const auto stratum_of = [&](const wire::Draw& draw) {
    return std::tuple(draw.stratum(), starts_ns.at(draw.id()), draw.id());
  };
  std::map<std::tuple<std::string, int64_t, std::string>, uint32_t> strata;
  for (const wire::RawProfile& profile : profiles) {
    strata[stratum_of(profile.assignment().draw())];
  }
  uint32_t number = 0;
  for (auto& [key, stratum] : strata) {
    stratum = number++;
  }
  std::map<Unit, statistics::SampledMachine> machines;
  for (const wire::RawProfile& profile : profiles) {
    const wire::Draw& draw = profile.assignment().draw();
    const std::map<std::string, std::string> texts = origin_texts(profile);
    const bool is_asked_about =
        (question.event.empty() || has_event(profile, question.event)) &&
        std::ranges::all_of(question.where, [&](const Condition& condition) {
          const auto text = texts.find(condition.dimension);
          return text == texts.end() || (text->second == condition.value) != condition.negated;
        });
    if (!is_asked_about) {
      continue;
    }
    const auto probability = draw.id().empty() ? std::nullopt : std::optional(draw.inclusion_probability());
    const auto [entry, is_new] = machines.try_emplace(
        unit_of(profile), statistics::SampledMachine{strata.at(stratum_of(draw)), probability});
    if (entry->second.inclusion_probability != probability) {
      entry->second.inclusion_probability.reset();
    }
  }
  return machines;
}

// The share's margin, by the library that the view uses, from these sums.
inline statistics::Estimate expected_share(const std::map<Unit, statistics::SampledMachine>& machines,
                                           const Sampled& row, const Sampled& all) {
  std::vector<statistics::SampledMachine> sampled;
  std::array<std::vector<double>, 4> columns;
  for (const auto& [unit, machine] : machines) {
    sampled.push_back(machine);
    const Sums of_row = row.contains(unit) ? row.at(unit) : Sums();
    const Sums of_all = all.contains(unit) ? all.at(unit) : Sums();
    columns[0].push_back(of_row.value);
    columns[1].push_back(of_all.value);
    columns[2].push_back(of_row.squares);
    columns[3].push_back(of_all.squares);
  }
  return statistics::share(statistics::Design(sampled), {columns[0], columns[1], columns[2], columns[3]});
}

}  // namespace plimsoll::query::model
