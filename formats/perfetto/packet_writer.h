// Packets of a trace of Perfetto, in one sequence, and the texts that they share. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "formats/perfetto/wire_writer.h"

namespace plimsoll::formats::perfetto {

// Traces have none before 1970.
inline uint64_t trace_time(int64_t time_ns) {
  return static_cast<uint64_t>(std::max<int64_t>(time_ns, 0));
}

// An entry of a table of interned texts.
WireMessage interned_text_entry(uint64_t id, std::string_view text);

class PacketWriter {
 public:
  // Borrows `write`, which is called with pieces of some 64 KiB.
  explicit PacketWriter(const std::function<Status(std::string_view piece)>& write) : write_(write) {}

  // The first packet of a trace clears what is interned; others need what came before.
  static WireMessage first_packet();
  static WireMessage new_packet();
  // Without the sequence's flags, as bundles of ftrace are.
  static WireMessage new_packet_of_ftrace();

  void add(const WireMessage& packet);
  void add_descriptor(const WireMessage& descriptor);
  void add_interned(uint32_t table, const WireMessage& entry);

  // Of names of slices. A packet of its own says it, before the first event that has it.
  uint64_t name_id(const std::string& name);
  // Of tables of stacks, by field: each recording has other numbers for the same text.
  uint64_t text_id(uint32_t table, const std::string& text);

  // Writes what is not written yet.
  void flush();
  const Status& written() const { return written_; }  // the first failure, after which nothing is written

 private:
  const std::function<Status(std::string_view)>& write_;
  Status written_;
  std::string bytes_;  // that are not written yet
  std::unordered_map<std::string, uint64_t> names_;
  std::map<std::pair<uint32_t, std::string>, uint64_t> texts_;
};

}  // namespace plimsoll::formats::perfetto
