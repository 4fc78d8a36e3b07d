#include "diagnosis/buckets/compared_requests.h"

#include <fmt/format.h>

namespace plimsoll::diagnosis {

ComparedRequests without(const ComparedRequests& requests, const std::vector<BucketTerm>& terms) {
  ComparedRequests rest;
  rest.hosts = requests.hosts;
  for (const BucketAttribute& attribute : requests.attributes) {
    rest.attributes.push_back({attribute.name, attribute.values, {}, attribute.is_searched});
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests.is_in(i, terms)) {
      continue;
    }
    rest.ms.push_back(requests.ms[i]);
    rest.start_ns.push_back(requests.start_ns[i]);
    rest.host.push_back(requests.host[i]);
    rest.is_new.push_back(requests.is_new[i]);
    for (size_t a = 0; a < rest.attributes.size(); ++a) {
      rest.attributes[a].value_of.push_back(requests.attributes[a].value_of[i]);
    }
  }
  return rest;
}

std::string describe(const std::vector<BucketTerm>& terms, const ComparedRequests& requests) {
  std::string text;
  for (const BucketTerm& term : terms) {
    const BucketAttribute& attribute = requests.attributes[term.attribute];
    text += fmt::format("{}{}={}", text.empty() ? "" : " and ", attribute.name, attribute.values[term.value]);
  }
  return text.empty() ? "all requests" : text;
}

}  // namespace plimsoll::diagnosis
