#include "daemon/scrape/since_last.h"

#include <algorithm>

#include "base/checksum.h"
#include "formats/event_meaning.h"

namespace plimsoll::scrape {
namespace {

using formats::ApplicationProfile;

void append(std::string& key, uint64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

constexpr size_t kHashBytes = 16;

std::string_view hash_at(std::string_view hashes, size_t index) {
  return hashes.substr(index * kHashBytes, kHashBytes);
}

// Of a label set the same in every scrape, whatever the indexes of its texts.
std::string label_hash(const formats::LabelSet& labels, std::string_view text_hashes) {
  std::vector<std::string> hashes;
  for (const auto& [key, value] : labels) {
    hashes.push_back(std::string(hash_at(text_hashes, key)) + std::string(hash_at(text_hashes, value)));
  }
  std::ranges::sort(hashes);
  std::string all;
  for (const std::string& hash : hashes) {
    all += hash;
  }
  return content_hash(as_bytes(all));
}

// Of one stack with its labels the same in every scrape, whatever the indexes: by addresses, or names and lines where there are
// none. Each text, location and label set is hashed once: a small profile can repeat long ones on many stacks.
class StackKeys {
 public:
  explicit StackKeys(const ApplicationProfile& profile) : samples_(profile.samples) {
    std::string texts;
    for (const std::string& text : profile.texts) {
      texts += content_hash(as_bytes(text));
    }
    for (const formats::LabelSet& labels : profile.label_sets) {
      label_sets_ += label_hash(labels, texts);
    }
    std::string key;
    for (const formats::Location& location : profile.locations) {
      key.clear();
      append(key, location.address);
      for (uint32_t i = 0; location.address == 0 && i < location.frame_count; ++i) {
        const formats::Frame& frame = profile.frames[location.first_frame + i];
        key += hash_at(texts, profile.functions[frame.function].name);
        append(key, frame.line);
      }
      locations_ += content_hash(as_bytes(key));
    }
  }

  // 16 bytes.
  std::string of(size_t sample) const {
    std::string key(hash_at(label_sets_, samples_.label_set(sample)));
    for (const uint32_t location : samples_.stack(sample)) {
      key += hash_at(locations_, location);
    }
    return content_hash(as_bytes(key));
  }

 private:
  const formats::Samples& samples_;
  std::string locations_;   // the hashes, one after the other
  std::string label_sets_;  // the same of label sets
};

std::vector<formats::ValueType> pick(const std::vector<formats::ValueType>& all,
                                     const std::vector<size_t>& indexes) {
  std::vector<formats::ValueType> picked;
  for (const size_t index : indexes) {
    picked.push_back(all[index]);
  }
  return picked;
}

std::vector<size_t> types_since_start(const ApplicationProfile& profile) {
  std::vector<size_t> types;
  for (size_t type = 0; type < profile.types.size(); ++type) {
    if (formats::meaning_of(profile.types[type]).is_since_start) {
      types.push_back(type);
    }
  }
  return types;
}

// Of the types that count since the start, as places in that list, those that never shrink but by a reset.
//
// jemalloc sums objects of all sizes at one stack. Its readers make N / (1 - exp(-B / (N P))) objects of N that were sampled with B bytes,
// every P bytes on average: that shrinks when a large object comes (10 of 16 bytes stand for 328,000, and with one of a megabyte for
// 66). The bytes, B / (1 - exp(-B / (N P))), grow with N and with B.
std::vector<size_t> types_that_never_shrink(const std::vector<formats::ValueType>& types) {
  const auto is_called = [&](size_t i, std::string_view name) {
    return formats::meaning_of(types[i]).name == name;
  };
  bool has_bytes = false;
  for (size_t i = 0; i < types.size(); ++i) {
    has_bytes = has_bytes || is_called(i, "alloc-bytes");
  }
  std::vector<size_t> judged;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!has_bytes || !is_called(i, "alloc-objects")) {
      judged.push_back(i);
    }
  }
  return judged;
}

// What is new of the rows of one stack and label set, which are handed out one after the other: the same part of each, and all of it in the end.
class Shared {
 public:
  // `before` and `now` are the sums of all rows. Where they shrank, nothing is new.
  int64_t take(int64_t value, int64_t before, int64_t now) {
    if (value <= 0 || now <= 0) {
      return value;
    }
    seen_ += value;
    const int64_t given = given_;
    given_ = static_cast<int64_t>(seen_ * (now - std::min(before, now)) / now);
    return given_ - given;
  }

