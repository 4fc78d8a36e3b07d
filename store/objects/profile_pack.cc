#include "store/objects/profile_pack.h"

#include <string_view>

#include "base/checksum.h"

namespace plimsoll::store {
namespace {

constexpr std::string_view kPackMagic = "PLIMPACK";
constexpr uint32_t kPackVersion = 1;

template <typename Integer>
void append(std::string& content, Integer value) {
  content.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

ProfilePack::ProfilePack() : content_(kPackMagic) {
  append(content_, kPackVersion);
  append(content_, uint32_t{0});
}

void ProfilePack::add(const ArchivedProfile& profile) {
  range_.first = is_empty() ? profile.sequence : range_.first;
  range_.last = profile.sequence;
  last_fingerprint_ = fingerprint_of_id(profile.id);
  append(content_, profile.sequence);
  append(content_, profile.received_ns);
  append(content_, uint32_t{profile.arrival == Arrival::kImported ? 1U : 0U});
  append(content_, static_cast<uint32_t>(profile.id.size()));
  append(content_, static_cast<uint64_t>(profile.encoded.size()));
  content_ += profile.id;
  content_ += profile.encoded;
}

int64_t fingerprint_of_id(std::string_view id) {
  return static_cast<int64_t>(checksum64(as_bytes(id)) | 1U);
}

Result<std::vector<ArchivedProfile>> parse_pack(Bytes content) {
  ByteReader reader(content);
  const std::string_view magic = as_text(reader.bytes(kPackMagic.size()));
  const auto version = reader.read<uint32_t>();
  reader.skip(sizeof(uint32_t));
  if (magic != kPackMagic || !reader.ok()) {
    return fail(ErrorCode::kCorrupt, "no pack of raw profiles");
  }
  if (version != kPackVersion) {
    return fail(ErrorCode::kUnsupported, "a pack of raw profiles of version {}", version);
  }
  std::vector<ArchivedProfile> profiles;
  while (reader.remaining() > 0) {
    const auto sequence = reader.read<int64_t>();
    const auto received_ns = reader.read<int64_t>();
    const bool is_imported = reader.read<uint32_t>() != 0;
    const auto id_bytes = reader.read<uint32_t>();
    const auto encoded_bytes = reader.read<uint64_t>();
    const Bytes id = reader.bytes(id_bytes);
    const Bytes encoded = reader.bytes(encoded_bytes);
    const int64_t before = profiles.empty() ? 0 : profiles.back().sequence;
    if (!reader.ok() || sequence <= before) {
      return fail(ErrorCode::kCorrupt, "the pack of raw profiles is damaged behind number {}", before);
    }
    profiles.push_back({sequence, std::string(as_text(id)), std::string(as_text(encoded)), received_ns,
                        is_imported ? Arrival::kImported : Arrival::kUploaded});
  }
  return profiles;
}

}  // namespace plimsoll::store
