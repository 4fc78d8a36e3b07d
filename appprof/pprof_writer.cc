#include "appprof/pprof_writer.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace plimsoll::appprof {
namespace {

// Protocol Buffers' wire format: a key (field number << 3 | type), then a varint (type 0) or a length and bytes (type 2).
class Message {
 public:
  void add_number(uint32_t field, uint64_t value) {
    if (value != 0) {  // the default is left out
      add_varint(uint64_t{field} << 3);
      add_varint(value);
    }
  }
  void add_signed(uint32_t field, int64_t value) { add_number(field, static_cast<uint64_t>(value)); }
  void add_bytes(uint32_t field, const std::string& bytes) {
    add_varint(uint64_t{field} << 3 | 2);
    add_varint(bytes.size());
    bytes_ += bytes;
  }
  void add_message(uint32_t field, const Message& message) { add_bytes(field, message.bytes_); }
  void add_packed(uint32_t field, const std::vector<uint64_t>& values) {
    Message packed;
    for (const uint64_t value : values) {
      packed.add_varint(value);
    }
    add_message(field, packed);
  }
  std::string take() { return std::move(bytes_); }

 private:
  void add_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      bytes_ += static_cast<char>((value & 0x7F) | 0x80);
    }
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

class Writer {
 public:
  Writer(const Profile& profile, const CodeMap& code, const Labels& labels)
      : profile_(profile), code_(code), labels_(labels) {}

  std::string write() {
    string_id({});
    for (const ValueType& type : profile_.types) {
      whole_.add_message(1, value_type(type));
    }
    for (const Sample& sample : profile_.samples) {
      add_sample(sample);
    }
    for (size_t i = 0; i < code_.mappings().size(); ++i) {
      add_mapping(code_.mappings()[i], i + 1);
    }
    whole_.add_signed(9, profile_.time_ns - profile_.duration_ns);
    whole_.add_signed(10, profile_.duration_ns);
    whole_.add_message(11, value_type(profile_.period_type));
    whole_.add_signed(12, profile_.period);
    std::vector<uint64_t> comments;
    for (const std::string& comment : profile_.comments) {
      comments.push_back(string_id(comment));
    }
    whole_.add_packed(13, comments);
    whole_.add_number(14, string_id(profile_.types.back().type));
    for (const std::string& text : strings_) {
      whole_.add_bytes(6, text);
    }
    return whole_.take();
  }

 private:
  uint64_t string_id(const std::string& text) {
    const auto [place, is_new] = string_ids_.try_emplace(text, strings_.size());
    if (is_new) {
      strings_.push_back(text);
    }
    return place->second;
  }

  Message value_type(const ValueType& type) {
    Message message;
    message.add_number(1, string_id(type.type));
    message.add_number(2, string_id(type.unit));
    return message;
  }

  void add_sample(const Sample& sample) {
    std::vector<uint64_t> locations;
    if (!sample.stand_in.empty()) {
      locations.push_back(named_location(sample.stand_in));
    }
    for (size_t i = 0; i < sample.stack.size(); ++i) {
      const bool is_exact = i == 0 && sample.is_leaf_exact;
      locations.push_back(location(sample.stack[i] - (is_exact || sample.stack[i] == 0 ? 0 : 1)));
    }
    std::vector<uint64_t> values;
    for (size_t i = 0; i < profile_.types.size(); ++i) {
      values.push_back(static_cast<uint64_t>(std::llround(sample.values[i])));
    }
    Message message;
    message.add_packed(1, locations);
    message.add_packed(2, values);
    // The thread's hide those of the process.
    Labels labels = sample.labels;
    for (const auto& label : labels_) {
      if (std::ranges::find(labels, label.first, &Labels::value_type::first) == labels.end()) {
        labels.push_back(label);
      }
    }
    for (const auto& [key, value] : labels) {
      Message label;
      label.add_number(1, string_id(key));
      label.add_number(2, string_id(value));
      message.add_message(3, label);
    }
    whole_.add_message(2, message);
  }

  uint64_t location(uintptr_t address) {
    const auto [place, is_new] = locations_.try_emplace(address, next_location_);
    if (is_new) {
      const size_t mapping = code_.find_mapping(address);
      Message message;
      message.add_number(1, next_location_++);
      message.add_number(2, mapping < code_.mappings().size() ? mapping + 1 : 0);
      message.add_number(3, address);
      whole_.add_message(4, message);
    }
    return place->second;
  }

  uint64_t named_location(const std::string& name) {
    const auto [place, is_new] = named_.try_emplace(name, next_location_);
    if (is_new) {
      const uint64_t function_id = named_.size();
      Message function;
      function.add_number(1, function_id);
      function.add_number(2, string_id(name));
      function.add_number(3, string_id(name));
      whole_.add_message(5, function);
      Message line;
      line.add_number(1, function_id);
      Message message;
      message.add_number(1, next_location_++);
      message.add_message(4, line);
      whole_.add_message(4, message);
    }
    return place->second;
  }

  void add_mapping(const Mapping& mapping, uint64_t id) {
    Message message;
    message.add_number(1, id);
    message.add_number(2, mapping.begin);
    message.add_number(3, mapping.end);
    message.add_number(4, mapping.file_offset);
    message.add_number(5, string_id(mapping.path));
    message.add_number(6, string_id(mapping.build_id));
    whole_.add_message(3, message);
  }

  const Profile& profile_;
  const CodeMap& code_;
  const Labels& labels_;
  Message whole_;
  std::unordered_map<std::string, uint64_t> string_ids_;
  std::vector<std::string> strings_;
  std::unordered_map<uintptr_t, uint64_t> locations_;
  std::map<std::string, uint64_t> named_;
  uint64_t next_location_ = 1;
};

}  // namespace

std::string write_pprof(const Profile& profile, const CodeMap& code, const Labels& labels) {
  return Writer(profile, code, labels).write();
}

std::string gzip(const std::string& content) {
  z_stream stream{};
  // 15 + 16: the largest window, with gzip's head.
  if (::deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string packed(::deflateBound(&stream, content.size()), '\0');
  std::string copy = content;  // zlib takes no pointer to const
  stream.next_in = reinterpret_cast<Bytef*>(copy.data());
  stream.avail_in = static_cast<uInt>(copy.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool is_whole = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(is_whole ? stream.total_out : 0);
  ::deflateEnd(&stream);
  return packed;
}

void drop_allocator_frames(Profile& profile, const CodeMap& code) {
  const auto is_allocator = [&](uintptr_t address) {
    const size_t mapping = code.find_mapping(address - 1);
    return mapping < code.mappings().size() &&
           code.mappings()[mapping].path.find("/libtcmalloc") != std::string::npos;
  };
  for (Sample& sample : profile.samples) {
    size_t inner = 0;
    while (inner < sample.stack.size() && is_allocator(sample.stack[inner])) {
      ++inner;
    }
    if (inner < sample.stack.size()) {  // memory that tcmalloc took for itself is its own
      sample.stack.erase(sample.stack.begin(), sample.stack.begin() + static_cast<std::ptrdiff_t>(inner));
    }
  }
  merge_equal(profile);
}

}  // namespace plimsoll::appprof
