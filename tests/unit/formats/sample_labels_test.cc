#include "formats/sample_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "formats/import_profile.h"
#include "proto/pprof.pb.h"

namespace plimsoll::formats {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Samples of one stack, each with labels.
class LabelledProfile {
 public:
  LabelledProfile() {
    text("");
    auto& type = *profile_.add_sample_type();
    type.set_type(text("samples"));
    type.set_unit(text("count"));
    auto& function = *profile_.add_function();
    function.set_id(1);
    function.set_name(text("main"));
    auto& location = *profile_.add_location();
    location.set_id(1);
    location.add_line()->set_function_id(1);
  }

  pprof::Sample& add(int64_t value, const std::vector<std::pair<std::string, std::string>>& labels) {
    pprof::Sample& sample = *profile_.add_sample();
    sample.add_location_id(1);
    sample.add_value(value);
    for (const auto& [key, label_text] : labels) {
      pprof::Label& label = *sample.add_label();
      label.set_key(text(key));
      label.set_str(text(label_text));
    }
    return sample;
  }

  int64_t text(const std::string& text) {
    profile_.add_string_table(text);
    return profile_.string_table_size() - 1;
  }

  // "2 a=1 b=2": a line for each row, by its hits.
  std::vector<std::string> imported() {
    raw_ = *import_profile(as_bytes(encoded()), {.machine = "m", .now_ns = 1});
    const wire::SampleTable& table = raw_.samples(0);
    std::vector<std::string> lines;
    for (int row = 0; row < table.stack_size(); ++row) {
      std::string line = fmt::format("{}", table.hits(row));
      const uint32_t set = table.label_set_size() == 0 ? 0 : table.label_set(row);
      if (set != 0) {
        const auto& labels = raw_.label_sets(static_cast<int>(set - 1)).labels();
        for (const auto& [key, value] : std::map<std::string, std::string>(labels.begin(), labels.end())) {
          line += fmt::format(" {}={}", key, value);
        }
      }
      lines.push_back(line);
    }
    return lines;
  }

  std::string encoded() const { return profile_.SerializeAsString(); }
  const wire::RawProfile& raw() const { return raw_; }

 private:
  pprof::Profile profile_;
  wire::RawProfile raw_;
};

TEST(SampleLabels, RowsOfOtherLabelsStayApart) {
  LabelledProfile profile;
  profile.add(1, {});
  profile.add(2, {{"tier", "gold"}, {"request", "get"}});
  profile.add(4, {{"request", "get"}, {"tier", "gold"}});
  profile.add(8, {{"tier", "free"}});
  EXPECT_THAT(profile.imported(), ElementsAre("1", "6 request=get tier=gold", "8 tier=free"));
}

TEST(SampleLabels, WithoutThemNothingIsAdded) {
  LabelledProfile profile;
  profile.add(1, {});
  EXPECT_THAT(profile.imported(), ElementsAre("1"));
  EXPECT_THAT(profile.raw().label_sets(), IsEmpty());
  EXPECT_EQ(profile.raw().samples(0).label_set_size(), 0);
}

TEST(SampleLabels, NumericOnesAndThoseWithoutAKeyAreLeftOut) {
  LabelledProfile profile;
  pprof::Label& bytes = *profile.add(1, {{"", "x"}, {"empty", ""}}).add_label();
  bytes.set_key(profile.text("bytes"));
  bytes.set_num(48);
  EXPECT_THAT(profile.imported(), ElementsAre("1"));
}

TEST(SampleLabels, OfAKeyThatComesTwiceTheLastStands) {
  LabelledProfile profile;
  profile.add(1, {{"k", "a"}, {"k", "b"}});
  EXPECT_THAT(profile.imported(), ElementsAre("1 k=b"));
}

TEST(SampleLabels, OfVeryManyValuesTheMostFrequentAreKept) {
  LabelledProfile profile;
  for (size_t i = 0; i <= kMaxLabelValues; ++i) {
    profile.add(1, {{"id", fmt::format("v{}", i)}});
    if (i > 0) {
      profile.add(1, {{"id", fmt::format("v{}", i)}});
    }
  }
  const std::vector<std::string> rows = profile.imported();
  EXPECT_EQ(rows.size(), kMaxLabelValues + 1);
  EXPECT_THAT(rows, Contains("1 id=[other]"));
  EXPECT_THAT(rows, Contains("2 id=v1"));
  EXPECT_THAT(profile.raw().notes(), Contains(HasSubstr("the label id has more than 200 values")));
}

TEST(SampleLabels, ATextThatThereIsNotIsAnError) {
  LabelledProfile profile;
  pprof::Label& label = *profile.add(1, {}).add_label();
  label.set_key(profile.text("k"));
  label.set_str(99);
  EXPECT_THAT(import_profile(as_bytes(profile.encoded()), {.machine = "m", .now_ns = 1}).error().text(),
              HasSubstr("field: sample[0].label.str"));
}

}  // namespace
}  // namespace plimsoll::formats
