// SPDX-License-Identifier: Apache-2.0
// Edits a Docker daemon.json of any content.
#include "daemon/base/json.hpp"
#include "daemon/runtime/configure/docker_edit.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

namespace {

constexpr const char* features = "features";
constexpr const char* runtimes = "runtimes";

/// Returns the members that an edit must not change.
base::Json others(base::Json document) {
    for (const char* key : {"default-runtime", "cdi-spec-dirs"})
        document.erase(key);
    for (const auto& [object, name] : {std::pair{features, "cdi"}, std::pair{runtimes, "nvidia"}})
        if (document.contains(object)) {
            document[object].erase(name);
            if (document[object].empty())
                document.erase(object);
        }
    return document;
}

base::Json read(const std::string& text) {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos)
        return base::Json::object();
    const auto document = base::parse_json(text, "output");
    fuzz::require(document && document->is_object(), "a written file can be read");
    return *document;
}

runtime::DockerEdit addition() {
    runtime::DockerEdit edit;
    edit.cdi = true;
    edit.runtimes["nvidia"] = "/usr/bin/nvidia-container-runtime";
    edit.default_runtime = "nvidia";
    edit.spec_dirs = {"/etc/cdi", "/run/cdi"};
    return edit;
}

runtime::DockerEdit removal() {
    runtime::DockerEdit edit;
    edit.drop_cdi = true;
    edit.removed_runtimes = {"nvidia"};
    edit.default_runtime = "";
    edit.spec_dirs.emplace();
    return edit;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(fuzz::text_of(data, size));
    const auto same = runtime::edit_docker(text, {}, "input");
    fuzz::require(!same || *same == text, "an edit without changes preserves the text");
    const auto made = runtime::edit_docker(text, addition(), "input");
    if (!made)
        return 0;
    const base::Json before = read(text);
    const base::Json after = read(*made);
    fuzz::require(base::dump(others(before)) == base::dump(others(after)), "an edit preserves other members");
    fuzz::require(base::member(base::member(after, features), "cdi") == true &&
                      base::member(after, "default-runtime") == "nvidia" &&
                      base::member(after, runtimes).contains("nvidia"),
                  "an edit sets the desired members");
    fuzz::require(runtime::edit_docker(*made, addition(), "output") == *made,
                  "a repeated edit changes nothing");
    const auto removed = runtime::edit_docker(*made, removal(), "output");
    fuzz::require(removed && base::dump(others(before)) == base::dump(others(read(*removed))),
                  "added members can be removed");
    return 0;
}
