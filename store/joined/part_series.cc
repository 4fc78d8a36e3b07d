#include "store/joined/part_series.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/run_both.h"
#include "base/stop_scope.h"

namespace plimsoll::store {
namespace {

uint64_t next_lineage() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

PartSeries::PartSeries(const Readers& parts, JoinParts join, uint64_t max_bytes)
    : join_(join), max_bytes_(max_bytes) {
  last_.lineage = next_lineage();
  extend_to(parts);
}

bool PartSeries::begins(const Readers& parts) const {
  return members_.size() <= parts.size() &&
         std::ranges::equal(members_, std::span(parts).first(members_.size()), {}, &Member::reader);
}

void PartSeries::extend_to(const Readers& parts) {
  // One part stands for itself: its IDs are not those of a union.
  if (members_.size() == 1 && parts.size() > 1) {
    forget();
  }
  for (size_t i = members_.size(); i < parts.size(); ++i) {
    members_.push_back({.reader = parts[i]});
  }
}

void PartSeries::forget() {
  for (Member& member : members_) {
    member = {.reader = std::move(member.reader)};
  }
  union_ = {};
  is_renamed_ = false;
  last_ = {.lineage = next_lineage()};
}

Result<bool> PartSeries::has_changed() {
  for (const Member& member : members_) {
    const auto version = member.reader->version();
    if (!version) {
      return propagate(version);
    }
    if (member.version != *version) {
      return true;
    }
  }
  return false;
}

Result<Contents> PartSeries::newest(const PartFacts& facts) {
  if (too_large_) {
    return std::unexpected(*too_large_);
  }
  const auto has_changed = this->has_changed();
  if (!has_changed) {
    return propagate(has_changed);
  }
  const bool has_same_facts = last_.history_from_ns == facts.history_from_ns &&
                              last_.history_to_ns == facts.history_to_ns &&
                              last_.damaged_blocks.size() == facts.damaged_blocks.size();
  if (has_contents() && !*has_changed && has_same_facts) {
    return last_;
  }
  // Where anything fails, an allocation among them, some of it may be newer than the rest.
  try {
    if (const Status read = this->read(); !read) {
      forget();
      return propagate(read);
    }
    take_rows();
    ++last_.version;
    last_.damaged_blocks = facts.damaged_blocks;
    last_.history_from_ns = facts.history_from_ns;
    last_.history_to_ns = facts.history_to_ns;
    last_.rolled_up_from_ns = facts.rolled_up_from_ns;
    last_.rolled_up_to_ns = facts.rolled_up_to_ns;
    return last_;
  } catch (...) {
    forget();
    throw;
  }
}

// What has been read once goes on growing, whichever question asks: one that is given up costs the others nothing of it.
Status PartSeries::check_loading() const {
  return has_contents() ? Status() : check_stop();
}

Status PartSeries::read() {
  if (has_union()) {
    return read_union();
  }
  const auto contents = read(members_[0]);
  if (!contents) {
    return propagate(contents);
  }
  if (contents->entries != nullptr && has_renamed_rows(contents->entries->dictionaries)) {
    // Rare: new rows have current names. The part is read twice this time.
    forget();
    is_renamed_ = true;
    return read_union();
  }
  if (contents->entries != nullptr) {
    const bool is_other_reading = members_[0].reading != 0 && members_[0].reading != contents->reading;
    if (is_other_reading) {
      // The numbers of names may be others.
      last_.lineage = next_lineage();
    }
    members_[0].reading = contents->reading;
    last_.dictionaries = contents->entries->dictionaries;
    last_.bindings = contents->entries->bindings;
  }
  return {};
}

// Without entries where nothing has changed.
Result<PartContents> PartSeries::read(Member& member) const {
  if (const Status goes_on = check_loading(); !goes_on) {
    return propagate(goes_on);
  }
  const auto version = member.reader->version();
  if (!version) {
    return propagate(version);
  }
  if (member.version == *version) {
    return PartContents();
  }
  auto contents = member.reader->read(member.mark);
  if (!contents) {
    return propagate(contents, "reading {}", member.reader->name());
  }
  member.version = contents->version;
  member.mark = contents->mark;
  member.rows = contents->rows;
  return contents;
}

// While the entries of one part are added, the names of the one before it are, and the one after it is read. Each is freed then: of a long
// history as much is in memory as the union has.
Status PartSeries::read_union() {
  Result<PartContents> next = read(members_[0]);
  PartContents named;
  for (size_t i = 0; i < members_.size(); ++i) {
    const Result<PartContents> contents = std::exchange(next, PartContents());
    if (!contents) {
      return propagate(contents);
    }
    const auto go_on = [&] {
      if (named.entries != nullptr) {
        add_names(i - 1, named);
      }
      if (i + 1 < members_.size()) {
        next = read(members_[i + 1]);
      }
    };
    Status added;
    if (contents->entries == nullptr) {
      go_on();
    } else {
      run_both([&] { added = add_entries(members_[i], *contents); }, go_on);
    }
    if (!added) {
      return added;
    }
    if (auto fits = check_memory(i + 1); !fits) {
      return fits;
    }
    named = *contents;
  }
  if (named.entries != nullptr) {
    add_names(members_.size() - 1, named);
  }
  union_.bindings.publish();
  last_.dictionaries = union_.dictionaries.entries();
  last_.bindings = union_.bindings.bindings();
  return {};
}

Status PartSeries::add_entries(Member& member, const PartContents& contents) {
  const Status added = union_.dictionaries.add(contents.entries->dictionaries, member.in_dictionaries);
  return added ? added : propagate(added, "reading {}", member.reader->name());
}

uint64_t PartSeries::memory_bytes() const {
  uint64_t bytes = union_.dictionaries.stack_bytes();
  for (const Member& member : members_) {
    bytes += member.in_dictionaries.translation[Column::kStack].size() * sizeof(uint32_t);
  }
  return bytes;
}

Status PartSeries::check_memory(size_t parts_read) {
  if (memory_bytes() <= max_bytes_) {
    return {};
  }
  too_large_ =
      with_hint(fail(ErrorCode::kTooLarge,
                     "the stacks of {} of the {} blocks take {} bytes of memory, over the limit of {}",
                     parts_read, members_.size(), memory_bytes(), max_bytes_),
                "ask about a shorter time (since, until), or give the process more memory")
          .error();
  return std::unexpected(*too_large_);
}

// Its entries have been added.
void PartSeries::add_names(size_t part, const PartContents& contents) {
  Member& member = members_[part];
  if (member.reading != contents.reading) {
    // Its functions and files may have other numbers.
    member.reading = contents.reading;
    member.in_bindings = {};
  }
  const Translation& ids = member.in_dictionaries.translation;
  const BindingUnion::Addition addition{static_cast<uint32_t>(part), contents.entries->bindings,
                                        member.in_bindings, ids.locations.span(), ids.binaries.span()};
  union_.bindings.add(addition);
}

void PartSeries::take_rows() {
  if (!has_union()) {
    last_.rows = members_[0].rows;
    return;
  }
  std::vector<PartRows> parts;
  for (const Member& member : members_) {
    parts.push_back({member.rows, member.in_dictionaries.translation});
  }
  last_.rows = join_(std::move(parts), last_ids_of(sizes_of(last_.dictionaries)));
}

}  // namespace plimsoll::store
