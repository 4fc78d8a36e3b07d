#include "store/contents/block_series.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/stop_scope.h"
#include "store/contents/joined_rows.h"

namespace plimsoll::store {
namespace {

uint64_t next_lineage() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

BlockSeries::BlockSeries(const Readers& blocks) {
  last_.lineage = next_lineage();
  extend_to(blocks);
}

bool BlockSeries::begins(const Readers& blocks) const {
  return members_.size() <= blocks.size() &&
         std::ranges::equal(members_, std::span(blocks).first(members_.size()), {}, &Member::reader);
}

void BlockSeries::extend_to(const Readers& blocks) {
  // One block stands for itself: its IDs are not those of a union.
  if (members_.size() == 1 && blocks.size() > 1) {
    forget();
  }
  for (size_t i = members_.size(); i < blocks.size(); ++i) {
    members_.push_back({.reader = blocks[i]});
  }
}

void BlockSeries::forget() {
  for (Member& member : members_) {
    member = {.reader = std::move(member.reader)};
  }
  union_ = {};
  last_ = {.lineage = next_lineage()};
}

Result<bool> BlockSeries::has_changed() {
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

Result<Contents> BlockSeries::newest(const BlockFacts& facts, const BeforeOpening& before_opening) {
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
    if (const Status read = this->read(before_opening); !read) {
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

// What has been read once goes on growing whoever asks: a question that is given up costs the others nothing of it.
Status BlockSeries::check_loading() const {
  return has_contents() ? Status() : check_stop();
}

Status BlockSeries::read(const BeforeOpening& before_opening) {
  std::vector<BlockContents> read;
  for (Member& member : members_) {
    if (const Status goes_on = check_loading(); !goes_on) {
      return goes_on;
    }
    const auto version = member.reader->version();
    if (!version) {
      return propagate(version);
    }
    if (member.version == *version) {
      read.emplace_back();
      continue;
    }
    auto contents = member.reader->read(member.mark, before_opening);
    if (!contents) {
      return propagate(contents, "reading block {}", member.reader->folder().number);
    }
    member.version = contents->version;
    member.mark = contents->mark;
    member.rows = contents->rows;
    read.push_back(std::move(*contents));
  }
  if (members_.size() > 1) {
    return add_union(read);
  }
  if (read[0].entries != nullptr) {
    const bool is_other_reading = members_[0].reading != 0 && members_[0].reading != read[0].reading;
    if (is_other_reading) {
      // The numbers of names may be others.
      last_.lineage = next_lineage();
    }
    members_[0].reading = read[0].reading;
    last_.dictionaries = read[0].entries->dictionaries;
    last_.bindings = read[0].entries->bindings;
  }
  return {};
}

Status BlockSeries::add_union(const std::vector<BlockContents>& read) {
  std::vector<BindingUnion::Addition> additions;
  for (size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (read[i].entries == nullptr) {
      continue;
    }
    if (const Status goes_on = check_loading(); !goes_on) {
      return goes_on;
    }
    if (member.reading != read[i].reading) {
      member.reading = read[i].reading;
      member.in_bindings.is_complete = false;
      member.in_bindings.rebound = 0;
    }
    const Status added = union_.dictionaries.add(read[i].entries->dictionaries, member.in_dictionaries);
    if (!added) {
      return propagate(added, "reading block {}", member.reader->folder().number);
    }
    const Translation& ids = member.in_dictionaries.translation;
    additions.push_back({static_cast<uint32_t>(i), read[i].entries->bindings, member.in_bindings,
                         ids.locations.span(), ids.binaries.span()});
  }
  union_.bindings.extend(additions);
  last_.dictionaries = union_.dictionaries.entries();
  last_.bindings = union_.bindings.bindings();
  return {};
}

void BlockSeries::take_rows() {
  if (members_.size() == 1) {
    last_.rows = members_[0].rows;
    return;
  }
  std::vector<JoinedRows::Part> parts;
  for (const Member& member : members_) {
    parts.push_back({member.rows, member.in_dictionaries.translation});
  }
  last_.rows = std::make_shared<JoinedRows>(std::move(parts),
                                            static_cast<uint32_t>(last_.dictionaries.stacks.size() - 1));
}

}  // namespace plimsoll::store
