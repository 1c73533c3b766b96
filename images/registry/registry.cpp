// SPDX-License-Identifier: Apache-2.0
#include "images/registry/registry.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "images/bundle/oci.hpp"
#include "images/store/blob_store.hpp"

#include <algorithm>
#include <optional>

namespace gpuhost::images {

using base::Json;
using Code = RegistryErrorCode;

namespace {

constexpr std::string_view index_type = "application/vnd.oci.image.index.v1+json";
constexpr std::size_t most_tags = 10'000; ///< in one answer
constexpr const char* other_algorithm = "only sha256 digests are supported";
/// In bytes. Larger indexes and manifests are parsed one at a time and sent from their files, so that many
/// slow clients need little memory.
constexpr std::size_t large_document = 256U << 10U;

std::string_view word_of(Endpoint endpoint) {
    switch (endpoint) {
    case Endpoint::Blob:
        return "blob";
    case Endpoint::Manifest:
        return "manifest";
    case Endpoint::Tags:
        return "tags";
    case Endpoint::Referrers:
        return "referrers";
    case Endpoint::Metrics:
        return "metrics";
    case Endpoint::Base:
        break;
    }
    return "base";
}

/// Returns the repository with its registry. In docker.io, a name of one component is below "library/".
std::string repository_in(const std::string& registry, const std::string& name) {
    const bool official = registry == "docker.io" && name.find('/') == std::string::npos;
    return registry + (official ? "/library/" : "/") + name;
}

/// Returns all repositories, with their registries, that the request's name may refer to.
std::vector<std::string> candidates(const RegistryRequest& request, const References& references) {
    const std::string& name = request.name;
    if (!request.ns.empty())
        return {repository_in(request.ns, name)};
    const auto& registries = references.registries();
    if (const auto slash = name.find('/'); slash != std::string::npos) {
        const std::string registry = registry_of_component(std::string_view(name).substr(0, slash));
        if (std::binary_search(registries.begin(), registries.end(), registry))
            return {repository_in(registry, name.substr(slash + 1))};
    }
    std::vector<std::string> found;
    for (const std::string& registry : registries)
        if (references.has_repository(repository_in(registry, name)))
            found.push_back(repository_in(registry, name));
    return found;
}

/// Returns the repository of a request, with its registry. Fails with NameUnknown if no bundle has it, or if
/// several registries have it.
tl::expected<std::string, RegistryError> find_repository(const RegistryRequest& request,
                                                         const References& references) {
    if (!is_repository(request.name))
        return refuse(
            Code::NameInvalid, 400,
            "repositories have lower-case letters and digits, with '.', '_', '-' and '/' between them");
    auto found = candidates(request, references);
    if (found.size() > 1)
        return refuse(Code::NameUnknown, 404,
                      "more than one registry has it: " + base::join(found, ", ") +
                          "; select one with ?ns= or before the repository");
    if (found.empty() || !references.has_repository(found.front()))
        return refuse(Code::NameUnknown, 404, "no bundle on this host has an image of that repository");
    return std::move(found.front());
}

std::string next_page(const RegistryRequest& request, std::size_t most, std::string_view last) {
    const std::string ns = request.ns.empty() ? "" : "&ns=" + base::percent_encoded(request.ns, ":/");
    return "</v2/" + request.name + "/tags/list?n=" + std::to_string(most) +
           "&last=" + base::percent_encoded(last, ":/") + ns + ">; rel=\"next\"";
}

} // namespace

RegistryResult<RegistryAnswer> Registry::blob(const RegistryCall& call, const RegistryRequest& request,
                                              const References& references) const {
    if (const auto repository = find_repository(request, references); !repository)
        return tl::unexpected<RegistryError>(repository.error());
    if (request.hex.empty())
        return refuse(Code::BlobUnknown, 404, other_algorithm);
    return blob_answer(root_, call, request.hex);
}

RegistryResult<RegistryAnswer> Registry::manifest(const RegistryCall& call, const RegistryRequest& request,
                                                  const References& references) const {
    const auto repository = find_repository(request, references);
    if (!repository)
        return tl::unexpected<RegistryError>(repository.error());
    std::string hex = request.hex;
    std::string media_type;
    std::string origin;
    if (!request.tag.empty()) {
        const auto slash = repository->find('/');
        const auto claim =
            references.find({repository->substr(0, slash), repository->substr(slash + 1), request.tag, {}});
        if (!claim)
            return refuse(Code::ManifestUnknown, 404,
                          "no bundle on this host has that tag in " + *repository);
        hex = claim->hex;
        media_type = claim->media_type;
        origin = ", listed in bundle '" + std::string(claim->bundle) + "': import it again";
    }
    if (hex.empty())
        return refuse(Code::ManifestUnknown, 404, other_algorithm);
    auto content = open_blob(root_, hex);
    if (!content)
        return refuse(content.error().code == Code::BlobUnknown ? Code::ManifestUnknown
                                                                : content.error().code,
                      content.error().status, content.error().message + ": sha256:" + hex + origin);
    if (content->size > document_limit)
        return refuse(Code::ManifestUnknown, 404,
                      "sha256:" + hex + " is not a manifest, but a blob of " + std::to_string(content->size) +
                          " bytes");
    std::unique_lock one_at_a_time(large_documents_, std::defer_lock);
    if (content->size > large_document)
        one_at_a_time.lock();
    auto text = base::read_all(content->fd.get(), document_limit, "the manifest");
    const auto document = text ? parse_document(*text, media_type, "its content") : base::fail(text.error());
    if (!document)
        return refuse(Code::ManifestUnknown, 404,
                      "sha256:" + hex + " is not a manifest: " + document.error().message);
    RegistryAnswer answer;
    add_cache_headers(answer, hex, request.tag.empty());
    answer.part = {0, content->size};
    if (names_etag(call.if_none_match, "\"sha256:" + hex + "\"")) {
        answer.status = 304;
        return answer;
    }
    answer.headers.emplace_back("Content-Type", document->media_type);
    if (content->size > large_document)
        answer.file = std::move(content->fd);
    else
        answer.text = *std::move(text);
    return answer;
}

RegistryResult<RegistryAnswer> Registry::tags(const RegistryRequest& request,
                                              const References& references) const {
    const auto repository = find_repository(request, references);
    if (!repository)
        return tl::unexpected<RegistryError>(repository.error());
    const std::size_t most =
        static_cast<std::size_t>(std::min<std::uint64_t>(request.most.value_or(most_tags), most_tags));
    auto tags = references.tags(*repository, request.last, most == 0 ? 0 : most + 1);
    const bool more = tags.size() > most;
    if (more)
        tags.pop_back();
    RegistryAnswer answer = json_answer(Json{{"name", request.name}, {"tags", tags}}, "application/json");
    if (more)
        answer.headers.emplace_back("Link", next_page(request, most, tags.back()));
    return answer;
}

/// Answers with the images that refer to the requested one as their subject, such as its signatures. For an
/// unknown subject the list is empty, since OCI distribution 1.1 requires that ("MUST NOT return 404").
RegistryResult<RegistryAnswer> Registry::referrers(const RegistryRequest& request,
                                                   const References& references) const {
    Json manifests = Json::array();
    const auto repository = find_repository(request, references);
    if (!repository && repository.error().code == Code::NameInvalid)
        return tl::unexpected<RegistryError>(repository.error());
    const BlobStore store(root_);
    for (const BundleImage* image : references.referrers(repository ? request.hex : ""))
        if ((request.artifact_type.empty() || image->artifact_type == request.artifact_type) &&
            store.has(image->hex, image->size)) // missing if the bundle has it for other hosts only
            manifests.push_back({{"mediaType", image->media_type},
                                 {"digest", "sha256:" + image->hex},
                                 {"size", image->size},
                                 {"artifactType", image->artifact_type},
                                 {"annotations", image->annotations}});
    RegistryAnswer answer = json_answer(
        Json{{"schemaVersion", 2}, {"mediaType", index_type}, {"manifests", std::move(manifests)}},
        index_type);
    if (!request.artifact_type.empty())
        answer.headers.emplace_back("OCI-Filters-Applied", "artifactType");
    return answer;
}

RegistryAnswer Registry::metrics(const References& references) const {
    RegistryAnswer answer;
    answer.headers.emplace_back("Content-Type", "text/plain; version=0.0.4");
    answer.text = metrics_.text(references);
    return answer;
}

RegistryResult<RegistryAnswer> Registry::respond(const RegistryCall& call, const RegistryRequest& request) {
    const auto references = references_.current();
    if (!references)
        return refuse(Code::Unknown, 500, references.error().message);
    switch (request.endpoint) {
    case Endpoint::Base:
        break;
    case Endpoint::Metrics:
        return metrics(**references);
    case Endpoint::Blob:
        return blob(call, request, **references);
    case Endpoint::Manifest:
        return manifest(call, request, **references);
    case Endpoint::Tags:
        return tags(request, **references);
    case Endpoint::Referrers:
        return referrers(request, **references);
    }
    return json_answer(Json::object(), "application/json");
}

RegistryAnswer Registry::answer(const RegistryCall& call) {
    const auto request = parse_registry_request(call.target);
    auto response = [&]() -> RegistryResult<RegistryAnswer> {
        if (call.method != "GET" && call.method != "HEAD")
            return refuse(Code::Unsupported, 405, "this registry is read only");
        if (!request)
            return tl::unexpected<RegistryError>(request.error());
        return respond(call, *request);
    }();
    RegistryAnswer answer = response ? *std::move(response) : error_answer(call, response.error());
    answer.headers.emplace_back("Docker-Distribution-Api-Version", "registry/2.0");
    metrics_.count(request ? word_of(request->endpoint) : "other", answer.status);
    return answer;
}

} // namespace gpuhost::images
