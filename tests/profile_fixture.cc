#include "tests/profile_fixture.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "proto/profile_codec.h"

namespace plimsoll::testing {
namespace {

[[noreturn]] void give_up(std::string_view line, std::string_view why) {
  fmt::print(stderr, "tests/profile_fixture: \"{}\": {}\n", line, why);
  std::abort();
}

uint64_t number(std::string_view text, std::string_view line) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    give_up(line, "it must end in a number");
  }
  return value;
}

void for_each_line(std::string_view text, const std::function<void(std::string_view)>& take) {
  for (const auto part : std::views::split(text, '\n')) {
    if (!part.empty()) {
      take(std::string_view(part.begin(), part.end()));
    }
  }
}

// The word after the last space, which is taken off; `line` is what it is a part of.
std::string_view last_word(std::string_view& rest, std::string_view line) {
  const size_t space = rest.rfind(' ');
  if (space == std::string_view::npos || space == 0) {
    give_up(line,
            "it must be [process=NAME] [thread=NAME] [labels=...] [event=NAME] STACK HITS, in this order");
  }
  const std::string_view word = rest.substr(space + 1);
  rest = rest.substr(0, space);
  return word;
}

// "KEY:VALUE,KEY:VALUE"
std::map<std::string, std::string> labels_of(std::string_view text) {
  std::map<std::string, std::string> labels;
  for (const auto part : std::views::split(text, ',')) {
    const std::string_view label(part.begin(), part.end());
    if (!label.empty()) {
      const size_t colon = label.find(':');
      labels.emplace(label.substr(0, colon), label.substr(colon + 1));
    }
  }
  return labels;
}

class ProfileMaker {
 public:
  explicit ProfileMaker(const ProfileSpec& spec) : spec_(spec) {}

  wire::RawProfile make() {
    add_header();
    for (const EventSpec& event : spec_.events) {
      add_event(event);
    }
    for_each_line(spec_.stacks, [this](std::string_view line) { add_line(line); });
    for_each_line(spec_.branches, [this](std::string_view line) { add_branch(line); });
    for_each_line(spec_.ranges, [this](std::string_view line) { add_range(line); });
    if (label_sets_.empty()) {
      for (wire::SampleTable& table : *profile_.mutable_samples()) {
        table.clear_label_set();
      }
    }
    for (int i = 0; i < profile_.events_size(); ++i) {
      wire::Event& event = *profile_.mutable_events(i);
      event.set_counter_total(scales_[static_cast<size_t>(i)] * static_cast<double>(event.hits()));
    }
    if (const auto valid = wire::validate(profile_); !valid) {
      give_up(spec_.stacks, valid.error().text());
    }
    return std::move(profile_);
  }

 private:
  void add_header() {
    profile_.set_format_version(wire::kFormatVersion);
    profile_.set_profile_id(profile_id(spec_.seed));
    profile_.mutable_machine()->set_id(spec_.machine);
    profile_.mutable_machine()->set_hostname(spec_.machine);
    profile_.mutable_machine()->set_cores(4);
    wire::Window& window = *profile_.mutable_window();
    window.mutable_start()->set_monotonic_ns(1);
    window.mutable_start()->set_wall_ns(spec_.from_ns);
    window.mutable_end()->set_monotonic_ns(1 + spec_.length_ns);
    window.mutable_end()->set_wall_ns(spec_.from_ns + spec_.length_ns);
  }

  uint32_t add_event(const EventSpec& spec) {
    const auto [entry, is_new] = events_.try_emplace(spec.name, profile_.events_size());
    if (is_new) {
      wire::Event& event = *profile_.add_events();
      event.set_name(spec.name);
      event.set_unit(spec.unit);
      event.set_kind(spec.kind);
      event.set_time_enabled_ns(spec_.length_ns);
      event.set_time_running_ns(spec_.length_ns);
      scales_.push_back(spec.scale);
      if (!wire::is_of_branches(spec.name)) {
        sample_tables_[entry->second] = profile_.samples_size();
        profile_.add_samples()->add_event(entry->second);
      }
    }
    return entry->second;
  }

