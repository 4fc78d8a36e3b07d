// Sorting by a key where equal ones stay in their order. libstdc++'s std::stable_sort() calls what C++20 has removed, which clang refuses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace plimsoll {

// By rising key(entry). Takes memory for a key and a number of each entry, but where they are in order already.
template <typename Entry, typename KeyOf>
void sort_stably(std::vector<Entry>& entries, const KeyOf& key_of) {
  if (std::is_sorted(entries.begin(), entries.end(),
                     [&](const Entry& a, const Entry& b) { return key_of(a) < key_of(b); })) {
    return;
  }
  std::vector<std::pair<decltype(key_of(entries.front())), size_t>> places;
  places.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    places.emplace_back(key_of(entries[i]), i);
  }
  std::sort(places.begin(), places.end());
  std::vector<Entry> sorted;
  sorted.reserve(entries.size());
  for (const auto& [key, place] : places) {
    sorted.push_back(std::move(entries[place]));
  }
  entries = std::move(sorted);
}

}  // namespace plimsoll
