#include "server/measuring_order.h"

#include <array>
#include <sstream>
#include <utility>

#include "base/printable.h"

namespace plimsoll::server {
namespace {

constexpr size_t kMaxMachines = 100'000;
constexpr size_t kMaxHz = 10'000;
constexpr size_t kMaxNames = 1000;

query::Parameter names_parameter(std::string_view parameter, std::vector<std::string>& names) {
  return {parameter, [parameter, &names](const std::string& text) -> Status {
            if (text.empty() || printable(text) != text || names.size() == kMaxNames) {
              return query::invalid_parameter(parameter, text,
                                              fmt::format("one of at most {} names", kMaxNames));
            }
            names.push_back(text);
            return {};
          }};
}

query::Parameter events_parameter(wire::Assignment& collects) {
  return {"events", [&collects](const std::string& text) -> Status {
            collects.clear_events();
            std::istringstream stream(text);
            for (std::string name; std::getline(stream, name, ',');) {
              if (name.empty() || printable(name) != name) {
                return query::invalid_parameter("events", text, "names separated by commas");
              }
              collects.add_events()->set_name(name);
            }
            return {};
          }};
}

}  // namespace

Result<scheduler::MeasuringOrder> parse_measuring_order(const query::Parameters& parameters,
                                                        const wire::Assignment& otherwise, std::string by) {
  scheduler::MeasuringOrder order;
  order.by = std::move(by);
  order.collects = otherwise;
  size_t rate_hz = order.collects.rate_hz();
  const std::array known{names_parameter("job", order.jobs),
                         names_parameter("machine", order.machines),
                         query::duration_parameter("for", order.window_ns),
                         query::count_parameter("max_machines", kMaxMachines, order.max_machines),
                         events_parameter(order.collects),
                         query::count_parameter("rate", kMaxHz, rate_hz)};
  if (auto read = query::read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  order.collects.set_rate_hz(static_cast<uint32_t>(rate_hz));
  const Status checked = scheduler::check(order);
  return checked ? Result<scheduler::MeasuringOrder>(std::move(order)) : propagate(checked);
}

}  // namespace plimsoll::server
