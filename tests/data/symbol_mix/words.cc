// NOLINTBEGIN
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bits.h"
#include "parts.h"

namespace {

using Counts = std::map<std::string, unsigned, std::less<>>;

unsigned step(char letter, unsigned state) {
  return blend(state, static_cast<unsigned char>(letter));
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

template <typename Consume>
void split(std::string_view text, Consume consume) {
  while (!text.empty()) {
    const auto begin = std::find_if(text.begin(), text.end(), is_letter);
    const auto end = std::find_if_not(begin, text.end(), is_letter);
    if (begin != end) {
      consume(text.substr(static_cast<size_t>(begin - text.begin()), static_cast<size_t>(end - begin)));
    }
    text.remove_prefix(static_cast<size_t>(end - text.begin()));
  }
}

std::string lowered(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) {
    c = c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return lower;
}

__attribute__((noinline)) Counts counts_of(const char* text) {
  Counts counts;
  split(text, [&counts](std::string_view word) { ++counts[lowered(word)]; });
  return counts;
}

std::vector<std::pair<unsigned, std::string>> by_count(const Counts& counts) {
  std::vector<std::pair<unsigned, std::string>> order;
  for (const auto& [word, count] : counts) {
    order.emplace_back(count, word);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  return order;
}

}  // namespace

unsigned words(const char* text) {
  unsigned state = 1;
  for (const auto& [count, word] : by_count(counts_of(text))) {
    state = blend(state, count);
    for (const char letter : word) {
      state = step(letter, state);
    }
  }
  return state;
}
// NOLINTEND
