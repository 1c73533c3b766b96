// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/sharing.hpp"

#include "daemon/base/json.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::string_view mark = "::"; ///< between the UUID and the number of a replica

auto find(const Sharing& sharing, std::string_view resource) {
    return std::find_if(sharing.resources.begin(), sharing.resources.end(),
                        [&](const SharedResource& one) { return one.name == resource; });
}

} // namespace

unsigned replicas_of(const Sharing& sharing, std::string_view resource) {
    const auto found = find(sharing, resource);
    return found == sharing.resources.end() ? 1 : found->replicas;
}

Json to_json(const Sharing& sharing) {
    Json resources = Json::array();
    for (const SharedResource& one : sharing.resources)
        resources.push_back({{"name", one.name}, {"replicas", one.replicas}});
    return {{"resources", std::move(resources)},
            {"renamed", sharing.renamed},
            {"one_each", sharing.one_each},
            {"packed", sharing.packed}};
}

Result<Sharing> sharing_from_json(const Json& value) {
    Sharing sharing{{},
                    base::bool_or(value, "renamed", false),
                    base::bool_or(value, "one_each", false),
                    base::bool_or(value, "packed", false)};
    for (const Json& element : base::list_of(value, "resources")) {
        GPUHOST_TRY(name, base::get_string(element, "name"));
        GPUHOST_TRY(replicas, base::get_int(element, "replicas"));
        if (replicas < 2 || replicas > most_replicas)
            return base::fail(Errc::BadContent, "the sharing has an invalid number of replicas");
        if (find(sharing, name) != sharing.resources.end())
            return base::fail(Errc::BadContent, "the sharing has a resource twice");
        sharing.resources.push_back({std::move(name), static_cast<unsigned>(replicas)});
    }
    return sharing;
}

std::string replica_id(const std::string& uuid, unsigned number) {
    return uuid + std::string(mark) + std::to_string(number);
}

std::string_view device_of(std::string_view id) {
    return id.substr(0, id.find(mark));
}

} // namespace gpuhost::devices
