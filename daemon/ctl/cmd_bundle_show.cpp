// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle_files.hpp"
#include "daemon/ctl/session.hpp"
#include "daemon/ctl/verbs_bundle.hpp"
#include "daemon/ctl/view.hpp"

#include <array>
#include <map>

namespace gpuhost::ctl {

using base::Json;
using base::Result;

namespace {

constexpr std::array options{trust_option, option::json};

Json document_of(const images::BundleReader& bundle) {
    const images::BundleManifest& manifest = bundle.manifest();
    std::uint64_t blobs = 0;
    std::uint64_t bytes = 0;
    std::uint64_t absent = 0;
    for (const images::Member& member : manifest.members) {
        if (!member.is_blob())
            continue;
        ++blobs;
        bytes += member.absent ? 0 : member.size;
        absent += member.absent ? 1 : 0;
    }
    Json images = Json::array();
    for (const images::BundleImage& image : manifest.images)
        images.push_back(
            {{"name", image.name}, {"digest", "sha256:" + image.hex}, {"platforms", image.platforms}});
    std::map<std::string_view, const images::Member*> members;
    for (const images::Member& member : manifest.members)
        members.emplace(member.hex, &member);
    Json artifacts = Json::array();
    for (const images::BundleArtifact& artifact : manifest.artifacts)
        artifacts.push_back({{"kind", artifact.kind},
                             {"name", artifact.name},
                             {"kernel", artifact.kernel},
                             {"digest", "sha256:" + artifact.hex},
                             {"hosts", members.at(artifact.hex)->hosts}});
    return {{"name", manifest.name},
            {"generation", manifest.generation},
            {"created", manifest.created},
            {"signer", {{"subject", bundle.signer().subject}, {"not_after", bundle.signer().not_after}}},
            {"blobs", blobs},
            {"bytes", bytes},
            {"absent", absent},
            {"images", std::move(images)},
            {"artifacts", std::move(artifacts)}};
}

Result<int> run(Session& session) {
    GPUHOST_TRY(files, open_bundle_files(session.arguments().words()));
    GPUHOST_TRY(trust, chosen_trust(session));
    GPUHOST_TRY(input, bundle_input(files));
    GPUHOST_TRY(bundle, images::BundleReader::open(std::move(input), trust));
    const Json document = document_of(bundle);
    if (session.wants_json())
        session.print_json(document);
    else
        session.print(render_bundle(session.out(), document));
    return 0;
}

} // namespace

const Verb bundle_show_verb{
    "bundle show",
    "FILE…|-",
    "show what a bundle has",
    "Shows a bundle's name, generation, signer, images and drivers from its signed manifest, without reading "
    "the "
    "rest. Needs no "
    "daemon and no privileges.",
    1,
    100'000,
    options,
    run,
};

} // namespace gpuhost::ctl
