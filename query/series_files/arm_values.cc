#include "query/series_files/arm_values.h"

#include <array>
#include <unordered_map>

namespace plimsoll::query {
namespace {

class NameIds {
 public:
  uint32_t id_of(std::string_view name) {
    return ids_.try_emplace(std::string(name), static_cast<uint32_t>(ids_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, uint32_t> ids_;
};

}  // namespace

Result<ArmValues> read_arm_values(const NamedSeries& series, const ArmNames& names) {
  static constexpr std::array<WantedColumn, 6> kColumns{{{.name = "time"},
                                                         {.name = "arm"},
                                                         {.name = "user"},
                                                         {.name = "value"},
                                                         {.name = "place", .is_required = false},
                                                         {.name = "count", .is_required = false}}};
  ArmValues arms;
  NameIds users;
  NameIds places;
  const Status done =
      for_each_record(series, kColumns, [&](uint64_t, std::span<const std::string_view> fields) -> Status {
        const bool is_test = fields[1] == names.test;
        if (!is_test && fields[1] != names.control) {
          ++arms.other_arms;
          return {};
        }
        const auto time_ns = time_field(fields[0]);
        const auto value = number_field("value", fields[3]);
        const auto count = fields[5].empty() ? Result<double>(1) : number_field("count", fields[5]);
        if (!time_ns || !value || !count) {
          return !time_ns ? propagate(time_ns) : !value ? propagate(value) : propagate(count);
        }
        if (*count > 0) {
          (is_test ? arms.test : arms.control)
              .push_back({.time_ns = *time_ns,
                          .place = places.id_of(fields[4]),
                          .user = users.id_of(fields[2]),
                          .value = *value,
                          .count = *count});
        }
        return {};
      });
  if (!done) {
    return propagate(done);
  }
  for (const auto& [arm, name] :
       {std::pair(&arms.control, &names.control), std::pair(&arms.test, &names.test)}) {
    if (arm->empty()) {
      return with_hint(fail(ErrorCode::kInvalid, "{}: no values of the arm \"{}\"", series.name, *name),
                       "name the arms with --control and --test");
    }
  }
  return arms;
}

}  // namespace plimsoll::query
