#include "store/building/row_builder.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/hex.h"
#include "proto/application_profiles.h"
#include "proto/event_names.h"
#include "proto/profile_codec.h"
#include "proto/squares.h"
#include "store/building/label_adder.h"
#include "store/building/stack_adder.h"
#include "store/model/wire_entries.h"

namespace plimsoll::store {
namespace {

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// One profile on its way into the dictionaries: the dictionary ID of each of its parts, by index in the profile.
class Builder {
 public:
  Builder(const wire::RawProfile& profile, DictionaryBuilder& dictionaries)
      : profile_(profile), dictionaries_(dictionaries) {}

  Result<BuiltProfile> build(int64_t archive_sequence) {
    // The one thing that a profile may contradict comes first.
    if (const Status done = add_events(); !done) {
      return propagate(done);
    }
    add_binaries();
    add_processes();
    add_threads();
    labels_ = ProfileLabels::add(profile_, dictionaries_);
    add_locations();
    stacks_ = add_stacks(profile_.stacks(), locations_, dictionaries_);
    add_origin();
    add_record(archive_sequence);
    add_rows();
    for (const wire::BranchTable& table : profile_.branches()) {
      add_branch_rows(table);
    }
    built_.binaries = std::move(binaries_);
    return std::move(built_);
  }

 private:
  Status add_events() {
    for (const wire::Event& event : profile_.events()) {
      const auto id = dictionaries_.event({name_of(event), event.unit(), event.kind()});
      if (!id) {
        return propagate(id);
      }
      events_.push_back(*id);
    }
    return {};
  }

  // As events are called now. An origin has each event once: where the profile has one of that name besides, this one is the
  // program's own, and is not called as rows of before call the other.
  std::string name_of(const wire::Event& event) const {
    const std::string& name = event.name();
    const std::string_view squared = wire::squared_event(name);
    const std::string plain(squared.empty() ? std::string_view(name) : squared);
    const std::string current = wire::current_event_name(plain, event.unit());
    const auto has = [this](const std::string& wanted) {
      return std::ranges::any_of(profile_.events(),
                                 [&](const auto& other) { return other.name() == wanted; });
    };
    if (current == plain || !has(current)) {
      return wire::current_event_name(name, event.unit());
    }
    // Profiles are not to be trusted: one may have an event of that name, too.
    const std::string suffix(squared.empty() ? std::string_view() : wire::kSquaresSuffix);
    std::string own = wire::own_event_name(plain);
    while (has(own) || has(own + std::string(wire::kSquaresSuffix))) {
      own = wire::own_event_name(own);
    }
    return own + suffix;
  }

  void add_binaries() {
    for (const wire::Binary& binary : profile_.binaries()) {
      binaries_.push_back(dictionaries_.binary({binary.identity_kind(), binary.identity(), binary.path()}));
    }
  }

  // The default message, without identity, where it is unknown.
  const wire::Binary& executable_of(const wire::Process& process) const {
    return process.binary_plus_1() == 0 ? wire::Binary::default_instance()
                                        : profile_.binaries(static_cast<int>(process.binary_plus_1() - 1));
  }

  void add_processes() {
    for (const wire::Process& process : profile_.processes()) {
      WorkloadEntry workload;
      workload.job = process.job();
      workload.instance = process.instance();
      workload.app = process.executable().empty() ? process.comm() : base_name(process.executable());
      workload.image = process.image();
      const wire::Binary& executable = executable_of(process);
      workload.build_id = build_id_text(executable.identity_kind(), executable.identity());
      workload.compiler = executable.compiler();
      workload.revision = executable.revision();
      workload.builder = executable.builder();
      workloads_.push_back(dictionaries_.workload(workload));
    }
  }

  void add_threads() {
    for (const wire::Thread& thread : profile_.threads()) {
      threads_.push_back(dictionaries_.thread(thread.name()));
    }
  }

  // The frame at `index` and those it was inlined into.
  std::vector<wire::NamedFrame> frames_from(uint64_t index) const {
    std::vector<wire::NamedFrame> frames;
    bool goes_on = true;
    for (auto i = static_cast<int>(index); goes_on && i < profile_.frames_size(); ++i) {
      frames.push_back(profile_.frames(i));
      goes_on = profile_.frames(i).inlined_into_next();
    }
    return frames;
  }

  uint32_t add_named_location(wire::LocationKind kind, uint64_t first_frame) {
    // A million locations may name the same frames: each copy would cost their whole text.
    const auto [known, is_new] = named_locations_.try_emplace(std::pair(kind, first_frame), 0);
    if (!is_new) {
      return known->second;
    }
    std::vector<wire::NamedFrame> frames = frames_from(first_frame);
    std::string name;
    for (const wire::NamedFrame& frame : frames) {
      name +=
          fmt::format("{}{}\n{}\n{}", name.empty() ? "" : "\n", frame.function(), frame.file(), frame.line());
    }
    const uint32_t id = dictionaries_.location({kind, 0, 0, std::move(name)});
    built_.named.push_back({id, std::move(frames)});
    known->second = id;
    return id;
  }

  // Of a location that has no names.
  LocationEntry location_entry(int index) const {
    const wire::Locations& locations = profile_.locations();
    const wire::LocationKind kind = locations.kind(index);
    const uint32_t owner = locations.owner(index);
    const uint64_t address = locations.address(index);
    switch (kind) {
      case wire::JIT:
        return {kind, workloads_[owner], address, {}};
      case wire::UNFINISHED:
        return {kind, 0, address, {}};
      case wire::UNRESOLVED:
        return {kind, 0, 0, {}};
      default:
        return {kind, binaries_[owner], address, {}};
    }
  }

