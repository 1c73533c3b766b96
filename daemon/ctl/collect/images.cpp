// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/collect/gather.hpp"
#include "images/bundle/reference.hpp"

#include <algorithm>

namespace gpuhost::ctl {

using base::Errc;
using base::Json;
using base::Result;

namespace {

const images::Tool skopeo{"skopeo", "skopeo"};
constexpr std::chrono::hours copy_deadline{12};
constexpr std::size_t document_limit = std::size_t{16} << 20U;

/// The operating system and the architecture of "linux/amd64".
struct Platform {
    std::string system;
    std::string architecture;
};

Platform platform_of(const std::string& text) {
    const std::size_t slash = text.find('/');
    return {text.substr(0, slash), text.substr(slash + 1)};
}

bool is_for(const Json& descriptor, const Platform& platform) {
    const Json& own = base::member(descriptor, "platform");
    return base::string_or(own, "os", "") == platform.system &&
           base::string_or(own, "architecture", "") == platform.architecture;
}

/// Returns the platforms of an index, as "linux/amd64, linux/arm64".
std::string platforms_in(const Json& index) {
    std::vector<std::string> all;
    for (const Json& one : base::list_of(index, "manifests")) {
        const Json& own = base::member(one, "platform");
        all.push_back(base::string_or(own, "os", "") + "/" + base::string_or(own, "architecture", ""));
    }
    std::erase(all, "unknown/unknown"); // attestations
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return printable(base::join(all, ", "));
}

/// Reports whether an index or manifest is in OCI's format, else it is in one of Docker's.
bool is_oci(const Json& document) {
    return base::int_or(document, "schemaVersion", 0) == 2 &&
           !base::starts_with(base::string_or(document, "mediaType", ""), "application/vnd.docker.");
}

class Copier {
  public:
    explicit Copier(Gathering& gathering)
        : gathering_(gathering), platform_(platform_of(gathering.request.platform)) {}

    Result<void> copy(const std::string& name) {
        GPUHOST_TRY(inspected, inspect(name));
        const Json& index = inspected.document;
        if (index.is_null())
            return {};
        const bool is_list = index.contains("manifests");
        const Json& list = base::list_of(index, "manifests");
        if (is_list &&
            std::none_of(list.begin(), list.end(), [&](const Json& one) { return is_for(one, platform_); })) {
            miss(name, "has nothing for " + gathering_.request.platform + ", only for " + platforms_in(index),
                 "Set --platform to the hosts' platform, or use another image.");
            return {};
        }
        CollectedItem item{"image", name, "", image_layout, "docker://" + name};
        const std::string before = stored(name).hex;
        if (!gathering_.request.dry_run) {
            gathering_.programs.report("fetching image " + name);
            GPUHOST_TRY(done,
                        is_list && is_oci(index) ? copy_index(name) : copy_platform(name, is_oci(index)));
            if (!done)
                return {};
            if (!is_oci(index))
                gathering_.result.notes.push_back("Image " + printable(name) +
                                                  " was converted from Docker's older format. Its digest "
                                                  "differs from the registry's, so refer to it by its tag.");
        }
        Stored now = stored(name);
        // a converted image has another digest than its registry's, so a dry run can't compare it
        if (gathering_.request.dry_run && is_oci(index) && now.hex != inspected.hex)
            now = {};
        item.sha256 = now.hex;
        item.size = now.size;
        item.present = !before.empty() && before == now.hex;
        gathering_.result.items.push_back(std::move(item));
        return {};
    }

  private:
    struct Inspected {
        Json document;   ///< the image's index or manifest; null: the registry does not provide it
        std::string hex; ///< its digest
    };
    struct Stored {
        std::string hex; ///< digest of the image's index or manifest; empty: not in the layout
        std::uint64_t size = 0;
    };

    void miss(const std::string& name, std::string why, std::string hint) {
        gathering_.miss("image " + name, std::move(why), std::move(hint));
    }

    /// Returns the image's index or manifest in its registry. Reports it if there is none.
    Result<Inspected> inspect(const std::string& name) {
        Programs::Call call{skopeo, {"inspect", "--raw", "--retry-times", "3", "docker://" + name}};
        call.is_answer = true;
        GPUHOST_TRY(finished, gathering_.programs.attempt(call));
        if (finished.exit_status == 0) {
            GPUHOST_TRY(document, base::parse_json(finished.output, name));
            return Inspected{std::move(document), content::sha256(finished.output)};
        }
        failed(name, finished.errors);
        return Inspected{};
    }

