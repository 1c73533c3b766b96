// SPDX-License-Identifier: Apache-2.0
// Converts the driver store to JSON, for 'gpuhostctl driver list --json' and for status. Converts selections
// to JSON and back, for their files and for the args of steps.
#include "daemon/base/json.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/store/store.hpp"

namespace gpuhost::kmod {

using base::Json;
using base::member;
using base::string_or;

namespace {

Json to_json(const ModuleFile& module) {
    return Json{{"name", module.name},         {"file", module.file},
                {"version", module.version},   {"srcversion", module.srcversion},
                {"vermagic", module.vermagic}, {"depends", module.depends},
                {"size", module.size},         {"sha256", module.sha256},
                {"signer", module.signer}};
}

Json to_json(const Userland& set) {
    return Json{{"digest", set.digest},
                {"path", set.path},
                {"files", set.files},
                {"bytes", set.bytes},
                {"nvml", set.nvml},
                {"firmware", set.firmware},
                {"closed_gpus", set.closed_gpus},
                {"published_us", set.published_us}};
}

Json to_json(const ModuleSet& set) {
    Json modules = Json::array();
    for (const ModuleFile& module : set.modules)
        modules.push_back(to_json(module));
    return Json{{"kernel", set.kernel}, {"flavour", set.flavour},        {"digest", set.digest},
                {"path", set.path},     {"modules", std::move(modules)}, {"published_us", set.published_us}};
}

Json to_json(const SourceSet& set) {
    return Json{{"flavour", set.flavour},     {"digest", set.digest},
                {"path", set.path},           {"file", set.file},
                {"size", set.size},           {"sha256", set.sha256},
                {"directory", set.directory}, {"published_us", set.published_us}};
}

Json to_json(const DriverVersion& version) {
    Json value{{"version", version.version},
               {"userland", Json::array()},
               {"modules", Json::array()},
               {"sources", Json::array()}};
    for (const Userland& set : version.userland)
        value["userland"].push_back(to_json(set));
    for (const ModuleSet& set : version.modules) {
        value["modules"].push_back(to_json(set));
        value["modules"].back()["superseded"] = is_superseded(version, set);
    }
    for (const SourceSet& set : version.sources)
        value["sources"].push_back(to_json(set));
    return value;
}

Json to_json(const Generation& generation) {
    return Json{
        {"version", generation.version}, {"userland", generation.userland}, {"modules", generation.modules}};
}

std::optional<Generation> generation_from_json(const Json& value) {
    Generation generation{string_or(value, "version", {}), string_or(value, "userland", {}),
                          string_or(value, "modules", {})};
    if (!base::is_driver_version(generation.version) || generation.modules.empty())
        return std::nullopt;
    return generation;
}

} // namespace

Json to_json(const Selection& selection) {
    Json value = to_json(selection.generation);
    value["previous"] = selection.previous ? to_json(*selection.previous) : Json();
    return value;
}

std::optional<Selection> selection_from_json(const Json& value) {
    auto generation = generation_from_json(value);
    if (!generation)
        return std::nullopt;
    return Selection{std::move(*generation), generation_from_json(member(value, "previous"))};
}

Json to_json(const Store& store) {
    Json value{{"selected", Json::object()}, {"versions", Json::array()}, {"problems", store.problems}};
    for (const auto& [kernel, selection] : store.selected)
        value["selected"][kernel] = to_json(selection);
    for (const DriverVersion& version : store.versions)
        value["versions"].push_back(to_json(version));
    return value;
}

} // namespace gpuhost::kmod
