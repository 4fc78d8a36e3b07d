// Fields of a message that its type does not know: of a newer program, or of somebody who wants to do harm.
#pragma once

#include <cstdint>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
namespace io {
class CodedInputStream;
}
}  // namespace google::protobuf

namespace plimsoll::wire {

// Whether Protobuf takes what follows the tag as that field, and does not keep it among the unknown ones. `field`: the one of that number in
// the message's type; null: there is none.
bool is_known(const google::protobuf::FieldDescriptor* field, uint32_t tag);

// Up to the end of the message around: what is nested in it has no more, whatever it says, though PushLimit() takes that silently.
size_t bytes_left(google::protobuf::io::CodedInputStream& stream, Bytes message);

// The message without what its type does not know, at any depth: parsed, they are the same but for that. Protobuf would keep it as a list, of some
// 50 bytes for each two of the message. Of a message that parse_cost() has passed; kCorrupt where that is not whole after all. Takes at most kCopies
// times its size of memory meanwhile.
Result<std::string> without_unknown_fields(Bytes message, const google::protobuf::Descriptor& type);

// The result, and what is nested in it while it is put together, which grows by doubling.
inline constexpr uint64_t kCopies = 3;

}  // namespace plimsoll::wire
