#include "store/merging/merged_block.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "store/catalogue/catalogue.h"
#include "store/copy/part_catalogue.h"
#include "store/copy/part_facts.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/identity/directory_identity.h"
#include "store/merging/merged_names.h"
#include "store/rollup/made_block.h"
#include "store/segments/row_order.h"
#include "store/segments/segment_cursor.h"

namespace plimsoll::store {
namespace {

RowOrder order_of_union(const Dictionaries& entries) {
  RowOrder order;
  for (size_t id = 1; id < entries.workloads.size(); ++id) {
    order.add_workload(entries.workloads[id].job);
  }
  return order;
}

bool is_known(const Row& row, const Translation& ids) {
  return std::ranges::all_of(kColumns, [&](Column column) { return row[column] < ids[column].size(); });
}

// As of two entries of one binary (store/model/pending_binary.h): the worse symbols are what some of its locations are bound to, and a search
// that was for those says when to search again.
void add_account(BinaryAccount& into, BinaryAccount other) {
  const int64_t generation = std::max(into.generation, other.generation);
  if (into.generation == 0 || (other.generation != 0 && other.quality < into.quality)) {
    into = std::move(other);
  }
  into.generation = generation;
}

// What members have of each binary, by its ID in the union.
struct BinaryFacts {
  std::map<uint32_t, std::string> kernel_symbols;
  std::map<uint32_t, std::string> machines;
  std::map<uint32_t, BinaryAccount> accounts;

  Status add(CopiedPart facts, std::span<const uint32_t> ids) {
    const auto is_there = [&](const auto& fact) { return fact.binary < ids.size(); };
    if (!std::ranges::all_of(facts.kernel_symbols, is_there) ||
        !std::ranges::all_of(facts.binary_machines, is_there) ||
        !std::ranges::all_of(facts.accounts, is_there)) {
      return fail(ErrorCode::kCorrupt, "the catalogue has facts of binaries that are not there");
    }
    for (auto& [binary, content] : facts.kernel_symbols) {
      kernel_symbols.try_emplace(ids[binary], std::move(content));
    }
    for (auto& [binary, machine_id] : facts.binary_machines) {
      machines.try_emplace(ids[binary], std::move(machine_id));
    }
    for (DescribedBinary& binary : facts.accounts) {
      add_account(accounts[ids[binary.binary]], std::move(binary.account));
    }
    return {};
  }
};

}  // namespace

Status MergedBlock::read(const std::stop_token& stop) {
  failed_ = std::nullopt;
  part_.number = folders_.back().number;
  part_.is_rolled_up = true;
  for (const BlockFolder& folder : folders_) {
    if (stop.stop_requested()) {
      return fail(ErrorCode::kUnavailable, "stopped");
    }
    const Status read = read_member(folder);
    if (!read) {
      // What an event means is no matter of one member alone.
      failed_ = read.error().code == ErrorCode::kConflict ? std::nullopt : std::optional(members_.size());
      return propagate(read, "reading block {}", folder.number);
    }
    const Dictionaries& entries = union_.entries();
    if (entries.stacks.size() + entries.locations.size() > max_entries_) {
      return fail(ErrorCode::kTooLarge, "they have more than {} stacks and locations together", max_entries_);
    }
  }
  part_.entries = union_.entries();
  return {};
}

// Adds it to the members if all of it can be read.
Status MergedBlock::read_member(const BlockFolder& folder) {
  auto catalogue = Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kRead);
  const auto transaction =
      catalogue ? sqlite::Transaction::begin_read(catalogue->database()) : propagate(catalogue);
  if (!transaction) {
    return propagate(transaction);
  }
  Member member;
  // First the files: what is open stays readable whatever is merged meanwhile.
  const Status opened = open_segments(folder, catalogue->database(), member);
  const auto entries = opened ? load_dictionaries(catalogue->database()) : propagate(opened);
  if (!entries) {
    return propagate(entries);
  }
  CopiedPart facts;
  const Status read = read_profile_facts(catalogue->database(), facts);
  if (!read) {
    return read;
  }
  member.first_origin = union_.entries().origins.size();
  member.end_origin = member.first_origin + entries->origins.size() - 1;
  Status added = union_.add(*entries, member.ids);
  added = added ? add_facts(std::move(facts), member) : added;
  if (!added) {
    return added;
  }
  stacks_before_ += entries->stacks.size() - 1;
  members_.push_back(std::move(member));
  return {};
}

Status MergedBlock::open_segments(const BlockFolder& folder, sqlite::Database& catalogue, Member& member) {
  const auto visible = visible_segments(catalogue);
  if (!visible) {
    return propagate(visible);
  }
  for (const SegmentEntry& entry : *visible) {
    auto segment = Segment::open(folder.segments_path() + "/" + entry.file);
    if (!segment) {
      return propagate(segment);
    }
    rows_before_ += segment->rows();
    member.segments.push_back(std::make_shared<const Segment>(std::move(*segment)));
  }
  return {};
}