 private:
  __int128 seen_ = 0;
  int64_t given_ = 0;
};

// The profile's rows with other values.
template <typename ValuesOf>
void replace_values(ApplicationProfile& profile, ValuesOf values_of) {
  formats::Samples samples;
  for (size_t sample = 0; sample < profile.samples.size(); ++sample) {
    samples.add(profile.samples.stack(sample), values_of(sample), profile.samples.label_set(sample));
  }
  profile.samples = std::move(samples);
}

void take_out(ApplicationProfile& profile, const std::vector<size_t>& types) {
  const auto kept = [&](size_t type) { return std::ranges::find(types, type) == types.end(); };
  std::vector<formats::ValueType> kept_types;
  for (size_t type = 0; type < profile.types.size(); ++type) {
    if (kept(type)) {
      kept_types.push_back(profile.types[type]);
    }
  }
  replace_values(profile, [&](size_t sample) {
    std::vector<int64_t> values;
    for (size_t type = 0; type < profile.types.size(); ++type) {
      if (kept(type)) {
        values.push_back(profile.samples.values(sample)[type]);
      }
    }
    return values;
  });
  profile.types = std::move(kept_types);
}

}  // namespace

bool SinceLast::goes_on(const Values& before, const Values& now, const std::vector<size_t>& judged) {
  return std::ranges::all_of(before, [&](const auto& entry) {
    const auto& [stack, old_values] = entry;
    const auto found = now.find(stack);
    for (const size_t i : judged) {
      const int64_t value = found == now.end() || i >= found->second.size() ? 0 : found->second[i];
      if (value < old_values[i]) {
        return false;
      }
    }
    return true;
  });
}

void SinceLast::apply(ApplicationProfile& profile, Start start) {
  const std::vector<size_t> types = types_since_start(profile);
  const StackKeys keys(profile);
  Values now;
  for (size_t sample = 0; !types.empty() && sample < profile.samples.size(); ++sample) {
    auto& sums = now[keys.of(sample)];
    sums.resize(types.size());
    for (size_t i = 0; i < types.size(); ++i) {
      // Sums that have no room are refused when the rows are made; here they only must not wrap.
      const int64_t value = profile.samples.values(sample)[types[i]];
      sums[i] = __builtin_add_overflow(sums[i], value, &sums[i]) ? INT64_MAX : sums[i];
    }
  }
  std::vector<formats::ValueType> now_types = pick(profile.types, types);
  has_previous_ = has_previous_ && now_types == previous_types_;
  const bool counts_whole = start == Start::kThisScrape ||
                            (has_previous_ && !goes_on(previous_, now, types_that_never_shrink(now_types)));
  if (!counts_whole && !has_previous_) {
    take_out(profile, types);
  } else if (!counts_whole) {
    // Rows of the same stack and labels, of objects of other sizes say, share what was there before in proportion: so that a row's objects and bytes, which
    // are two types, still belong together.
    std::unordered_map<std::string, std::vector<Shared>> shared;
    replace_values(profile, [&](size_t sample) {
      const auto old_values = profile.samples.values(sample);
      std::vector<int64_t> values(old_values.begin(), old_values.end());
      const std::string key = keys.of(sample);
      const auto known = previous_.find(key);
      if (known == previous_.end()) {
        return values;
      }
      std::vector<Shared>& of_stack = shared[key];
      of_stack.resize(types.size());
      for (size_t i = 0; i < types.size(); ++i) {
        int64_t& value = values[types[i]];
        value = of_stack[i].take(value, known->second[i], now.at(key)[i]);
      }
      return values;
    });
    // So that an estimate that shrinks and grows again is not new a second time.
    for (auto& [stack, sums] : now) {
      const auto known = previous_.find(stack);
      for (size_t i = 0; known != previous_.end() && i < sums.size(); ++i) {
        sums[i] = std::max(sums[i], known->second[i]);
      }
    }
  }
  previous_ = std::move(now);
  previous_types_ = std::move(now_types);
  has_previous_ = true;
}

}  // namespace plimsoll::scrape
