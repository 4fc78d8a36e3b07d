// Parses and dumps JSON with nlohmann-json. The argument: how often.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace {

uint64_t next(uint64_t& state) {
  state ^= state << 13U;
  state ^= state >> 7U;
  state ^= state << 17U;
  return state;
}

// Like answers of a service: objects with names, numbers, texts with escapes, and lists.
std::string document() {
  uint64_t random = 88172645463325252U;
  nlohmann::json list = nlohmann::json::array();
  for (int i = 0; i < 2000; ++i) {
    nlohmann::json entry;
    entry["id"] = i;
    entry["name"] = "user-" + std::to_string(next(random) % 100000);
    entry["score"] = static_cast<double>(next(random) % 1000000) / 997.0;
    entry["active"] = next(random) % 3 == 0;
    entry["note"] = next(random) % 4 == 0 ? "line one\n\"line two\"\t\xc3\xa9" : "plain text of some length";
    for (uint64_t tag = 0; tag < next(random) % 6; ++tag) {
      entry["tags"].push_back("tag" + std::to_string(next(random) % 50));
    }
    entry["position"] = {{"x", next(random) % 1000}, {"y", -static_cast<int>(next(random) % 1000)}};
    list.push_back(entry);
  }
  return list.dump();
}

}  // namespace

int main(int, char** argv) {
  const std::string text = document();
  uint64_t bytes = 0;
  for (int round = std::atoi(argv[1]); round > 0; --round) {
    nlohmann::json parsed = nlohmann::json::parse(text);
    parsed[static_cast<size_t>(round) % parsed.size()]["seen"] = round;
    bytes += parsed.dump().size();
  }
  std::printf("%llu\n", static_cast<unsigned long long>(bytes));
  return 0;
}