  uint32_t add_process(const std::string& name) {
    const auto [entry, is_new] = processes_.try_emplace(name, profile_.processes_size());
    if (is_new) {
      wire::Process& process = *profile_.add_processes();
      process.set_pid(1000 + entry->second);
      process.set_comm(name);
      process.set_executable("/usr/bin/" + name);
      process.set_job(spec_.job);
      const auto labels = labels_of(spec_.labels);
      process.mutable_labels()->insert(labels.begin(), labels.end());
    }
    return entry->second;
  }

  uint32_t add_thread(const std::string& process, const std::string& name) {
    const auto [entry, is_new] = threads_.try_emplace({process, name}, profile_.threads_size());
    if (is_new) {
      const uint32_t process_index = add_process(process);
      wire::Thread& thread = *profile_.add_threads();
      thread.set_process(process_index);
      thread.set_tid(5000 + entry->second);
      thread.set_name(name);
    }
    return entry->second;
  }

  // "name@file:line"
  void add_frame(std::string_view text, bool inlined_into_next) {
    wire::NamedFrame& frame = *profile_.add_frames();
    frame.set_inlined_into_next(inlined_into_next);
    const size_t at = text.find('@');
    const size_t colon = text.rfind(':');
    frame.set_function(std::string(text.substr(0, at)));
    if (at != std::string_view::npos) {
      frame.set_file(std::string(text.substr(at + 1, colon - at - 1)));
      frame.set_line(static_cast<uint32_t>(number(text.substr(colon + 1), text)));
    }
  }

  // "outer>inner"
  uint32_t add_location(const std::string& text) {
    const auto [entry, is_new] = locations_.try_emplace(text, profile_.locations().kind_size());
    if (is_new) {
      wire::Locations& locations = *profile_.mutable_locations();
      locations.add_kind(wire::NAMED);
      locations.add_owner(0);
      locations.add_address(static_cast<uint64_t>(profile_.frames_size()));
      std::string_view rest = text;
      for (size_t arrow = rest.rfind('>'); arrow != std::string_view::npos; arrow = rest.rfind('>')) {
        add_frame(rest.substr(arrow + 1), true);
        rest = rest.substr(0, arrow);
      }
      add_frame(rest, false);
    }
    return entry->second;
  }

  uint32_t add_stack(std::string_view stack) {
    uint32_t node = 0;
    if (stack == "\"\"") {
      return node;
    }
    for (const auto part : std::views::split(stack, ';')) {
      const uint32_t location = add_location(std::string(part.begin(), part.end()));
      const auto next = static_cast<uint32_t>(profile_.stacks().parent_size() + 1);
      const auto [entry, is_new] = stacks_.try_emplace({node, location}, next);
      if (is_new) {
        profile_.mutable_stacks()->add_parent(node);
        profile_.mutable_stacks()->add_location(location);
      }
      node = entry->second;
    }
    return node;
  }

  // Takes "key=VALUE " off the front, or gives what stands for it.
  static std::string take_setting(std::string_view key, std::string_view& rest,
                                  const std::string& otherwise) {
    if (!rest.starts_with(key)) {
      return otherwise;
    }
    const size_t end = rest.find(' ');
    const std::string value(rest.substr(key.size(), end - key.size()));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return value;
  }

  uint32_t take_thread(std::string_view& rest) {
    const std::string process = take_setting("process=", rest, spec_.process);
    const std::string thread = take_setting("thread=", rest, process);
    return add_thread(process, thread);
  }

  // Index plus 1; 0: none.
  uint32_t add_label_set(const std::string& text) {
    const auto labels = labels_of(text);
    if (labels.empty()) {
      return 0;
    }
    const auto next = static_cast<uint32_t>(profile_.label_sets_size() + 1);
    const auto [entry, is_new] = label_sets_.try_emplace(labels, next);
    if (is_new) {
      profile_.add_label_sets()->mutable_labels()->insert(labels.begin(), labels.end());
    }
    return entry->second;
  }

  void add_hits(uint32_t event, uint64_t hits) {
    wire::Event& total = *profile_.mutable_events(static_cast<int>(event));
    total.set_hits(total.hits() + hits);
  }

  void add_line(std::string_view line) {
    std::string_view rest = line;
    const uint32_t thread = take_thread(rest);
    const uint32_t label_set = add_label_set(take_setting("labels=", rest, {}));
    const uint32_t event = add_event({.name = take_setting("event=", rest, spec_.events.front().name)});
    const uint64_t hits = number(last_word(rest, line), line);
    wire::SampleTable& samples = *profile_.mutable_samples(sample_tables_.at(event));
    samples.add_label_set(label_set);
    samples.add_thread(thread);
    samples.add_stack(add_stack(rest));
    samples.add_hits(hits);
    add_hits(event, hits);
  }

