// Recordings of perf as bytes, in files and as written into pipes, for tests.
#pragma once

#include <linux/perf_event.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/capture/perf/perf_records.h"

namespace plimsoll::perf_data {

using perf::RecordBytes;

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// {u32 length; text}, padded.
inline std::string text_field(std::string_view text) {
  const auto length = static_cast<uint32_t>((text.size() + 8) / 8 * 8);
  std::string padded(text);
  padded.resize(length);
  return bytes_of(length) + padded;
}

// What samples have, unless a test wants more.
inline constexpr uint64_t kPlainSample =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;

inline perf_event_attr hardware_attr(uint64_t config, uint64_t more_fields = 0) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = config;
  attr.sample_type = kPlainSample | more_fields;
  attr.sample_period = 1000;
  attr.sample_id_all = 1;
  attr.comm_exec = 1;
  return attr;
}

// A sample of kPlainSample; the fields after the period follow as given.
struct SampleFields {
  uint64_t id = 1;
  uint64_t ip = 0x10010;
  uint64_t time_ns = 1000;
  uint64_t period = 1000;
  uint32_t pid = 7;
  uint32_t tid = 7;
  uint16_t misc = PERF_RECORD_MISC_USER;
};

inline std::string sample(const SampleFields& fields, std::string_view rest = {}) {
  RecordBytes record(PERF_RECORD_SAMPLE, fields.misc);
  record.u64(fields.id).u64(fields.ip).u32(fields.pid).u32(fields.tid).u64(fields.time_ns).u64(fields.period);
  return record.raw(rest).bytes();
}

// A record that is no sample gets what follows its content: PID, TID, time and ID.
inline std::string ended(RecordBytes record, uint64_t time_ns = 0, uint64_t id = 0, uint32_t pid = 7) {
  return record.u32(pid).u32(pid).u64(time_ns).u64(id).bytes();
}

inline std::string mmap(uint32_t pid, uint64_t start, uint64_t size, uint64_t offset, std::string_view path,
                        uint64_t time_ns = 0, uint16_t misc = PERF_RECORD_MISC_USER) {
  RecordBytes record(PERF_RECORD_MMAP, misc);
  return ended(record.u32(pid).u32(pid).u64(start).u64(size).u64(offset).text(path), time_ns);
}

