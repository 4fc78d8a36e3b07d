#include "cli/bursts_search.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/printable.h"
#include "base/time.h"
#include "cli/bursts_machines.h"
#include "cli/json_text.h"
#include "cli/views/answer_source.h"
#include "traces/bursts/search/search.h"

namespace plimsoll::cli {
namespace {

using traces::Evidence;
using traces::ItemKind;
using traces::SearchItem;
using traces::SearchScene;

// Answers as they are shown.
class ShownAnswers {
 public:
  explicit ShownAnswers(bool is_json) : is_json_(is_json) {}

  void add(const SearchScene& scene, const traces::SearchQuery& query, const traces::SceneAnswers& answers) {
    for (const traces::SearchAnswer& answer : answers.answers) {
      const SearchItem& item = scene.of(query.set.kind)[answer.item];
      if (is_json_) {
        text_ += std::exchange(is_first_, false) ? "" : ", ";
        add_json(scene, query.set.kind, item, answer.evidence);
        text_ += "}";
      } else {
        text_ += fmt::format("{} ", format_time(item.begin_ns));
        add_line(scene, query.set.kind, item);
        add_evidence(scene, item.begin_ns, answer.evidence, 1);
      }
    }
  }
  const std::string& text() const { return text_; }

 private:
  // Of hostile recordings it may be more than 64 bits hold.
  static int64_t difference_ns(int64_t left_ns, int64_t right_ns) {
    return static_cast<int64_t>(static_cast<uint64_t>(left_ns) - static_cast<uint64_t>(right_ns));
  }
  static double in_ms(int64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerMs); }

  void add_line(const SearchScene& scene, ItemKind kind, const SearchItem& item) {
    text_ += name_of(kind);
    if (kind == ItemKind::kRequest) {
      text_ += fmt::format(" {:016x}", item.request);
    }
    text_ += fmt::format("  {:.3f} ms  {}\n", in_ms(item.duration_ns()), describe(scene, kind, item));
  }

  // The depth of calls is that of the query.
  void add_evidence(const SearchScene& scene, int64_t begin_ns, const std::vector<Evidence>& evidence,
                    size_t depth) {
    for (const Evidence& part : evidence) {
      const ItemKind kind = part.clause->set.kind;
      const SearchItem& item = scene.of(kind)[part.item];
      text_ += fmt::format("{:{}}{} {:+.3f} ms  ", "", 2 * depth, name_of(part.clause->relation),
                           in_ms(difference_ns(item.begin_ns, begin_ns)));
      add_line(scene, kind, item);
      add_evidence(scene, begin_ns, part.parts, depth + 1);
    }
  }

  // All but the closing brace.
  void add_json(const SearchScene& scene, ItemKind kind, const SearchItem& item,
                const std::vector<Evidence>& evidence) {
    text_ += fmt::format(
        "{{\"kind\": \"{}\", \"begin\": \"{}\", \"end\": \"{}\", \"duration_ns\": {}, \"request\": ",
        name_of(kind), format_time(item.begin_ns), format_time(item.end_ns), item.duration_ns());
    text_ += item.request == 0 ? std::string("null") : fmt::format("\"{:016x}\"", item.request);
    text_ += ", \"machine\": ";
    append_json_string(scene.machine_names[item.machine], text_);
    if (item.thread != traces::kNoThread) {
      const traces::BurstThread& thread = scene.machines[item.machine].recording->threads[item.thread];
      text_ += fmt::format(", \"thread\": {}, \"thread_name\": ", thread.tid);
      append_json_string(thread.name, text_);
    }
    text_ += ", \"text\": ";
    append_json_string(describe(scene, kind, item), text_);
    text_ += ", \"evidence\": [";
    bool is_first = true;
    for (const Evidence& part : evidence) {
      text_ += std::exchange(is_first, false) ? "" : ", ";
      const ItemKind part_kind = part.clause->set.kind;
      add_json(scene, part_kind, scene.of(part_kind)[part.item], part.parts);
      text_ += fmt::format(", \"relation\": \"{}\"}}", name_of(part.clause->relation));
    }
    text_ += "]";
  }

