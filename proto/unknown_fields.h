// Fields of a message that its type does not know: of a newer program, or of somebody who wants to do harm.
#pragma once

#include <cstdint>
#include <string>

#include "base/byte_reader.h"

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace plimsoll::wire {

// Whether Protobuf takes what follows the tag as that field, and does not keep it among the unknown ones. `field`: the one of that number in
// the message's type; null: there is none.
bool is_known(const google::protobuf::FieldDescriptor* field, uint32_t tag);

// The message without what its type does not know, at any depth: parsed, they are the same but for that. Protobuf would keep it as a list, of some
// 50 bytes for each two of the message. Of a message that parse_cost() has passed. Copies what it keeps once for each level of nesting.
std::string without_unknown_fields(Bytes message, const google::protobuf::Descriptor& type);

}  // namespace plimsoll::wire