  static bool is_named(wire::LocationKind kind) { return kind == wire::NAMED || kind == wire::BPF; }

  void add_locations() {
    const wire::Locations& locations = profile_.locations();
    const int count = locations.kind_size();
    for (int i = 0; i < count; ++i) {
      if (const int ahead = i + kLookUpsAhead; ahead < count && !is_named(locations.kind(ahead))) {
        __builtin_prefetch(dictionaries_.place_of(location_entry(ahead)));
      }
      locations_.push_back(is_named(locations.kind(i))
                               ? add_named_location(locations.kind(i), locations.address(i))
                               : dictionaries_.location(location_entry(i)));
    }
  }

  void add_origin() {
    const wire::Draw& draw = profile_.assignment().draw();
    const wire::Window& window = profile_.window();
    // Lengths by the monotonic clock: the wall clock may have been set meanwhile.
    const int64_t length_ns = window.end().monotonic_ns() - window.start().monotonic_ns();
    OriginEntry origin;
    origin.machine = dictionaries_.machine(machine_entry(profile_.machine()));
    origin.from_ns = window.start().wall_ns();
    origin.to_ns = window.start().wall_ns() + length_ns;
    origin.draw = draw.id();
    origin.inclusion_probability = draw.inclusion_probability() == 0 ? 1 : draw.inclusion_probability();
    origin.interval_ns = draw.interval_ns();
    origin.series = series();
    origin.stratum = draw.stratum();
    built_.origin = dictionaries_.origin(origin);
  }

  // Snapshots must be told apart by what they are snapshots of, and endpoints of applications that a draw observed side by side.
  std::string series() const {
    const wire::Assignment& assignment = profile_.assignment();
    const bool has_snapshots = std::ranges::any_of(
        profile_.events(), [](const wire::Event& event) { return event.kind() == wire::SNAPSHOT; });
    const bool is_beside = !assignment.draw().id().empty() && wire::is_of_application(assignment);
    return has_snapshots || is_beside ? assignment.id() : std::string();
  }

  void add_record(int64_t archive_sequence) {
    built_.record.id = profile_.profile_id();
    built_.record.sequence = archive_sequence;
    for (int i = 0; i < profile_.events_size(); ++i) {
      const wire::Event& event = profile_.events(i);
      built_.record.events.push_back({.event = events_[static_cast<size_t>(i)],
                                      .scale = wire::scale_of(event),
                                      .hits = event.hits(),
                                      .lost = event.lost(),
                                      .throttles = event.throttles(),
                                      .counter_total = event.counter_total(),
                                      .time_enabled_ns = event.time_enabled_ns(),
                                      .time_running_ns = event.time_running_ns(),
                                      .note = event.note(),
                                      .samples = event.samples() == 0 ? event.hits() : event.samples()});
    }
  }

  // `event` and `thread` are the profile's, `labels` and `stack` are the dictionaries'.
  void add_row(uint32_t event, uint32_t thread, uint32_t labels, uint32_t stack, uint64_t hits) {
    if (hits == 0) {
      return;
    }
    Row& row = built_.rows.emplace_back();
    row[Column::kEvent] = events_[event];
    row[Column::kOrigin] = built_.origin;
    row[Column::kWorkload] = workloads_[process_of(thread)];
    row[Column::kThread] = threads_[thread];
    row[Column::kLabels] = labels;
    row[Column::kStack] = stack;
    row.hits = hits;
  }

  void add_rows() {
    for (const wire::SampleTable& table : profile_.samples()) {
      const int events = table.event_size();
      for (int row = 0; row < table.stack_size(); ++row) {
        const uint32_t labels =
            labels_.of(process_of(table.thread(row)), table.label_set_size() == 0 ? 0 : table.label_set(row));
        for (int event = 0; event < events; ++event) {
          add_row(table.event(event), table.thread(row), labels, stacks_[table.stack(row)],
                  table.hits(row * events + event));
        }
      }
    }
  }

  uint32_t process_of(uint32_t thread) const { return profile_.threads(static_cast<int>(thread)).process(); }

  // The stack of a branch: where it led to, below where it came from.
  uint32_t branch_stack(uint32_t from_location, uint32_t to_location) {
    const uint32_t from = dictionaries_.stack({0, locations_[from_location]});
    return dictionaries_.stack({from, locations_[to_location]});
  }

  void add_branch_rows(const wire::BranchTable& table) {
    for (int row = 0; row < table.hits_size(); ++row) {
      const uint32_t stack = branch_stack(table.from_location(row), table.to_location(row));
      const uint32_t labels = labels_.of(process_of(table.thread(row)), 0);
      add_row(table.event(), table.thread(row), labels, stack, table.hits(row));
      if (table.mispredicted_event_plus_1() != 0) {
        add_row(table.mispredicted_event_plus_1() - 1, table.thread(row), labels, stack,
                table.mispredicted(row));
      }
    }
  }

  const wire::RawProfile& profile_;
  DictionaryBuilder& dictionaries_;
  std::vector<uint32_t> binaries_, workloads_, threads_, locations_, stacks_, events_;
  std::map<std::pair<wire::LocationKind, uint64_t>, uint32_t> named_locations_;  // by their first frame
  ProfileLabels labels_;
  BuiltProfile built_;
};

}  // namespace

Result<BuiltProfile> build_rows(const wire::RawProfile& profile, int64_t archive_sequence,
                                DictionaryBuilder& dictionaries) {
  return Builder(profile, dictionaries).build(archive_sequence);
}

}  // namespace plimsoll::store