  wire::BranchTable& table_of(std::string_view event) {
    for (wire::BranchTable& table : *profile_.mutable_branches()) {
      if (profile_.events(static_cast<int>(table.event())).name() == event) {
        return table;
      }
    }
    wire::BranchTable& table = *profile_.add_branches();
    table.set_event(add_event({.name = std::string(event)}));
    if (event == wire::kBranchRecords) {
      table.set_mispredicted_event_plus_1(add_event({.name = std::string(wire::kBranchMispredictions)}) + 1);
    }
    return table;
  }

  void add_branch(std::string_view line) {
    wire::BranchTable& table = table_of(wire::kBranchRecords);
    std::string_view rest = line;
    table.add_thread(take_thread(rest));
    table.add_mispredicted(number(last_word(rest, line), line));
    add_pair(line, rest, table);
    add_hits(table.mispredicted_event_plus_1() - 1, table.mispredicted(table.hits_size() - 1));
  }

  void add_range(std::string_view line) {
    wire::BranchTable& table = table_of(wire::kBranchRanges);
    std::string_view rest = line;
    table.add_thread(take_thread(rest));
    add_pair(line, rest, table);
  }

  // "FROM;TO HITS", the rest of a line.
  void add_pair(std::string_view line, std::string_view rest, wire::BranchTable& table) {
    table.add_hits(number(last_word(rest, line), line));
    const size_t semicolon = rest.find(';');
    if (semicolon == std::string_view::npos) {
      give_up(line, "a pair is FROM;TO");
    }
    table.add_from_location(add_location(std::string(rest.substr(0, semicolon))));
    table.add_to_location(add_location(std::string(rest.substr(semicolon + 1))));
    add_hits(table.event(), table.hits(table.hits_size() - 1));
  }

  const ProfileSpec& spec_;
  wire::RawProfile profile_;
  std::vector<double> scales_;
  std::map<uint32_t, int> sample_tables_;  // by event
  std::map<std::string, uint32_t> events_, processes_, locations_;
  std::map<std::pair<std::string, std::string>, uint32_t> threads_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stacks_;
  std::map<std::map<std::string, std::string>, uint32_t> label_sets_;  // index plus 1
};

}  // namespace

std::string profile_id(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string id;
  while (id.size() < 16) {
    id.push_back(static_cast<char>(random() & 0xFF));
  }
  return id;
}

wire::RawProfile make_profile(const ProfileSpec& spec) {
  return ProfileMaker(spec).make();
}

void add_sample(wire::RawProfile& profile, const wire::Binary& binary, wire::LocationKind kind,
                uint64_t address, uint64_t hits) {
  uint32_t owner = 0;
  const auto is_known = [&] {
    return profile.binaries(static_cast<int>(owner)).SerializeAsString() == binary.SerializeAsString();
  };
  while (owner < static_cast<uint32_t>(profile.binaries_size()) && !is_known()) {
    ++owner;
  }
  if (owner == static_cast<uint32_t>(profile.binaries_size())) {
    *profile.add_binaries() = binary;
  }
  wire::Locations& locations = *profile.mutable_locations();
  wire::Stacks& stacks = *profile.mutable_stacks();
  stacks.add_parent(0);
  stacks.add_location(static_cast<uint32_t>(locations.kind_size()));
  locations.add_kind(kind);
  locations.add_owner(owner);
  locations.add_address(address);
  wire::SampleTable& samples = *profile.mutable_samples(0);
  samples.add_thread(0);
  samples.add_stack(static_cast<uint32_t>(stacks.parent_size()));
  if (samples.label_set_size() > 0) {
    samples.add_label_set(0);
  }
  samples.add_hits(hits);
  wire::Event& event = *profile.mutable_events(0);
  const double scale = event.hits() == 0 ? 1 : event.counter_total() / static_cast<double>(event.hits());
  event.set_hits(event.hits() + hits);
  event.set_counter_total(scale * static_cast<double>(event.hits()));
}

}  // namespace plimsoll::testing
