#include "server/experiments_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "base/time.h"
#include "query/operations/experiments.h"
#include "query/wsmeter/asked/defined_experiment.h"
#include "server/orders.h"

namespace plimsoll::server {
namespace {

constexpr std::string_view kExperimentsPath = "/api/v1/experiments/";
// A definition at its limits, with escapes.
constexpr size_t kMaxDefinitionBytes = size_t{64} << 10;

using Definitions = std::vector<store::ExperimentDefinition>;

struct ChangedExperiments {
  std::string note;  // what was done
  Definitions definitions;
};

std::string name_in(const http::Request& request) {
  return request.path.substr(std::min(request.path.size(), kExperimentsPath.size()));
}

// The caller, if there is a name to keep.
std::string owner_of(const http::Caller& caller) {
  std::string owner = printable(caller.name);
  if (owner.size() > store::kMaxExperimentOwnerBytes) {
    owner.clear();
  }
  return owner;
}

bool says_the_same(const store::ExperimentDefinition& a, const store::ExperimentDefinition& b) {
  return a.feature == b.feature && a.owner == b.owner && a.parameters == b.parameters;
}

// Any thread.
class SharedExperiments {
 public:
  explicit SharedExperiments(store::DrawStore store) : store_(std::move(store)) {}

  Result<ChangedExperiments> define(const http::Request& request, int64_t now_ns) {
    auto definition = query::definition_from_json(name_in(request), request.body);
    if (!definition) {
      return propagate(definition);
    }
    const std::lock_guard lock(mutex_);
    const auto known = store_.experiments();
    if (!known) {
      return propagate(known);
    }
    const auto before = std::ranges::find(*known, definition->name, &store::ExperimentDefinition::name);
    const bool is_new = before == known->end();
    if (definition->owner.empty()) {
      definition->owner = is_new ? owner_of(request.caller) : before->owner;
    }
    if (!is_new && says_the_same(*before, *definition)) {
      return ChangedExperiments{fmt::format("experiment {} is defined so already", before->name), {*before}};
    }
    definition->defined_ns = is_new ? now_ns : before->defined_ns;
    definition->changed_ns = now_ns;
    Status fits = query::check_definition(*definition, now_ns);
    fits = fits && !is_new ? query::check_change(*before, *definition, now_ns) : fits;
    const Status kept = fits ? store_.keep_experiment(*definition) : fits;
    if (!kept) {
      return propagate(kept);
    }
    return ChangedExperiments{
        fmt::format("experiment {} is {}", definition->name, is_new ? "defined" : "changed"), {*definition}};
  }

  Result<ChangedExperiments> withdraw(const http::Request& request) {
    const std::string name = name_in(request);
    const std::lock_guard lock(mutex_);
    const auto withdrawn = store_.withdraw_experiment(name);
    auto left = withdrawn ? store_.experiments() : propagate(withdrawn);
    if (!left) {
      return propagate(left);
    }
    if (!*withdrawn) {
      return query::no_such_experiment(name, *left);
    }
    return ChangedExperiments{fmt::format("experiment {} is withdrawn", name), std::move(*left)};
  }

 private:
  std::mutex mutex_;
  store::DrawStore store_;  // protected by mutex_
};

http::Response answer_with_experiments(const Result<ChangedExperiments>& changed) {
  if (!changed) {
    return http::error_response(changed.error());
  }
  query::Table table = query::experiments({.name = {}, .now_ns = wall_now_ns()}, changed->definitions);
  table.notes.insert(table.notes.begin(), changed->note);
  http::Response response;
  response.body = query::to_json(table);
  return response;
}

http::Route path_of_experiments(std::string method) {
  http::Route route;
  route.method = std::move(method);
  route.path = kExperimentsPath;
  route.is_prefix = true;
  route.max_body_bytes = kMaxDefinitionBytes;
  return route;
}

}  // namespace

std::vector<http::Route> experiment_routes(store::DrawStore store, store::DiskReserve& reserve) {
  const auto shared = std::make_shared<SharedExperiments>(std::move(store));
  return {order_route(path_of_experiments("PUT"), reserve,
                      [shared](const http::Request& request) {
                        return answer_with_experiments(shared->define(request, wall_now_ns()));
                      }),
          order_route(path_of_experiments("DELETE"), reserve, [shared](const http::Request& request) {
            return answer_with_experiments(shared->withdraw(request));
          })};
}

}  // namespace plimsoll::server
