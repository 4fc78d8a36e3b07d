#include "formats/pprof_reader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <limits>
#include <map>

#include "base/hex.h"
#include "base/mapped_path.h"
#include "base/printable.h"
#include "formats/drop_frames.h"
#include "proto/pprof.pb.h"

namespace plimsoll::formats {
namespace {

using google::protobuf::internal::WireFormatLite;

// One sample, mapping, location or function; more is no profile. Bounds what Protobuf builds of it.
constexpr uint64_t kMaxPartBytes = uint64_t{1} << 20;
constexpr size_t kMaxTextBytes = 4000;
constexpr size_t kMaxTypes = 100;
constexpr uint32_t kMaxLabelSets = 100'000;

template <typename... Args>
std::unexpected<Error> corrupt(std::string field, fmt::format_string<Args...> format, Args&&... args) {
  return with_field(fail(ErrorCode::kCorrupt, "the pprof profile is inconsistent: {}",
                         fmt::format(format, std::forward<Args>(args)...)),
                    std::move(field));
}

// The fields of the message, found without parsing what is in them.
struct Parts {
  static constexpr size_t kFields = 16;
  std::array<std::vector<Bytes>, kFields> messages;  // by field number
  std::array<int64_t, kFields> numbers{};            // likewise
};

Status check_part(int field, size_t index, uint64_t bytes, const Limits& limits) {
  if (index >= limits.max_entries) {
    return fail(ErrorCode::kTooLarge, "the pprof profile has over {} entries in field {}", limits.max_entries,
                field);
  }
  if (field != pprof::Profile::kStringTableFieldNumber && bytes > kMaxPartBytes) {
    return fail(ErrorCode::kTooLarge, "field {} of the pprof profile has an entry of {} bytes", field, bytes);
  }
  return {};
}

Result<Parts> find_parts(Bytes message, const Limits& limits) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(message.data()),
                                                static_cast<int>(message.size()));
  Parts parts;
  while (const uint32_t tag = stream.ReadTag()) {
    const auto field = static_cast<size_t>(WireFormatLite::GetTagFieldNumber(tag));
    const auto type = WireFormatLite::GetTagWireType(tag);
    uint32_t length = 0;
    uint64_t number = 0;
    bool read = false;
    if (field < Parts::kFields && type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      read = stream.ReadVarint32(&length);
      const auto start = static_cast<uint64_t>(stream.CurrentPosition());
      const auto part = slice(message, start, length, "a field");
      if (!read || !part || !stream.Skip(static_cast<int>(length))) {
        return corrupt(fmt::format("field {}", field), "it ends beyond the profile");
      }
      if (auto ok = check_part(static_cast<int>(field), parts.messages[field].size(), length, limits); !ok) {
        return propagate(ok);
      }
      parts.messages[field].push_back(*part);
    } else if (field < Parts::kFields && type == WireFormatLite::WIRETYPE_VARINT) {
      read = stream.ReadVarint64(&number);
      parts.numbers[field] = static_cast<int64_t>(number);
    } else {
      read = WireFormatLite::SkipField(&stream, tag);
    }
    if (!read) {
      return corrupt("", "the message is malformed near byte {}", stream.CurrentPosition());
    }
  }
  if (!stream.ConsumedEntireMessage()) {
    return corrupt("", "the message is malformed near byte {}", stream.CurrentPosition());
  }
  return parts;
}

// IDs are any numbers but 0; what refers to one wants its place.
class IdTable {
 public:
  // False where the ID is 0 or known already.
  bool add(uint64_t id) {
    return id != 0 && places_.try_emplace(id, static_cast<uint32_t>(places_.size())).second;
  }
  // Nothing where the ID is not known.
  std::optional<uint32_t> find(uint64_t id) const {
    const auto known = places_.find(id);
    return known == places_.end() ? std::nullopt : std::optional(known->second);
  }

 private:
  boost::unordered_flat_map<uint64_t, uint32_t> places_;
};

class PprofReader {
 public:
  PprofReader(const Parts& parts, const Limits& limits) : parts_(parts), limits_(limits) {}

  Result<ApplicationProfile> read() {
    read_texts();
    for (const auto step :
         {&PprofReader::read_types, &PprofReader::read_mappings, &PprofReader::read_functions,
          &PprofReader::read_locations, &PprofReader::read_samples, &PprofReader::read_header}) {
      if (auto done = (this->*step)(); !done) {
        return propagate(done);
      }
    }
    drop_frames(profile_);
    return std::move(profile_);
  }

 private:
  const std::vector<Bytes>& messages(int field) const { return parts_.messages[static_cast<size_t>(field)]; }
  int64_t number(int field) const { return parts_.numbers[static_cast<size_t>(field)]; }

