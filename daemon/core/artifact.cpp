// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/artifact.hpp"

#include "daemon/base/json.hpp"

namespace gpuhost::core {

using base::Json;
using base::Result;

namespace {

constexpr std::size_t list_limit = 64U << 20U;

std::string path_of(const std::string& staging) {
    return staging + "/artifacts.json";
}

Json to_json(const Artifact& artifact) {
    Json files = Json::array();
    for (const ArtifactFile& file : artifact.files)
        files.push_back({{"name", file.name}, {"path", file.path}, {"sha256", file.sha256}});
    return {{"kind", artifact.kind},
            {"name", artifact.name},
            {"kernel", artifact.kernel},
            {"flavour", artifact.flavour},
            {"files", std::move(files)}};
}

Result<Artifact> artifact_from_json(const Json& value) {
    GPUHOST_TRY(kind, base::get_string(value, "kind"));
    GPUHOST_TRY(name, base::get_string(value, "name"));
    Artifact artifact{std::move(kind),
                      std::move(name),
                      base::string_or(value, "kernel", ""),
                      base::string_or(value, "flavour", ""),
                      {}};
    for (const Json& file : base::member(value, "files")) {
        GPUHOST_TRY(file_name, base::get_string(file, "name"));
        GPUHOST_TRY(path, base::get_string(file, "path"));
        artifact.files.push_back(
            {std::move(file_name), std::move(path), base::string_or(file, "sha256", "")});
    }
    return artifact;
}

} // namespace

Result<void> write_artifacts(const base::Root& root, const std::string& staging, const Artifacts& artifacts) {
    Json list = Json::array();
    for (const Artifact& artifact : artifacts.list)
        list.push_back(to_json(artifact));
    return root.write_atomic(path_of(staging),
                             base::dump({{"known", artifacts.known}, {"artifacts", std::move(list)}}));
}

Result<Artifacts> read_artifacts(const base::Root& root, const std::string& staging) {
    const std::string path = path_of(staging);
    GPUHOST_TRY(text, root.read(path, list_limit));
    GPUHOST_TRY(json, base::parse_json(text, path));
    Artifacts artifacts;
    artifacts.known = base::bool_or(json, "known", false);
    for (const Json& value : base::member(json, "artifacts")) {
        GPUHOST_TRY(artifact, artifact_from_json(value));
        artifacts.list.push_back(std::move(artifact));
    }
    return artifacts;
}

} // namespace gpuhost::core
