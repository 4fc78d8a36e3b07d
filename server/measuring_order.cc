#include "server/measuring_order.h"

#include <array>
#include <sstream>
#include <utility>

#include "base/printable.h"
#include "traces/bursts/burst_config.h"

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

query::Parameter bursts_parameter(wire::Assignment& collects) {
  return {"bursts", [&collects](const std::string& text) -> Status {
            const auto config = traces::BurstConfig::parse(text);
            if (!config) {
              return with_field(propagate(config), "bursts");
            }
            collects.mutable_bursts()->set_config_bits(config->bits());
            return {};
          }};
}

query::Parameter burst_events_parameter(std::vector<std::string>& events) {
  return {"bursts_events", [&events](const std::string& text) -> Status {
            std::istringstream stream(text);
            for (std::string name; std::getline(stream, name, ',');) {
              events.push_back(name);
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
  order.collects.clear_bursts();
  size_t rate_hz = order.collects.rate_hz();
  int64_t bursts_ns = 0;
  std::vector<std::string> burst_events;
  const std::array known{names_parameter("job", order.jobs),
                         names_parameter("machine", order.machines),
                         query::duration_parameter("for", order.window_ns),
                         query::count_parameter("max_machines", kMaxMachines, order.max_machines),
                         events_parameter(order.collects),
                         query::count_parameter("rate", kMaxHz, rate_hz),
                         bursts_parameter(order.collects),
                         query::duration_parameter("bursts_for", bursts_ns),
                         burst_events_parameter(burst_events)};
  if (auto read = query::read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  order.collects.set_rate_hz(static_cast<uint32_t>(rate_hz));
  if (order.collects.has_bursts()) {
    wire::BurstRequest& bursts = *order.collects.mutable_bursts();
    bursts.set_duration_ns(bursts_ns == 0 ? order.window_ns : bursts_ns);
    bursts.mutable_events()->Add(burst_events.begin(), burst_events.end());
  } else if (bursts_ns != 0 || !burst_events.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "bursts_for and bursts_events require bursts"), "bursts");
  }
  const Status checked = scheduler::check(order);
  return checked ? Result<scheduler::MeasuringOrder>(std::move(order)) : propagate(checked);
}

}  // namespace plimsoll::server
