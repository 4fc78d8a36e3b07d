// What a process says of itself, whatever its locale and its labels are.
#include "appprof/announcement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <locale>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "appprof/locks.h"

namespace plimsoll::appprof {
namespace {

using ::testing::HasSubstr;

// Writes 12345 as "12.345".
class GroupedDigits : public std::numpunct<char> {
 protected:
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

// The program's locale, as std::locale::global(std::locale("de_DE.UTF-8")) makes it.
class GroupedLocale {
 public:
  GroupedLocale() : before_(std::locale::global(std::locale(std::locale::classic(), new GroupedDigits))) {}
  GroupedLocale(const GroupedLocale&) = delete;
  GroupedLocale& operator=(const GroupedLocale&) = delete;
  ~GroupedLocale() { std::locale::global(before_); }

 private:
  const std::locale before_;
};

TEST(AppprofAnnouncement, HasNumbersOfNoLocale) {
  std::string json;
  {
    const GroupedLocale grouped;
    json = to_json({.pid = 1'234'567,
                    .start_ticks = 89'012'345,
                    .address = "http://127.0.0.1:41234",
                    .kinds = {"wall"},
                    .problems = {},
                    .labels = {}});
  }
  EXPECT_THAT(json, HasSubstr("\"pid\": 1234567, \"start_ticks\": 89012345,"));
  EXPECT_TRUE(nlohmann::json::accept(json)) << json;
}

TEST(AppprofAnnouncement, ContentionTextHasNumbersOfNoLocale) {
  Profile waits;
  waits.types = {{"contentions", "count"}, {"delay", "nanoseconds"}};
  waits.duration_ns = 5'000'000'000'000;
  Sample& sample = waits.samples.emplace_back();
  sample.stack = {0x123456789};
  sample.values = {4'321, 1'000'000};
  std::string text;
  {
    const GroupedLocale grouped;
    text = contention_text(waits);
  }
  EXPECT_EQ(text,
            "--- contention:\ncycles/second=1000000000\nsampling period=1\nms since reset=5000000\n"
            "discarded samples=0\n  1000000 4321 @ 0x123456789\n");
}

// JSON is UTF-8: a daemon refuses a file with anything else, and would not find the process.
TEST(AppprofAnnouncement, BytesThatAreNoUtf8AreReplaced) {
  const std::string whole = "caf\u00e9 \u20ac \U0001F600";
  for (const auto& [text, expected] : std::initializer_list<std::pair<std::string, std::string>>{
           {whole, whole},
           {"caf\xe9", "caf\ufffd"},                             // of Latin-1
           {"\xe2\x82", "\ufffd\ufffd"},                         // cut
           {"\xc0\xaf.", "\ufffd\ufffd."},                       // longer than need be
           {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},               // half of a pair
           {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"}}) {  // beyond the last character
    const auto json = nlohmann::json::parse(
        to_json({.address = "", .kinds = {}, .problems = {}, .labels = {{"job", text}}}), nullptr, false);
    ASSERT_TRUE(json.is_object()) << text;
    EXPECT_EQ(json["labels"]["job"].get<std::string>(), expected);
  }
}

}  // namespace
}  // namespace plimsoll::appprof
