// SPDX-License-Identifier: Apache-2.0
#include "images/foreign/docker_v1.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "images/bundle/reference.hpp"

#include <map>
#include <utility>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t most_names = 10'000;
constexpr std::size_t most_layers = 1'000;

struct Layer {
    std::string directory;
    Json description;
};

tl::unexpected<base::Error> bad(const std::string& path, const std::string& why) {
    return base::fail(Errc::BadContent, "'" + path + "': " + why);
}

Result<std::string> parent_of(const Json& description, const std::string& path) {
    if (!description.is_object())
        return bad(path, "is not an object");
    const Json& parent = base::member(description, "parent");
    if (!parent.is_null() && !parent.is_string())
        return bad(path, "its parent is not a string");
    return base::string_or(description, "parent", "");
}

/// Returns the layers of an image, the topmost one first.
Result<std::vector<Layer>> layers_from(const std::string& top, const FindFile& find,
                                       const BlobSource& blobs) {
    std::vector<Layer> layers;
    std::uint64_t bytes = 0;
    std::string directory = top;
    do {
        const std::string path = directory + "/json";
        if (!content::is_sha256(directory))
            return bad(path.substr(0, 300), "the name of a layer must be 64 hex digits");
        if (layers.size() == most_layers)
            return bad(top, "has more than " + std::to_string(most_layers) +
                                " layers, or their parents form a cycle");
        GPUHOST_TRY(file, find(path));
        bytes += file.size;
        if (bytes > document_limit)
            return bad(top, "the descriptions of its layers are larger than " +
                                std::to_string(document_limit) + " bytes");
        GPUHOST_TRY(text, read_blob(blobs, file.sha256, document_limit));
        GPUHOST_TRY(description, base::parse_json(text, "'" + path + "'"));
        GPUHOST_TRY(parent, parent_of(description, path));
        layers.push_back({std::exchange(directory, std::move(parent)), std::move(description)});
    } while (!directory.empty());
    return layers;
}

void copy_texts(const Json& from, std::initializer_list<const char*> keys, Json& to) {
    for (const char* key : keys)
        if (std::string text = base::string_or(from, key, ""); !text.empty())
            to[key] = std::move(text);
}

Json history_of(const Json& layer, bool empty) {
    Json step = Json::object();
    copy_texts(layer, {"created", "author", "comment"}, step);
    const Json& container = base::member(layer, "container_config");
    if (std::string command = base::join(base::strings_or_empty(container, "Cmd"), " "); !command.empty())
        step["created_by"] = std::move(command);
    if (empty)
        step["empty_layer"] = true;
    return step;
}

/// Makes an OCI configuration. Without a platform in `top` it is linux/amd64: the versions of Docker that
/// stated none ran only there.
Json config_of(const Json& top, Json unpacked, Json history) {
    Json config{{"os", "linux"},
                {"architecture", "amd64"},
                {"rootfs", {{"type", "layers"}, {"diff_ids", std::move(unpacked)}}},
                {"history", std::move(history)}};
    copy_texts(top, {"created", "author", "os", "architecture"}, config);
    if (const Json& run = base::member(top, "config"); run.is_object())
        config["config"] = run;
    return config;
}

} // namespace

Result<std::vector<DockerV1Image>> parse_docker_repositories(std::string_view document) {
    const std::string file = "repositories";
    GPUHOST_TRY(json, base::parse_json(document, "'" + file + "'"));
    if (!json.is_object())
        return bad(file, "is not an object");
    std::map<std::string, std::vector<std::string>> images;
    std::size_t names = 0;
    for (const auto& [repository, tags] : json.items()) {
        if (!tags.is_object())
            return bad(file, "the tags of '" + repository + "' are not an object");
        for (const auto& [tag, top] : tags.items()) {
            const std::string text = repository + ":" + tag;
            const auto name = parse_reference(text);
            if (!name || !is_tag(tag) || !top.is_string())
                return bad(file, "'" + text.substr(0, 300) + "' is not an image name");
            if (++names > most_names)
                return bad(file, "has more than " + std::to_string(most_names) + " names");
            images[top.get_ref<const std::string&>()].push_back(name->text());
        }
    }
    std::vector<DockerV1Image> list;
    for (auto& [top, all] : images)
        list.push_back({top, std::move(all)});
    return list;
}

Result<std::vector<Descriptor>> convert_docker_image(const DockerV1Image& image, const FindFile& find,
                                                     BlobSink& blobs) {
    GPUHOST_TRY(layers, layers_from(image.top, find, blobs));
    DockerImage made{layers.front().directory + "/json", image.names, {}};
    Json unpacked = Json::array();
    Json history = Json::array();
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
        const std::string path = layer->directory + "/layer.tar";
        GPUHOST_TRY(file, find(path));
        GPUHOST_TRY(digest, unpacked_layer(file, path, blobs));
        history.push_back(history_of(layer->description, digest.empty()));
        if (digest.empty())
            continue;
        unpacked.push_back("sha256:" + digest);
        made.layers.push_back(path);
    }
    const Json config = config_of(layers.front().description, std::move(unpacked), std::move(history));
    GPUHOST_TRY(added, add_blob(blobs, base::dump(config)));
    return convert_docker_image(made, added, find, blobs);
}

} // namespace gpuhost::images
