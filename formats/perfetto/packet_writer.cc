#include "formats/perfetto/packet_writer.h"

#include "formats/perfetto/fields.h"

namespace plimsoll::formats::perfetto {
namespace {

constexpr uint64_t kSequence = 1;
constexpr uint64_t kStateCleared = 1;
constexpr uint64_t kNeedsState = 2;
constexpr size_t kBytesOfPiece = size_t{64} << 10;

WireMessage packet_with(uint64_t flags) {
  WireMessage packet;
  packet.number(field::kPacketSequence, kSequence);
  packet.number(field::kPacketSequenceFlags, flags);
  return packet;
}

}  // namespace

WireMessage interned_text_entry(uint64_t id, std::string_view text) {
  WireMessage entry;
  entry.number(field::kInternedId, id);
  entry.text(field::kInternedName, text);
  return entry;
}

WireMessage PacketWriter::first_packet() {
  return packet_with(kStateCleared);
}

WireMessage PacketWriter::new_packet() {
  return packet_with(kNeedsState);
}

WireMessage PacketWriter::new_packet_of_ftrace() {
  WireMessage packet;
  packet.number(field::kPacketSequence, kSequence);
  return packet;
}

void PacketWriter::add(const WireMessage& packet) {
  WireMessage trace;
  trace.message(field::kTracePacket, packet);
  bytes_ += trace.bytes();
  if (bytes_.size() >= kBytesOfPiece) {
    flush();
  }
}

void PacketWriter::flush() {
  if (written_) {
    written_ = write_(bytes_);
  }
  bytes_.clear();
}

void PacketWriter::add_descriptor(const WireMessage& descriptor) {
  WireMessage packet = new_packet();
  packet.message(field::kPacketTrackDescriptor, descriptor);
  add(packet);
}

void PacketWriter::add_interned(uint32_t table, const WireMessage& entry) {
  WireMessage interned;
  interned.message(table, entry);
  WireMessage packet = new_packet();
  packet.message(field::kPacketInternedData, interned);
  add(packet);
}

uint64_t PacketWriter::name_id(const std::string& name) {
  const auto [found, is_new] = names_.try_emplace(name, names_.size() + 1);
  if (is_new) {
    add_interned(field::kInternedNames, interned_text_entry(found->second, name));
  }
  return found->second;
}

uint64_t PacketWriter::text_id(uint32_t table, const std::string& text) {
  const auto [found, is_new] = texts_.try_emplace(std::pair(table, text), texts_.size() + 1);
  if (is_new) {
    add_interned(table, interned_text_entry(found->second, text));
  }
  return found->second;
}

}  // namespace plimsoll::formats::perfetto