  bool is_json_;
  bool is_first_ = true;
  std::string text_;
};

struct Searched {
  uint64_t found = 0;
  uint64_t shown = 0;
  uint64_t bursts = 0;
  std::vector<std::string> notes;
};

// Of spans, which may have any. The depth of calls is that of the query.
void collect_attributes(const traces::SearchSet& set, std::set<std::string>& names) {
  const auto take = [&](const traces::FieldName& name) {
    if (name.field == traces::Field::kAttribute) {
      names.insert(name.attribute);
    }
  };
  for (const traces::SearchTest& test : set.tests) {
    take(test.field);
    take(test.outer);
  }
  for (const traces::SearchClause& clause : set.clauses) {
    take(clause.same);
    collect_attributes(clause.set, names);
  }
}

void note_what_spans_lack(const BurstMachines& machines, const traces::SearchQuery& query,
                          Searched& searched) {
  const bool needs_spans = (query.kinds & (kinds_of(ItemKind::kRpc) | kinds_of(ItemKind::kSpan))) != 0;
  if (needs_spans && machines.spans() == nullptr) {
    searched.notes.emplace_back(
        "there are no spans: an rpc matches only where applications told of it, and no span does; give "
        "--traces "
        "FILE");
  }
  if (!needs_spans || machines.spans() == nullptr) {
    return;
  }
  const traces::AttributeTable& attributes = machines.spans()->set().attributes();
  for (uint32_t key = 1; key < attributes.keys(); ++key) {
    if (attributes.is_unbounded(key)) {
      searched.notes.push_back(
          fmt::format("attribute {} of spans has too many values: no test of it holds", attributes.key(key)));
    }
  }
  // Such as a misspelt one: after `not` all would be found.
  std::set<std::string> names;
  collect_attributes(query.set, names);
  for (const std::string& name : names) {
    // Those two are attributes of what applications tell, too.
    const bool is_told = name == "method" || name == "peer";
    if (!is_told && machines.spans()->key_named(name) == 0) {
      searched.notes.push_back(
          fmt::format("no span has the attribute {}: no test of it holds", printable(name)));
    }
  }
  if (attributes.is_cut()) {
    searched.notes.emplace_back("some attributes of spans were left out: there are too many");
  }
}

// Notes of bursts with lost events, a few of them: a day has thousands of bursts.
class LostEvents {
 public:
  // `asks_applications`: whether what applications tell is searched.
  explicit LostEvents(bool asks_applications) : asks_applications_(asks_applications) {}

  void add(const BurstOfMachines& burst) {
    constexpr size_t kMaxLostNotes = 20;
    for (const traces::SceneMachine& machine : burst.machines) {
      const traces::BurstRecording& recording = *machine.recording;
      // Of all bursts of a recording together. `not with rpc` holds of what was lost, too.
      if (asks_applications_ && recording.lost_application_events > 0 &&
          of_applications_.size() < kMaxLostNotes) {
        of_applications_.insert(fmt::format(
            "{} events that applications of machine {} told of were lost, rpc and annotation may be missing",
            recording.lost_application_events, printable(recording.machine)));
      }
      if (machine.burst->all_lost() == 0) {
        continue;
      }
      if (notes_.size() < kMaxLostNotes) {
        notes_.push_back(
            fmt::format("burst at {}: {} events of machine {} were lost, items may be missing or wrong",
                        format_time(burst.planned_begin_ms * kNsPerMs), machine.burst->all_lost(),
                        printable(recording.machine)));
      } else {
        ++more_;
      }
    }
  }

  void finish(std::vector<std::string>& notes) {
    notes.insert(notes.end(), of_applications_.begin(), of_applications_.end());
    notes.insert(notes.end(), notes_.begin(), notes_.end());
    if (more_ > 0) {
      notes.push_back(
          fmt::format("{} more bursts of machines have lost events: see plimsoll bursts show", more_));
    }
  }

