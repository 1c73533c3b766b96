// SPDX-License-Identifier: Apache-2.0
#include "images/create/for_hosts.hpp"

#include "daemon/base/parse.hpp"
#include "images/bundle/oci.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace gpuhost::images {

using base::Result;

namespace {

/// The parts of one driver version that the bundle has for one host, without regard to the host's kernel.
struct Offer {
    bool packages = false;
    bool source = false;
    std::set<std::string> kernels; ///< kernels for which the bundle has modules
};
/// Driver version → the parts that the bundle has of it.
using Offers = std::map<std::string, Offer>;

/// Returns a word of Member::hosts as text for people.
std::string described(const std::string& word) {
    const HostWord host = parse_host_word(word).value_or(HostWord());
    std::string text =
        host.kernel.empty() ? std::string(host.distribution) : "kernel " + std::string(host.kernel);
    if (!host.platform.empty())
        text += (text.empty() ? "" : " on ") + std::string(host.platform);
    if (!host.flavour.empty())
        text += " with " + std::string(host.flavour) + " modules";
    if (!host.gpu.empty())
        text += (host.flavour.empty() ? " with " : " and ") +
                (host.gpu == any_gpu ? "an NVIDIA GPU" : "GPU " + std::string(host.gpu));
    return text;
}

std::string reason(const Member& member, bool needed) {
    if (needed)
        return "present on all hosts that need them";
    std::vector<std::string> hosts;
    for (const std::string& word : member.hosts)
        hosts.push_back(described(word));
    return "for " + base::join(hosts, " or ") + ": no such host";
}

/// Reports whether these packages contain the source of the kernel modules in this flavour (empty: either).
/// Decides by the packages' names in Debian, Ubuntu and from NVIDIA: nvidia-open-kernel-dkms,
/// nvidia-dkms-550-server, nvidia-kernel-source-550. NVIDIA's .run has the source of both flavours. A
/// .tar.zst is a source that gpuhost packed.
bool has_source(const Document& packages, const std::string& flavour) {
    return std::any_of(packages.content.begin(), packages.content.end(), [&](const Descriptor& file) {
        const auto has = [&](const char* part) { return file.title.find(part) != std::string::npos; };
        if (base::ends_with(file.title, ".run"))
            return true;
        return (has("-dkms") || has("-kernel-source") || base::ends_with(file.title, ".tar.zst")) &&
               (flavour.empty() || has("open") == (flavour == "open"));
    });
}

/// Reports whether a word of `hosts` selects the host if the word's kernel is ignored.
bool fits(const std::vector<std::string>& hosts, const HostFacts& host) {
    return hosts.empty() || std::any_of(hosts.begin(), hosts.end(), [&](const std::string& word) {
               HostWord wanted = parse_host_word(word).value_or(HostWord());
               wanted.kernel = {};
               return host.fits(wanted);
           });
}

Result<Offers> offers_of(const Contents& contents, const HostFacts& host) {
    std::map<std::string_view, const Member*> members;
    for (const Member& member : contents.manifest.members)
        members.emplace(member.hex, &member);
    Offers offers;
    for (const BundleArtifact& artifact : contents.manifest.artifacts) {
        if (!is_of_driver(artifact.kind) || !fits(members.at(artifact.hex)->hosts, host))
            continue;
        Offer& offer = offers[artifact.name];
        if (!artifact.kernel.empty()) {
            offer.kernels.insert(artifact.kernel);
            continue;
        }
        const auto& text = std::get<std::string>(contents.by_digest.at(artifact.hex));
        GPUHOST_TRY(document, parse_document(text, "", artifact.name));
        offer.packages = true;
        offer.source = offer.source || has_source(document, host.driver.flavour);
    }
    return offers;
}

/// Appends to `found` what one host needs and would still lack after an import of the bundle.
class Examination {
  public:
    Examination(const Inventory& host, std::vector<Unserved>& found) : host_(host), found_(found) {}

    void check_bundle(const BundleManifest& manifest) {
        for (const InventoryBundle& here : host_.bundles) {
            if (here.name != manifest.name || here.is_unsigned)
                continue;
            const std::string generation = "generation " + std::to_string(here.generation) + " of the bundle";
            if (here.generation > manifest.generation)
                miss("has " + generation + ", and accepts no older one");
            else if (here.generation == manifest.generation && here.manifest != identity(manifest))
                miss("has " + generation + " with other content: this one needs a higher generation");
        }
        for (const auto& [name, generation] : host_.removed)
            if (name == manifest.name && generation > manifest.generation && !has_bundle(name))
                miss("had generation " + std::to_string(generation) +
                     " of the bundle until it was removed, and accepts no older one");
    }

    void check_images(const std::vector<BundleImage>& images) {
        const HostFacts facts = host_.facts();
        for (const BundleImage& image : images)
            if (image.subject.empty() && !image.platforms.empty() &&
                std::none_of(image.platforms.begin(), image.platforms.end(),
                             [&](const std::string& platform) { return facts.is(platform); }))
                miss("image " + (image.name.empty() ? "sha256:" + image.hex : image.name) +
                     " has no content for " + host_.platform);
    }