  // Parses each entry of a field and hands it to `take`, which gives an error's field and text where it is wrong.
  template <typename Message, typename Take>
  Status for_each(int field, std::string_view name, Take take) {
    Message message;
    for (size_t i = 0; i < messages(field).size(); ++i) {
      const Bytes bytes = messages(field)[i];
      if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        return corrupt(fmt::format("{}[{}]", name, i), "it is malformed");
      }
      if (Status taken = take(message, fmt::format("{}[{}]", name, i)); !taken) {
        return taken;
      }
    }
    return {};
  }

  void read_texts() {
    for (const Bytes text : messages(pprof::Profile::kStringTableFieldNumber)) {
      profile_.texts.push_back(printable(as_text(text).substr(0, kMaxTextBytes)));
    }
    if (profile_.texts.empty()) {
      profile_.texts.emplace_back();
    }
  }

  Result<uint32_t> text(int64_t index, std::string_view field) const {
    if (index < 0 || static_cast<uint64_t>(index) >= profile_.texts.size()) {
      return corrupt(std::string(field), "string {} of {}", index, profile_.texts.size());
    }
    return static_cast<uint32_t>(index);
  }

  Result<ValueType> value_type(const pprof::ValueType& message, const std::string& field) const {
    const auto type = text(message.type(), field + ".type");
    const auto unit = text(message.unit(), field + ".unit");
    if (!type || !unit) {
      return !type ? propagate(type) : propagate(unit);
    }
    return ValueType{profile_.texts[*type], profile_.texts[*unit]};
  }

  Status read_types() {
    if (messages(pprof::Profile::kSampleTypeFieldNumber).size() > kMaxTypes) {
      return fail(ErrorCode::kTooLarge, "the pprof profile has over {} types of values", kMaxTypes);
    }
    const auto take = [this](const pprof::ValueType& message, const std::string& field) -> Status {
      auto type = value_type(message, field);
      if (!type) {
        return propagate(type);
      }
      profile_.types.push_back(std::move(*type));
      return {};
    };
    if (auto read = for_each<pprof::ValueType>(pprof::Profile::kSampleTypeFieldNumber, "sample_type", take);
        !read) {
      return read;
    }
    return profile_.types.empty() ? corrupt("sample_type", "it has no type of values") : Status();
  }

  Status read_mappings() {
    if (messages(pprof::Profile::kMappingFieldNumber).size() > kMaxMappings) {
      return fail(ErrorCode::kTooLarge, "the pprof profile has over {} mappings", kMaxMappings);
    }
    const auto take = [this](const pprof::Mapping& message, const std::string& field) -> Status {
      const auto path = text(message.filename(), field + ".filename");
      const auto build_id = text(message.build_id(), field + ".build_id");
      if (!path || !build_id) {
        return !path ? propagate(path) : propagate(build_id);
      }
      if (!mappings_.add(message.id())) {
        return corrupt(field + ".id", "mapping {} appears twice, or is 0", message.id());
      }
      // Go writes its own build ID here, which is no hexadecimal number and names no file that we could look up.
      const auto identity = from_hex(profile_.texts[*build_id]);
      profile_.mappings.push_back({message.memory_start(), message.memory_limit(), message.file_offset(),
                                   std::string(without_deleted(profile_.texts[*path])),
                                   identity && identity->size() <= kMaxBuildIdBytes ? *identity : ""});
      return {};
    };
    return for_each<pprof::Mapping>(pprof::Profile::kMappingFieldNumber, "mapping", take);
  }

  Status read_functions() {
    const auto take = [this](const pprof::Function& message, const std::string& field) -> Status {
      const auto name = text(message.name(), field + ".name");
      const auto system_name = text(message.system_name(), field + ".system_name");
      const auto file = text(message.filename(), field + ".filename");
      if (!name || !system_name || !file) {
        return propagate(!name ? name : !system_name ? system_name : file);
      }
      if (!functions_.add(message.id())) {
        return corrupt(field + ".id", "function {} appears twice, or is 0", message.id());
      }
      profile_.functions.push_back({*name != 0 ? *name : *system_name, *file, *system_name});
      return {};
    };
    return for_each<pprof::Function>(pprof::Profile::kFunctionFieldNumber, "function", take);
  }

  Status add_frame(const pprof::Line& line, const std::string& field) {
    constexpr int64_t kMaxNumber = std::numeric_limits<uint32_t>::max();
    const auto function = functions_.find(line.function_id());
    if (!function) {
      return corrupt(field + ".function_id", "no such function: {}", line.function_id());
    }
    if (profile_.frames.size() >= limits_.max_entries) {
      return fail(ErrorCode::kTooLarge, "the pprof profile has over {} frames", limits_.max_entries);
    }
    profile_.frames.push_back({*function,
                               static_cast<uint32_t>(std::clamp<int64_t>(line.line(), 0, kMaxNumber)),
                               static_cast<uint32_t>(std::clamp<int64_t>(line.column(), 0, kMaxNumber))});
    return {};
  }

  Status read_locations() {
    const auto take = [this](const pprof::Location& message, const std::string& field) -> Status {
      const auto mapping = mappings_.find(message.mapping_id());
      if (message.mapping_id() != 0 && !mapping) {
        return corrupt(field + ".mapping_id", "no such mapping: {}", message.mapping_id());
      }
      if (!locations_.add(message.id())) {
        return corrupt(field + ".id", "location {} appears twice, or is 0", message.id());
      }
      Location location{.address = message.address(), .mapping_plus_1 = mapping ? *mapping + 1 : 0};
      location.first_frame = static_cast<uint32_t>(profile_.frames.size());
      location.frame_count = static_cast<uint32_t>(message.line_size());
      for (const pprof::Line& line : message.line()) {
        if (auto added = add_frame(line, field + ".line"); !added) {
          return added;
        }
      }
      profile_.locations.push_back(location);
      return {};
    };
    return for_each<pprof::Location>(pprof::Profile::kLocationFieldNumber, "location", take);
  }

  Status read_samples() {
    if (messages(pprof::Profile::kSampleFieldNumber).size() * profile_.types.size() > limits_.max_values()) {
      return fail(ErrorCode::kTooLarge, "the pprof profile has over {} values", limits_.max_values());
    }
    std::vector<uint32_t> stack;
    const auto take = [&](const pprof::Sample& message, const std::string& field) -> Status {
      if (static_cast<size_t>(message.value_size()) != profile_.types.size()) {
        return corrupt(field + ".value", "{} values of {} types", message.value_size(),
                       profile_.types.size());
      }
      stack.clear();
      for (const uint64_t id : message.location_id()) {
        const auto location = locations_.find(id);
        if (!location) {
          return corrupt(field + ".location_id", "no such location: {}", id);
        }
        stack.push_back(*location);
      }
      if (profile_.samples.stack_entries() + stack.size() > limits_.max_stack_entries) {
        return fail(ErrorCode::kTooLarge, "the pprof profile has over {} locations on its stacks",
                    limits_.max_stack_entries);
      }
      const auto label_set = read_labels(message, field);
      if (!label_set) {
        return propagate(label_set);
      }
      profile_.samples.add(stack, std::span(message.value().data(), profile_.types.size()), *label_set);
      return {};
    };
    return for_each<pprof::Sample>(pprof::Profile::kSampleFieldNumber, "sample", take);
  }

  // Index of the sample's label set.
  Result<uint32_t> read_labels(const pprof::Sample& message, const std::string& field) {
    LabelSet labels;
    for (const pprof::Label& label : message.label()) {
      const auto key = text(label.key(), field + ".label.key");
      const auto value = text(label.str(), field + ".label.str");
      if (!key || !value) {
        return !key ? propagate(key) : propagate(value);
      }
      if (!profile_.texts[*key].empty() && !profile_.texts[*value].empty()) {
        labels[*key] = *value;
      }
    }
    if (labels.empty()) {
      return 0;
    }
    const auto next = static_cast<uint32_t>(profile_.label_sets.size());
    const auto [known, is_new] = label_sets_.try_emplace(std::move(labels), next);
    if (is_new) {
      if (next > kMaxLabelSets) {
        return fail(ErrorCode::kTooLarge, "the pprof profile has over {} sets of labels", kMaxLabelSets);
      }
      profile_.label_sets.push_back(known->first);
    }
    return known->second;
  }

  Status read_header() {
    profile_.time_ns = std::max<int64_t>(0, number(pprof::Profile::kTimeNanosFieldNumber));
    profile_.duration_ns = std::max<int64_t>(0, number(pprof::Profile::kDurationNanosFieldNumber));
    profile_.period = std::max<int64_t>(0, number(pprof::Profile::kPeriodFieldNumber));
    const auto drop = text(number(pprof::Profile::kDropFramesFieldNumber), "drop_frames");
    const auto keep = text(number(pprof::Profile::kKeepFramesFieldNumber), "keep_frames");
    if (!drop || !keep) {
      return !drop ? propagate(drop) : propagate(keep);
    }
    profile_.drop_frames = profile_.texts[*drop];
    profile_.keep_frames = profile_.texts[*keep];
    const auto take = [this](const pprof::ValueType& message, const std::string& field) -> Status {
      auto type = value_type(message, field);
      if (!type) {
        return propagate(type);
      }
      profile_.period_type = std::move(*type);
      return {};
    };
    return for_each<pprof::ValueType>(pprof::Profile::kPeriodTypeFieldNumber, "period_type", take);
  }

  const Parts& parts_;
  const Limits& limits_;
  ApplicationProfile profile_;
  IdTable mappings_, functions_, locations_;
  std::map<LabelSet, uint32_t> label_sets_;  // indexes into the profile's
};

}  // namespace

Result<ApplicationProfile> read_pprof(Bytes encoded, const Limits& limits) {
  if (encoded.size() > limits.max_encoded_bytes) {
    return fail(ErrorCode::kTooLarge, "the profile has {} bytes; at most {} are read", encoded.size(),
                limits.max_encoded_bytes);
  }
  const auto parts = find_parts(encoded, limits);
  if (!parts) {
    return propagate(parts);
  }
  return PprofReader(*parts, limits).read();
}

}  // namespace plimsoll::formats