    void failed(const std::string& name, const std::string& output) {
        gathering_.programs.show(output);
        miss(name, "skopeo: " + reason_in(output),
             "Check the name and tag. For a private registry, log in first: skopeo login REGISTRY.");
    }

    /// Runs 'skopeo copy' in the directory, as a path with a colon would not name a layout.
    Result<bool> run(const std::string& name, std::vector<std::string> options, const std::string& from,
                     const std::string& to) {
        options.insert(options.begin(), {"copy", "--quiet", "--retry-times", "3"});
        options.insert(options.end(), {"docker://" + from, std::string("oci:") + image_layout + to});
        Programs::Call call{skopeo, std::move(options), gathering_.request.directory};
        call.deadline = copy_deadline;
        GPUHOST_TRY(finished, gathering_.programs.attempt(call));
        if (finished.exit_status != 0)
            failed(name, finished.output);
        return finished.exit_status == 0;
    }

    /// Copies the index unchanged, and only the manifest for the platform. The image keeps its digest.
    Result<bool> copy_index(const std::string& name) {
        GPUHOST_TRY(done, run(name, {"--multi-arch=index-only", "--preserve-digests"}, name, ":" + name));
        if (!done)
            return false;
        const Json index = document(stored(name).hex);
        for (const Json& one : base::list_of(index, "manifests"))
            if (is_for(one, platform_))
                return run(name, {"--preserve-digests"},
                           repository_of(name) + "@" + base::string_or(one, "digest", ""), "");
        return base::fail(Errc::BadContent, "image " + name + " has changed in its registry",
                          "Run the command again.");
    }

    /// Copies one manifest. A layout can't have one in Docker's older format: it is converted.
    Result<bool> copy_platform(const std::string& name, bool unchanged) {
        std::vector<std::string> options{"--override-os=" + platform_.system,
                                         "--override-arch=" + platform_.architecture};
        if (unchanged)
            options.emplace_back("--preserve-digests");
        return run(name, std::move(options), name, ":" + name);
    }

    static std::string repository_of(const std::string& name) { return name.substr(0, name.rfind(':')); }

    /// Returns a document of the layout; null if it can't be read.
    [[nodiscard]] Json document(const std::string& hex) const {
        return read(std::string("/") + image_layout + "/blobs/sha256/" + hex);
    }
    [[nodiscard]] Json read(const std::string& path) const {
        const auto text = gathering_.directory.read(path, document_limit);
        auto json = text ? base::parse_json(*text, path) : Result<Json>(Json());
        return json ? std::move(*json) : Json();
    }

    /// Returns the total size of the blobs of a manifest, or of the one for the platform in an index.
    [[nodiscard]] std::uint64_t size_of(const Json& document) const {
        for (const Json& one : base::list_of(document, "manifests"))
            if (is_for(one, platform_))
                return size_of(
                    this->document(std::string(images::digest_hex(base::string_or(one, "digest", "")))));
        auto size = static_cast<std::uint64_t>(base::int_or(base::member(document, "config"), "size", 0));
        for (const Json& blob : base::list_of(document, "layers"))
            size += static_cast<std::uint64_t>(base::int_or(blob, "size", 0));
        return size;
    }

    [[nodiscard]] Stored stored(const std::string& name) const {
        const Json index = read(std::string("/") + image_layout + "/index.json");
        for (const Json& one : base::list_of(index, "manifests"))
            if (base::string_or(base::member(one, "annotations"), "org.opencontainers.image.ref.name", "") ==
                name) {
                const std::string hex(images::digest_hex(base::string_or(one, "digest", "")));
                return {hex, hex.empty() ? 0 : size_of(document(hex))};
            }
        return {};
    }

    Gathering& gathering_;
    Platform platform_;
};

} // namespace

Result<void> gather_images(Gathering& gathering) {
    Copier copier(gathering);
    for (const std::string& name : gathering.request.images)
        GPUHOST_CHECK(copier.copy(name));
    return {};
}

} // namespace gpuhost::ctl
