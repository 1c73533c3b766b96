// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/collect/collection.hpp"

#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/manifest.hpp"

#include <algorithm>

#include <fcntl.h>

namespace gpuhost::ctl {

using base::Json;
using base::Result;

namespace {

constexpr std::size_t record_limit = std::size_t{16} << 20U;

Json to_json(const CollectedItem& item) {
    return {{"kind", item.kind}, {"name", item.name},        {"version", item.version},
            {"file", item.file}, {"source", item.source},    {"sha256", item.sha256},
            {"size", item.size}, {"fetched", !item.present}, {"driver", item.driver}};
}

CollectedItem item_from_json(const Json& json) {
    CollectedItem item{base::string_or(json, "kind", ""),
                       base::string_or(json, "name", ""),
                       base::string_or(json, "version", ""),
                       base::string_or(json, "file", ""),
                       without_password(base::string_or(json, "source", "")),
                       base::string_or(json, "sha256", "")};
    item.size = static_cast<std::uint64_t>(base::int_or(json, "size", 0));
    item.driver = base::string_or(json, "driver", "");
    return item;
}

images::ArtifactSource artifact_of(std::string_view kind, std::string name, const CollectRequest& request) {
    images::ArtifactSource artifact;
    artifact.kind = kind;
    artifact.name = std::move(name);
    artifact.platform = request.platform;
    return artifact;
}

} // namespace

std::string without_password(const std::string& url) {
    const std::size_t begin = url.find("://");
    if (begin == std::string::npos)
        return url;
    const std::size_t host = url.rfind('@', url.find('/', begin + 3));
    return host == std::string::npos || host < begin ? url : url.substr(0, begin + 3) + url.substr(host + 1);
}

Json to_json(const Collection& collection, const CollectRequest& request) {
    Json items = Json::array();
    for (const CollectedItem& item : collection.items)
        items.push_back(to_json(item));
    Json missing = Json::array();
    for (const MissingItem& one : collection.missing)
        missing.push_back({{"what", one.what}, {"why", one.why}, {"hint", one.hint}});
    return {{"distribution", request.distribution->name},
            {"platform", request.platform},
            {"directory", request.directory},
            {"spec", collection.items.empty() || request.dry_run ? "" : request.spec_path()},
            {"items", std::move(items)},
            {"on_every_host", collection.on_every_host},
            {"missing", std::move(missing)},
            {"notes", collection.notes}};
}

std::vector<CollectedItem> read_collection(const base::Root& directory) {
    std::vector<CollectedItem> items;
    const auto text = directory.read(std::string("/") + collection_file, record_limit);
    const auto json = text ? base::parse_json(*text, collection_file) : Result<Json>(Json());
    if (json)
        for (const Json& item : base::list_of(*json, "items"))
            items.push_back(item_from_json(item));
    return items;
}

Result<void> write_collection(const base::Root& directory, const Collection& collection,
                              const CollectRequest& request) {
    Json json = to_json(collection, request);
    for (const char* key : {"directory", "spec"}) // the directory may be moved
        json.erase(key);
    return directory.write_atomic(std::string("/") + collection_file, base::dump_pretty(json) + "\n");
}

images::BundleSpec spec_of(const Collection& collection, const CollectRequest& request) {
    images::BundleSpec spec;
    spec.name = request.name;
    spec.generation = request.generation;
    for (const std::string& version : request.drivers) {
        auto driver = artifact_of("driver-packages", version, request);
        for (const CollectedItem& item : collection.items)
            if (item.driver == version)
                driver.patterns.push_back(item.file);
        if (!driver.patterns.empty())
            spec.artifacts.push_back(std::move(driver));
    }
    auto packages = artifact_of(images::packages_kind, std::string(request.distribution->name), request);
    for (const CollectedItem& item : collection.items)
        if (item.kind == "package")
            packages.patterns.push_back(item.file);
    if (!packages.patterns.empty())
        spec.artifacts.push_back(std::move(packages));
    for (const CollectedItem& item : collection.items)
        if (item.kind == "image") {
            images::ImageSource image;
            image.name = item.name;
            image.layout = image_layout;
            image.platforms = {request.platform};
            spec.images.push_back(std::move(image));
        }
    return spec;
}

std::string digest_of(const base::Root& directory, const std::string& file) {
    const auto fd = directory.open_file("/" + file, O_RDONLY | O_NOFOLLOW);
    const auto digest = fd ? content::sha256_of_file(fd->get(), file) : base::fail(fd.error());
    return digest ? digest->sha256 : "";
}

} // namespace gpuhost::ctl
