#include "capture/profile/profile_builder.h"

#include <algorithm>
#include <ranges>

#include "capture/identity/proc_fs.h"
#include "proto/profile_codec.h"
#include "proto/squares.h"

namespace plimsoll {
namespace {

wire::Binary kernel_binary_message(const identity::KernelImage& image) {
  wire::Binary binary;
  binary.set_identity_kind(image.build_id.empty() ? wire::IDENTITY_UNKNOWN : wire::GNU_BUILD_ID);
  binary.set_identity(image.build_id);
  binary.set_path(identity::printable(image.name));
  return binary;
}

void add_row(const ProfileBuilder::LocationPair& pair, uint64_t hits, wire::BranchTable& table) {
  table.add_thread(pair.thread);
  table.add_from_location(pair.from_location);
  table.add_to_location(pair.to_location);
  table.add_hits(hits);
}

// What lies between branch records is not counted: a hit stands for itself.
void add_pair_event(std::string_view name, uint64_t hits, wire::RawProfile& profile) {
  wire::Event& event = *profile.add_events();
  event.set_name(std::string(name));
  event.set_unit(wire::COUNT);
  event.set_kind(wire::DELTA);
  event.set_hits(hits);
  event.set_counter_total(static_cast<double>(hits));
}

}  // namespace

ProfileBuilder::ProfileBuilder(Limits limits, identity::WorkloadNamer* namer)
    : limits_(limits), namer_(namer) {}

uint32_t ProfileBuilder::binary(const identity::BinaryInfo* info) {
  const auto next = static_cast<uint32_t>(profile_.binaries_size());
  const auto [entry, is_new] = binaries_.try_emplace(info, next);
  if (is_new) {
    *profile_.add_binaries() = identity::binary_message(*info);
  }
  return entry->second;
}

uint32_t ProfileBuilder::kernel_binary(const identity::KernelImage& image) {
  const auto next = static_cast<uint32_t>(profile_.binaries_size());
  const auto [entry, is_new] = binaries_.try_emplace(&image, next);
  if (is_new) {
    *profile_.add_binaries() = kernel_binary_message(image);
  }
  return entry->second;
}

uint32_t ProfileBuilder::process(const std::shared_ptr<identity::ProcessIdentity>& identity,
                                 const identity::CgroupPath& cgroup) {
  const auto next = static_cast<uint32_t>(processes_.size());
  const auto [entry, is_new] = process_index_.try_emplace({identity.get(), cgroup.get()}, next);
  if (is_new) {
    processes_.push_back({identity, cgroup});
    if (namer_ != nullptr) {
      namer_->read_variables(*identity);
    }
  }
  return entry->second;
}

uint32_t ProfileBuilder::thread(uint32_t process, uint32_t tid, std::string_view name) {
  const auto next = static_cast<uint32_t>(profile_.threads_size());
  const auto [entry, is_new] = threads_.try_emplace({process, tid, std::string(name)}, next);
  if (is_new) {
    wire::Thread& thread = *profile_.add_threads();
    thread.set_process(process);
    thread.set_tid(tid);
    thread.set_name(std::string(name));
  }
  return entry->second;
}

uint32_t ProfileBuilder::location(wire::LocationKind kind, uint32_t owner, uint64_t address) {
  wire::Locations& locations = *profile_.mutable_locations();
  const LocationKey key{kind, owner, address};
  if (locations_.size() >= limits_.max_locations && !locations_.contains(key)) {
    return kNoLocation;
  }
  const auto next = static_cast<uint32_t>(locations.kind_size());
  const auto [entry, is_new] = locations_.try_emplace(key, next);
  if (is_new) {
    locations.add_kind(kind);
    locations.add_owner(owner);
    locations.add_address(address);
  }
  return entry->second;
}

uint32_t ProfileBuilder::bpf_location(std::string_view name) {
  const auto known = bpf_locations_.find(name);
  if (known != bpf_locations_.end()) {
    return known->second;
  }
  if (locations_.size() >= limits_.max_locations) {
    return kNoLocation;
  }
  const auto frame = static_cast<uint64_t>(profile_.frames_size());
  profile_.add_frames()->set_function(identity::printable(name));
  return bpf_locations_[std::string(name)] = location(wire::BPF, 0, frame);
}

uint32_t ProfileBuilder::stack(std::span<const uint32_t> leaf_first) {
  const auto used = static_cast<size_t>(profile_.stacks().parent_size());
  if (used + leaf_first.size() > limits_.max_stack_nodes ||
      std::ranges::find(leaf_first, kNoLocation) != leaf_first.end()) {
    count_problem(wire::TABLE_FULL);
    return 0;
  }
  if (leaf_first.empty()) {
    return 0;
  }
  std::vector<PathStep>& path = recent_paths_[leaf_first.back() % recent_paths_.size()];
  const auto shared = static_cast<size_t>(
      std::ranges::mismatch(path, leaf_first | std::views::reverse, {}, &PathStep::location).in1 -
      path.begin());
  path.resize(shared);
  for (const uint32_t location : leaf_first | std::views::reverse | std::views::drop(shared)) {
    path.push_back({location, child(path.empty() ? 0 : path.back().node, location)});
  }
  return path.back().node;
}

uint32_t ProfileBuilder::child(uint32_t parent, uint32_t location) {
  wire::Stacks& stacks = *profile_.mutable_stacks();
  const auto next = static_cast<uint32_t>(stacks.parent_size()) + 1;
  const auto [entry, is_new] = stack_nodes_.try_emplace(uint64_t{parent} << 32U | location, next);
  if (is_new) {
    stacks.add_parent(parent);
    stacks.add_location(location);
  }
  return entry->second;
}

uint32_t ProfileBuilder::stack_with_room(uint32_t event, uint32_t thread, uint32_t stack) {
  if (stack != 0 && hits_.size() >= limits_.max_samples && !hits_.contains({event, thread, stack})) {
    count_problem(wire::TABLE_FULL);
    return 0;
  }
  return stack;
}

void ProfileBuilder::add_hit(uint32_t event, uint32_t thread, uint32_t stack, uint64_t hits) {
  total_hits_ += hits;
  hits_[{event, thread, stack_with_room(event, thread, stack)}] += hits;
}

void ProfileBuilder::add_weighted_sample(uint32_t event, uint32_t thread, uint32_t stack, uint64_t hits) {
  weights_.resize(std::max<size_t>(weights_.size(), event + 1));
  Weight& weight = weights_[event];
  weight.differs = weight.differs || (weight.newest != 0 && weight.newest != hits);
  weight.newest = hits;
  stack = stack_with_room(event, thread, stack);
  squares_[{event, thread, stack}] += static_cast<double>(hits) * static_cast<double>(hits);
  add_hit(event, thread, stack, hits);
}

void ProfileBuilder::add_weighted_samples(uint32_t event, uint32_t thread, uint32_t stack,
                                          WeightedSamples samples) {
  weights_.resize(std::max<size_t>(weights_.size(), event + 1));
  weights_[event].differs = true;
  stack = stack_with_room(event, thread, stack);
  squares_[{event, thread, stack}] += samples.squares;
  add_hit(event, thread, stack, samples.hits);
}

void ProfileBuilder::add_count(uint32_t event, uint32_t thread, uint64_t count) {
  hits_[{event, thread, 0}] += count;
  ++counts_[event];
}

// Counts it where there is none.
bool ProfileBuilder::has_room_for(const LocationPair& pair) {
  const bool has_places = pair.from_location != kNoLocation && pair.to_location != kNoLocation;
  const bool has_room = has_places && branches_.size() + ranges_.size() < limits_.max_branches;
  if (!has_room) {
    count_problem(wire::TABLE_FULL);
  }
  return has_room;
}

void ProfileBuilder::add_branch(const LocationPair& branch, bool is_mispredicted) {
  auto known = branches_.find(branch);
  if (known == branches_.end()) {
    if (!has_room_for(branch)) {
      return;
    }
    known = branches_.emplace(branch, BranchCounts{}).first;
  }
  ++known->second.hits;
  known->second.mispredicted += is_mispredicted ? 1 : 0;
}

void ProfileBuilder::add_branch_range(const LocationPair& range) {
  if (const auto known = ranges_.find(range); known != ranges_.end()) {
    ++known->second;
  } else if (has_room_for(range)) {
    ranges_.emplace(range, 1);
  }
}

identity::Workload ProfileBuilder::workload_of(const identity::ProcessIdentity& identity,
                                               const std::string& cgroup) const {
  if (identity.workload != nullptr) {
    return *identity.workload;
  }
  return namer_ != nullptr ? namer_->name(identity, cgroup) : identity::workload_of(identity, cgroup);
}

std::vector<std::shared_ptr<identity::ProcessIdentity>> ProfileBuilder::processes() const {
  std::vector<std::shared_ptr<identity::ProcessIdentity>> identities;
  identities.reserve(processes_.size());
  for (const ProcessInGroup& process : processes_) {
    identities.push_back(process.identity);
  }
  return identities;
}

void ProfileBuilder::write_processes(wire::RawProfile& profile) const {
  for (const auto& [identity, sampled_cgroup] : processes_) {
    const std::string& cgroup = sampled_cgroup == nullptr ? identity->cgroup : *sampled_cgroup;
    *profile.add_processes() = identity::process_message(*identity, cgroup, workload_of(*identity, cgroup));
  }
}

void ProfileBuilder::write_samples(wire::RawProfile& profile) const {
  // Sorted: the same samples give the same bytes, and columns compress better.
  std::vector<std::pair<SampleKey, uint64_t>> rows(hits_.begin(), hits_.end());
  std::ranges::sort(rows);
  wire::SampleTable* table = nullptr;
  for (const auto& [key, hits] : rows) {
    const auto [event, thread, stack] = key;
    if (table == nullptr || table->event(0) != event) {
      table = profile.add_samples();
      table->add_event(event);
    }
    table->add_thread(thread);
    table->add_stack(stack);
    table->add_hits(hits);
    wire::Event& description = *profile.mutable_events(static_cast<int>(event));
    description.set_hits(description.hits() + hits);
  }
}

void ProfileBuilder::write_squares(wire::RawProfile& profile) const {
  for (uint32_t event = 0; event < weights_.size(); ++event) {
    if (!weights_[event].differs) {
      continue;
    }
    std::vector<wire::SquaresOfRow> rows;
    for (const auto& [key, squares] : squares_) {
      if (const auto [of, thread, stack] = key; of == event) {
        rows.push_back({.thread = thread, .stack = stack, .label_set = 0, .squares = squares});
      }
    }
    std::ranges::sort(rows, {},
                      [](const wire::SquaresOfRow& row) { return std::pair(row.thread, row.stack); });
    wire::add_squares(event, rows, profile);
  }
}

void ProfileBuilder::write_branches(wire::RawProfile& profile) const {
  if (!branches_.empty()) {
    wire::BranchTable& table = *profile.add_branches();
    table.set_event(static_cast<uint32_t>(profile.events_size()));
    table.set_mispredicted_event_plus_1(table.event() + 2);
    uint64_t hits = 0;
    uint64_t mispredicted = 0;
    for (const auto& [branch, counts] : branches_) {
      add_row(branch, counts.hits, table);
      table.add_mispredicted(counts.mispredicted);
      hits += counts.hits;
      mispredicted += counts.mispredicted;
    }
    add_pair_event(wire::kBranchRecords, hits, profile);
    add_pair_event(wire::kBranchMispredictions, mispredicted, profile);
  }
  if (!ranges_.empty()) {
    wire::BranchTable& table = *profile.add_branches();
    table.set_event(static_cast<uint32_t>(profile.events_size()));
    uint64_t hits = 0;
    for (const auto& [range, of_range] : ranges_) {
      add_row(range, of_range, table);
      hits += of_range;
    }
    add_pair_event(wire::kBranchRanges, hits, profile);
  }
}

void ProfileBuilder::finish(wire::RawProfile& profile) {
  std::vector<uint32_t> executables;
  executables.reserve(processes_.size());
  for (const auto& [identity, cgroup] : processes_) {
    executables.push_back(identity->binary == nullptr ? 0 : binary(identity->binary) + 1);
  }
  profile.mutable_binaries()->Swap(profile_.mutable_binaries());
  profile.mutable_threads()->Swap(profile_.mutable_threads());
  profile.mutable_locations()->Swap(profile_.mutable_locations());
  profile.mutable_frames()->Swap(profile_.mutable_frames());
  profile.mutable_stacks()->Swap(profile_.mutable_stacks());
  write_processes(profile);
  for (size_t i = 0; i < executables.size(); ++i) {
    profile.mutable_processes(static_cast<int>(i))->set_binary_plus_1(executables[i]);
  }
  write_samples(profile);
  write_branches(profile);
  write_squares(profile);
  for (const auto& [event, counts] : counts_) {
    profile.mutable_events(static_cast<int>(event))->set_samples(counts);
  }
  for (const auto& [event, throttles] : throttles_) {
    profile.mutable_events(static_cast<int>(event))->set_throttles(throttles);
  }
  for (const auto& [problem, samples] : problems_) {
    wire::StackProblemCount& count = *profile.add_stack_problems();
    count.set_problem(problem);
    count.set_samples(samples);
  }
  *this = ProfileBuilder(limits_, namer_);
}

void add_kernel_symbols(const identity::KernelMap& kernel, wire::RawProfile& profile) {
  for (const identity::KernelImage& image : kernel.images()) {
    const wire::Binary binary = kernel_binary_message(image);
    const auto known = std::ranges::find_if(profile.binaries(), [&](const wire::Binary& other) {
      return other.path() == binary.path() && other.identity() == binary.identity();
    });
    const auto index = static_cast<uint32_t>(known - profile.binaries().begin());
    if (known == profile.binaries().end()) {
      *profile.add_binaries() = binary;
    }
    wire::KernelImage& message = *profile.mutable_kernel_symbols()->add_images();
    message.set_binary(index);
    uint64_t previous = 0;
    for (const auto& symbol : image.symbols) {
      message.add_offset_delta(symbol.offset - previous);
      message.mutable_names()->append(symbol.name).push_back('\0');
      previous = symbol.offset;
    }
  }
}

}  // namespace plimsoll