// Those of profiles, whose events get their IDs in the union.
Status MergedBlock::add_facts(CopiedPart facts, const Member& member) {
  if (facts.takes_more || !facts.is_rolled_up) {
    return fail(ErrorCode::kInvalid, "the block is not rolled up");
  }
  if (facts.profiles.size() != member.end_origin - member.first_origin) {
    return fail(ErrorCode::kCorrupt, "the catalogue has other profiles than it has origins");
  }
  const Translation::Ids& events = member.ids.translation[Column::kEvent];
  for (ProfileRecord& profile : facts.profiles) {
    for (EventRecord& event : profile.events) {
      if (event.event >= events.size()) {
        return fail(ErrorCode::kCorrupt, "a profile has an event {}, which is not there", event.event);
      }
      event.event = events[event.event];
    }
    std::ranges::sort(profile.events, {}, &EventRecord::event);
    if (std::ranges::adjacent_find(profile.events, {}, &EventRecord::event) != profile.events.end()) {
      return fail(ErrorCode::kConflict, "a profile has two events of one name");
    }
    part_.profiles.push_back(std::move(profile));
  }
  if (members_.empty()) {
    part_.after = facts.after;
  }
  part_.first_written_ns = part_.first_written_ns == 0 ? facts.first_written_ns : part_.first_written_ns;
  part_.last = std::max(part_.last, facts.last);
  part_.rolled_up_profiles += facts.rolled_up_profiles;
  part_.set_aside.insert(part_.set_aside.end(), std::make_move_iterator(facts.set_aside.begin()),
                         std::make_move_iterator(facts.set_aside.end()));
  return {};
}

Result<std::vector<SegmentEntry>> MergedBlock::write_rows(const BlockFolder& made,
                                                          const std::stop_token& stop) {
  failed_ = std::nullopt;
  if (const Status begun = begin_block(made); !begun) {
    return propagate(begun);
  }
  const AppendOnlyList<OriginEntry>& origins = part_.entries.origins;
  RowSorter sorter(
      order_of_union(part_.entries), [&origins](uint32_t id) -> const OriginEntry& { return origins[id]; },
      made.segments_path());
  OriginHits hits;
  for (const ProfileRecord& profile : part_.profiles) {
    hits.add_origin(profile.events);
  }
  for (size_t place = 0; place < members_.size(); ++place) {
    if (const Status added = add_rows(members_[place], sorter, hits, stop); !added) {
      failed_ = place;
      return propagate(added, "merging the rows of block {}", folders_[place].number);
    }
    members_[place].segments.clear();
  }
  return sorter.finish(stop);
}

Status MergedBlock::add_rows(const Member& member, RowSorter& sorter, OriginHits& hits,
                             const std::stop_token& stop) {
  const Translation& ids = member.ids.translation;
  SegmentCursor cursor(member.segments, {});
  while (true) {
    const auto batch = cursor.next();
    if (!batch) {
      return propagate(batch);
    }
    if (batch->empty()) {
      return hits.expect_all(member.first_origin, member.end_origin);
    }
    if (stop.stop_requested()) {
      return fail(ErrorCode::kUnavailable, "stopped");
    }
    for (const Row& row : *batch) {
      if (!is_known(row, ids)) {
        return fail(ErrorCode::kCorrupt, "the segments have IDs that the catalogue does not have");
      }
      const Row translated = translate(row, ids);
      Status added = hits.add(translated);
      added = added ? sorter.add(translated) : added;
      if (!added) {
        return added;
      }
    }
  }
}

Status MergedBlock::write_catalogue(const BlockFolder& made, std::span<const SegmentEntry> segments,
                                    int64_t now_ns) {
  failed_ = std::nullopt;
  part_.rolled_up_ns = now_ns;
  const Status read = read_binaries();
  const auto id = read ? directory_id() : propagate(read);
  if (!id) {
    return propagate(id);
  }
  std::vector<NamedMember> named;
  for (size_t place = 0; place < members_.size(); ++place) {
    named.push_back({folders_[place].catalogue_path(), members_[place].ids.translation.locations});
  }
  std::optional<size_t> failed;
  const ReadNames read_names = [&](const UseNames& use) {
    size_t member = members_.size();
    Status names = read_merged_names(named, part_.entries.locations.size(), use, member);
    failed = member < members_.size() ? std::optional(member) : std::nullopt;
    return names;
  };
  const Status written = write_part_catalogue(made, part_, segments, read_names, *id);
  failed_ = failed;
  return written;
}

Status MergedBlock::read_binaries() {
  BinaryFacts all;
  for (size_t place = 0; place < members_.size(); ++place) {
    failed_ = place;
    auto catalogue = Catalogue::open(folders_[place].catalogue_path(), sqlite::OpenMode::kRead);
    const auto transaction =
        catalogue ? sqlite::Transaction::begin_read(catalogue->database()) : propagate(catalogue);
    if (!transaction) {
      return propagate(transaction);
    }
    CopiedPart facts;
    Status read = read_binary_facts(catalogue->database(), facts);
    read = read ? all.add(std::move(facts), members_[place].ids.translation.binaries.span()) : read;
    if (!read) {
      return propagate(read, "reading block {}", folders_[place].number);
    }
  }
  failed_ = std::nullopt;
  part_.kernel_symbols.clear();
  for (auto& [binary, content] : all.kernel_symbols) {
    part_.kernel_symbols.push_back({binary, std::move(content)});
  }
  part_.binary_machines.clear();
  for (auto& [binary, machine_id] : all.machines) {
    part_.binary_machines.push_back({binary, std::move(machine_id)});
  }
  part_.accounts.clear();
  for (auto& [binary, account] : all.accounts) {
    part_.accounts.push_back({.binary = binary, .account = std::move(account)});
  }
  return {};
}

// All have the same, but for those of an older program, which have none.
Result<std::string> MergedBlock::directory_id() {
  std::string id;
  for (const BlockFolder& folder : folders_) {
    auto catalogue = Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kRead);
    auto found = catalogue ? directory_id_of(catalogue->database()) : propagate(catalogue);
    if (!found) {
      return propagate(found);
    }
    id = id.empty() ? std::move(*found) : id;
  }
  return id;
}

}  // namespace plimsoll::store
