#include "appprof/labels.h"

#include <atomic>
#include <cstring>
#include <string_view>

#include "appprof/mapped_once.h"
#include "appprof/thread_state.h"

namespace plimsoll::appprof {
namespace {

constexpr size_t kMaxSets = 1024;  // a power of two
constexpr size_t kMaxKeys = 8;
constexpr size_t kMaxSetProbes = 64;
// That are looked at: a program's mistake may have made a ring of them.
constexpr size_t kMaxScopes = 1000;
constexpr size_t kMaxSetBytes =
    kMaxKeys * (sizeof(plimsoll_appprof_label::key) + sizeof(plimsoll_appprof_label::value));

struct LabelSet {
  std::atomic<uint64_t> hash;  // 0: free
  std::atomic<uint32_t> size;  // 0: not written yet
  char text[kMaxSetBytes];     // key, zero, value, zero, ...
};

constinit std::atomic<LabelSet*> g_sets{nullptr};

// Appends with the zero at its end.
// `part` may be no text: of a scope that was popped in another thread, and its memory used for something else.
size_t append(char* text, size_t size, const char* part, size_t field_size) noexcept {
  const size_t part_size = ::strnlen(part, field_size - 1);
  std::memcpy(text + size, part, part_size);
  text[size + part_size] = '\0';
  return size + part_size + 1;
}

uint64_t hash_of_text(const char* text, size_t size) noexcept {
  uint64_t hash = 0xCBF29CE484222325;
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001B3;
  }
  hash ^= hash >> 32;
  return hash == 0 ? 1 : hash;
}

}  // namespace

uint32_t current_labels() noexcept {
  const plimsoll_appprof_label* scope = t_state.label;
  if (scope == nullptr) {
    return 0;
  }
  char text[kMaxSetBytes];
  size_t size = 0;
  const plimsoll_appprof_label* taken[kMaxKeys];
  size_t keys = 0;
  for (size_t seen = 0; scope != nullptr && keys < kMaxKeys && seen < kMaxScopes;
       scope = scope->outer, ++seen) {
    bool is_hidden = false;
    for (size_t i = 0; i < keys; ++i) {
      is_hidden = is_hidden || std::strncmp(taken[i]->key, scope->key, sizeof(scope->key)) == 0;
    }
    if (!is_hidden) {
      taken[keys++] = scope;
      size = append(text, size, scope->key, sizeof(scope->key));
      size = append(text, size, scope->value, sizeof(scope->value));
    }
  }
  const uint64_t hash = hash_of_text(text, size);
  LabelSet* sets = g_sets.load(std::memory_order_acquire);
  for (size_t probe = 0; sets != nullptr && probe < kMaxSetProbes; ++probe) {
    const size_t place = (hash + probe) % kMaxSets;
    LabelSet& set = sets[place];
    uint64_t found = set.hash.load(std::memory_order_acquire);
    if (found == 0 && set.hash.compare_exchange_strong(found, hash, std::memory_order_acq_rel)) {
      std::memcpy(set.text, text, size);
      set.size.store(static_cast<uint32_t>(size), std::memory_order_release);
      found = hash;
    }
    if (found == hash) {
      return static_cast<uint32_t>(place + 1);
    }
  }
  return kManyLabels;
}

Labels labels_of(uint32_t number) {
  Labels labels;
  const LabelSet* sets = g_sets.load(std::memory_order_acquire);
  if (number == kManyLabels) {
    labels.emplace_back("labels", "[too many]");
  } else if (number != 0 && number <= kMaxSets && sets != nullptr) {
    const LabelSet& set = sets[number - 1];
    std::string_view text(set.text, set.size.load(std::memory_order_acquire));
    const auto next = [&text] {
      const size_t end = text.find('\0');
      const std::string_view part = text.substr(0, end);
      text.remove_prefix(end + 1);
      return std::string(part);
    };
    while (!text.empty()) {
      std::string key = next();
      std::string value = next();
      labels.emplace_back(std::move(key), std::move(value));
    }
  }
  return labels;
}

bool allocate_label_table() noexcept {
  return map_once(g_sets, kMaxSets);
}

void add_label(std::string_view pair, Labels& labels) {
  if (const size_t equals = pair.find('='); equals != std::string_view::npos && equals > 0) {
    labels.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
}

}  // namespace plimsoll::appprof

namespace {

void copy_text(char* to, size_t size, const char* from, size_t from_size) {
  const size_t length = from_size < size ? from_size : size - 1;
  if (length > 0) {
    std::memcpy(to, from, length);
  }
  to[length] = '\0';
}

}  // namespace

extern "C" void plimsoll_appprof_label_push(plimsoll_appprof_label* label, const char* key, size_t key_size,
                                            const char* value, size_t value_size) {
  using plimsoll::appprof::t_state;
  copy_text(label->key, sizeof(label->key), key, key_size);
  copy_text(label->value, sizeof(label->value), value, value_size);
  // A loop that leaves its block without the pop pushes the same memory again. What was outside of it is not known any more, since the
  // memory may have been used for something else meanwhile.
  label->outer = t_state.label == label ? nullptr : t_state.label;
  // A signal handler of this thread must not see it before it is whole.
  std::atomic_signal_fence(std::memory_order_release);
  t_state.label = label;
  std::atomic_signal_fence(std::memory_order_release);
}

extern "C" void plimsoll_appprof_label_pop(plimsoll_appprof_label* label) {
  using plimsoll::appprof::t_state;
  // Of another thread, or popped already: not in the list, and left alone.
  size_t seen = 0;
  for (plimsoll_appprof_label** at = &t_state.label; *at != nullptr && seen < plimsoll::appprof::kMaxScopes;
       at = &(*at)->outer, ++seen) {
    if (*at == label) {
      *at = label->outer;
      std::atomic_signal_fence(std::memory_order_release);
      return;
    }
  }
}