inline std::string comm(uint32_t pid, std::string_view name, uint64_t time_ns = 0, bool is_exec = false) {
  RecordBytes record(PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
  return ended(record.u32(pid).u32(pid).text(name), time_ns);
}

inline std::string fork(uint32_t pid, uint32_t parent, uint64_t time_ns = 0) {
  RecordBytes record(PERF_RECORD_FORK, 0);
  return ended(record.u32(pid).u32(parent).u32(pid).u32(parent).u64(time_ns), time_ns);
}

inline std::string finished_round() {
  return RecordBytes(68, 0).bytes();
}

// The process that samples are of by default: 7, "job", whose code is /bin/job at 0x10000 from offset 0x1000 on.
inline std::string process_of_samples() {
  return comm(7, "job") + mmap(7, 0x10000, 0x1000, 0x1000, "/bin/job");
}

class Recording {
 public:
  Recording& event(const perf_event_attr& attr, std::vector<uint64_t> ids, std::string name) {
    events_.push_back({attr, std::move(ids), std::move(name)});
    return *this;
  }
  Recording& records(std::string_view bytes) {
    records_ += bytes;
    return *this;
  }
  // A section of a file, or a record in a pipe.
  Recording& feature(unsigned number, std::string content) {
    features_[number] = std::move(content);
    return *this;
  }
  Recording& text_feature(unsigned number, std::string_view text) {
    return feature(number, text_field(text));
  }
  // An entry of the build IDs.
  Recording& build_id(std::string_view path, std::string id, bool is_kernel = false) {
    return build_id_entry(path, std::move(id),
                          (1U << 15U) | (is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER));
  }
  // As perf wrote it before 5.13: the size of the ID is not told.
  Recording& padded_build_id(std::string_view path, std::string id) {
    return build_id_entry(path, std::move(id), PERF_RECORD_MISC_USER);
  }
  Recording& build_id_entry(std::string_view path, std::string id, uint32_t misc) {
    RecordBytes entry(67, static_cast<uint16_t>(misc));
    const auto size = static_cast<char>((misc & 1U << 15U) == 0 ? 0 : id.size());
    id.resize(20);
    entry.u32(UINT32_MAX).raw(id).raw({&size, 1}).raw(std::string(3, '\0')).text(path);
    build_ids_ += entry.bytes();
    return *this;
  }

  std::string file() const {
    constexpr uint64_t kHeaderBytes = 104;
    std::string ids;
    std::string attributes;
    for (const Event& event : events_) {
      attributes +=
          bytes_of(event.attr) + bytes_of(kHeaderBytes + ids.size()) + bytes_of(event.ids.size() * 8);
      for (const uint64_t id : event.ids) {
        ids += bytes_of(id);
      }
    }
    const auto all = all_features();
    std::array<uint64_t, 4> bits{};
    for (const auto& [number, content] : all) {
      bits[number / 64] |= uint64_t{1} << number % 64;
    }
    const uint64_t data_at = kHeaderBytes + ids.size() + attributes.size();
    std::string file = "PERFILE2";
    for (const uint64_t word : {kHeaderBytes, sizeof(perf_event_attr) + 16, kHeaderBytes + ids.size(),
                                attributes.size(), data_at, records_.size(), uint64_t{0}, uint64_t{0}}) {
      file += bytes_of(word);
    }
    file += bytes_of(bits) + ids + attributes + records_;
    uint64_t content_at = file.size() + all.size() * 16;
    std::string contents;
    for (const auto& [number, content] : all) {
      file += bytes_of(content_at + contents.size()) + bytes_of(uint64_t{content.size()});
      contents += content;
    }
    return file + contents;
  }

  std::string pipe() const {
    std::string pipe = "PERFILE2" + bytes_of(uint64_t{16});
    for (const Event& event : events_) {
      RecordBytes record(64, 0);
      record.raw(bytes_of(event.attr));
      for (const uint64_t id : event.ids) {
        record.u64(id);
      }
      pipe += record.bytes();
    }
    for (const auto& [number, content] : all_features()) {
      if (number != kBuildIds) {
        pipe += RecordBytes(80, 0).u64(number).raw(content).bytes();
      }
    }
    return pipe + records_ + build_ids_;
  }

 private:
  static constexpr unsigned kBuildIds = 2;
  static constexpr unsigned kDescriptions = 12;
  struct Event {
    perf_event_attr attr;
    std::vector<uint64_t> ids;
    std::string name;
  };

  std::map<unsigned, std::string> all_features() const {
    auto all = features_;
    if (!build_ids_.empty()) {
      all[kBuildIds] = build_ids_;
    }
    std::string descriptions =
        bytes_of(static_cast<uint32_t>(events_.size())) + bytes_of(uint32_t{sizeof(perf_event_attr)});
    bool has_names = false;
    for (const Event& event : events_) {
      has_names |= !event.name.empty();
      descriptions +=
          bytes_of(event.attr) + bytes_of(static_cast<uint32_t>(event.ids.size())) + text_field(event.name);
      for (const uint64_t id : event.ids) {
        descriptions += bytes_of(id);
      }
    }
    if (has_names) {
      all[kDescriptions] = descriptions;
    }
    return all;
  }

  std::vector<Event> events_;
  std::string records_;
  std::map<unsigned, std::string> features_;
  std::string build_ids_;
};

// One zstd stream over several records, as `perf record -z` writes it.
class CompressedRecords {
 public:
  // What was compressed of `records`, as the content of a record.
  std::string content(std::string_view records) {
    std::string out(ZSTD_compressBound(records.size()) + 64, '\0');
    ZSTD_inBuffer in{records.data(), records.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    ZSTD_compressStream2(stream_.get(), &to, &in, ZSTD_e_flush);
    out.resize(to.pos);
    return out;
  }
  std::string record(std::string_view records) { return RecordBytes(81, 0).raw(content(records)).bytes(); }
  // The padded kind of perf 6.16 and later.
  std::string padded_record(std::string_view records) {
    std::string compressed = content(records);
    const uint64_t size = compressed.size();
    compressed.resize((compressed.size() + 7) / 8 * 8);
    return RecordBytes(83, 0).u64(size).raw(compressed).bytes();
  }

 private:
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> stream_{ZSTD_createCCtx(), ZSTD_freeCCtx};
};

}  // namespace plimsoll::perf_data