    void check_drivers(const Offers& offers, bool brings_drivers) {
        if (!host_.accepts_drivers)
            return;
        for (const auto& [version, offer] : offers)
            check_driver(version, offer);
        const std::string& wanted = host_.wanted_driver;
        if (!wanted.empty() && offers.count(wanted) == 0) {
            if (host_.driver(wanted) == nullptr)
                miss("wants driver " + wanted +
                     ", which is neither in the specification for this host nor on it");
            else if (brings_drivers)
                check_driver(wanted, Offer());
        }
        if (brings_drivers && offers.empty() && host_.drivers.empty() && !host_.gpus.empty())
            miss("has GPUs (" + gpus() + "), but there is no driver for " + host_.platform);
    }

    /// Reports the host if the bundle has operating-system packages, but none for this host.
    void check_packages(const BundleManifest& manifest) {
        const HostFacts facts = host_.facts();
        bool any = false;
        for (const BundleArtifact& artifact : manifest.artifacts) {
            if (artifact.kind != packages_kind)
                continue;
            any = true;
            if (std::any_of(manifest.members.begin(), manifest.members.end(), [&](const Member& member) {
                    return member.hex == artifact.hex && facts.needs(member);
                }))
                return;
        }
        if (any)
            miss("is " +
                 (facts.distributions.empty() ? "of no known distribution" : facts.distributions.front()) +
                 " on " + host_.platform + ", but there are no packages for that");
    }

  private:
    [[nodiscard]] bool has_bundle(const std::string& name) const {
        return std::any_of(host_.bundles.begin(), host_.bundles.end(), [&](const InventoryBundle& here) {
            return here.name == name && !here.is_unsigned;
        });
    }
    void check_driver(const std::string& version, const Offer& offer) {
        const InventoryDriver* const here = host_.driver(version);
        if (!offer.packages && (here == nullptr || !here->userland))
            miss("driver " + version + " has modules only: no [Driver " + version + "] for this host");
        const bool source = offer.source || (here != nullptr && here->source);
        for (const InventoryKernel& kernel : host_.kernels) {
            const bool has = offer.kernels.count(kernel.release) != 0 ||
                             (here != nullptr && std::find(here->kernels.begin(), here->kernels.end(),
                                                           kernel.release) != here->kernels.end());
            if (has || (source && kernel.headers && kernel.compiler))
                continue;
            const char* const lacks = !source           ? "source to build them"
                                      : !kernel.headers ? "headers to build its source"
                                                        : "compiler to build its source";
            miss("kernel " + kernel.release + ": no " + flavour() + "modules of driver " + version +
                 ", and no " + lacks);
        }
    }
    [[nodiscard]] std::string flavour() const {
        return host_.wanted_flavour.empty() ? "" : host_.wanted_flavour + " ";
    }
    [[nodiscard]] std::string gpus() const {
        std::set<std::string> names;
        for (const InventoryGpu& gpu : host_.gpus)
            names.insert(gpu.name.empty() ? gpu.vendor + ":" + gpu.device : gpu.name);
        return base::join({names.begin(), names.end()}, ", ");
    }
    void miss(std::string what) { found_.push_back({host_.hostname, std::move(what)}); }

    const Inventory& host_;
    std::vector<Unserved>& found_;
};

} // namespace

std::vector<LeftOut> leave_out(BundleManifest& manifest, const std::vector<Inventory>& hosts) {
    std::vector<HostFacts> facts;
    facts.reserve(hosts.size());
    for (const Inventory& host : hosts)
        facts.push_back(host.facts());
    std::map<std::string, LeftOut> reasons;
    for (Member& member : manifest.members) {
        if (!member.is_blob() || member.absent)
            continue;
        bool needed = false;
        bool lacking = false;
        for (std::size_t i = 0; i < hosts.size() && !lacking; ++i)
            if (facts[i].needs(member)) {
                needed = true;
                lacking = !hosts[i].blobs.has(member.hex);
            }
        if (lacking)
            continue;
        member.absent = true;
        const std::string why = reason(member, needed);
        LeftOut& left = reasons.try_emplace(why, LeftOut{why, 0, 0}).first->second;
        ++left.blobs;
        left.bytes += member.size;
    }
    std::vector<LeftOut> list;
    list.reserve(reasons.size());
    for (auto& [why, left] : reasons)
        list.push_back(std::move(left));
    return list;
}

Result<std::vector<Unserved>> unserved(const Contents& contents, const std::vector<Inventory>& hosts) {
    std::vector<Unserved> found;
    for (const Inventory& host : hosts) {
        GPUHOST_TRY(offers, offers_of(contents, host.facts()));
        Examination examination(host, found);
        examination.check_bundle(contents.manifest);
        examination.check_images(contents.manifest.images);
        const auto is_driver = [](const BundleArtifact& artifact) { return is_of_driver(artifact.kind); };
        examination.check_drivers(offers, std::any_of(contents.manifest.artifacts.begin(),
                                                      contents.manifest.artifacts.end(), is_driver));
        examination.check_packages(contents.manifest);
    }
    return found;
}

} // namespace gpuhost::images