 private:
  const bool asks_applications_;
  std::set<std::string> of_applications_;  // one for each recording
  std::vector<std::string> notes_;
  uint64_t more_ = 0;
};

class BurstSearch {
 public:
  BurstSearch(const BurstMachines& machines, const traces::SearchQuery& query, uint32_t limit,
              ShownAnswers& shown)
      : machines_(machines),
        query_(query),
        limit_(limit),
        shown_(shown),
        clocks_(machines),
        lost_((query.kinds & (kinds_of(ItemKind::kRpc) | kinds_of(ItemKind::kAnnotation))) != 0) {}

  // Whether the search goes on.
  bool add(const BurstOfMachines& burst) {
    clocks_.add(burst);
    traces::SearchLimits limits;
    limits.max_answers = limit_ - searched_.shown;
    limits.max_steps = steps_left_;
    const SearchScene scene = make_scene(burst.machines, machines_.spans(), query_.kinds);
    const traces::SceneAnswers answers = search_scene(scene, query_, limits);
    const std::string begin = format_time(burst.planned_begin_ms * kNsPerMs);
    if (answers.is_cut) {
      searched_.notes.push_back(fmt::format(
          "the search ended at the burst at {}, of which there are no answers: over {} pairs of items were "
          "compared; compare attributes with = outer., or make intervals shorter",
          begin, traces::SearchLimits().max_steps));
      return false;
    }
    steps_left_ -= answers.steps;
    ++searched_.bursts;
    searched_.found += answers.found;
    searched_.shown += answers.answers.size();
    shown_.add(scene, query_, answers);
    if (answers.is_evidence_cut) {
      searched_.notes.push_back(
          fmt::format("burst at {}: some evidence is missing: over {} pairs of items were compared", begin,
                      traces::SearchLimits().max_steps));
    }
    lost_.add(burst);
    return true;
  }

  Searched finish() {
    std::vector<std::string> notes = machines_.notes();
    notes.insert(notes.end(), clocks_.notes().begin(), clocks_.notes().end());
    std::swap(notes, searched_.notes);
    note_what_spans_lack(machines_, query_, searched_);
    searched_.notes.insert(searched_.notes.end(), notes.begin(), notes.end());
    lost_.finish(searched_.notes);
    return std::move(searched_);
  }

 private:
  const BurstMachines& machines_;
  const traces::SearchQuery& query_;
  const uint32_t limit_;
  ShownAnswers& shown_;
  ClockNotes clocks_;
  LostEvents lost_;
  uint64_t steps_left_ = traces::SearchLimits().max_steps;  // of all bursts together
  Searched searched_;
};

}  // namespace

Status run_bursts_search(const BurstsSearchOptions& options) {
  const auto query = traces::parse_search(options.query);
  if (!query) {
    return with_hint(with_field(propagate(query), "query"), query.error().hint.empty()
                                                                ? "docs/burst-search.md has the language"
                                                                : query.error().hint);
  }
  BurstsInput input = options.input;
  input.names_functions = (query->kinds & traces::kinds_of(ItemKind::kSample)) != 0;
  auto machines = BurstMachines::open(input, options.spans);
  if (!machines) {
    return propagate(machines);
  }
  ShownAnswers shown(options.is_json);
  BurstSearch search(*machines, *query, options.limit, shown);
  const Status read = machines->for_each_burst(
      [&](const BurstOfMachines& burst) -> Result<bool> { return search.add(burst); });
  if (!read) {
    return read;
  }
  const Searched searched = search.finish();
  if (options.is_json) {
    std::string text = fmt::format("{{\"found\": {}, \"shown\": {}, \"bursts\": {}, \"notes\": [",
                                   searched.found, searched.shown, searched.bursts);
    for (size_t i = 0; i < searched.notes.size(); ++i) {
      text += i == 0 ? "" : ", ";
      append_json_string(searched.notes[i], text);
    }
    return write_output("-", fmt::format("{}], \"answers\": [{}]}}\n", text, shown.text()));
  }
  std::string text =
      fmt::format("{}{} found in {} bursts{}\n", shown.text(), searched.found, searched.bursts,
                  searched.found > searched.shown
                      ? fmt::format(", the first {} are shown: --limit shows more", searched.shown)
                      : std::string());
  for (const std::string& note : searched.notes) {
    text += fmt::format("note: {}\n", note);
  }
  return write_output("-", text);
}

}  // namespace plimsoll::cli
