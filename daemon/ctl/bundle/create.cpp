// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/create.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/ini.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/bundle/output.hpp"
#include "daemon/ctl/bundle/signing.hpp"
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/small_file.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"
#include "images/create/create.hpp"

#include <array>
#include <cstdlib>

namespace gpuhost::ctl {

using base::Errc;
using base::Json;
using base::Result;

namespace {

/// Returns "1 image", "2 artifacts" or "1 image, 2 artifacts".
std::string described(const images::BundleManifest& manifest) {
    std::string artifacts = plural(manifest.artifacts.size(), "artifact", "artifacts");
    if (manifest.images.empty() && !manifest.artifacts.empty())
        return artifacts;
    return plural(manifest.images.size(), "image", "images") +
           (manifest.artifacts.empty() ? "" : ", " + artifacts);
}

constexpr Option dry_run_option{"dry-run", "", "list the content and write nothing; needs no key"};
constexpr std::array options{for_option,         output_option,     volume_size_option, sign_key_option,
                             certificate_option, passphrase_option, dry_run_option,     option::json};

/// Returns the time to write into the bundle: $SOURCE_DATE_EPOCH, or else the current time.
/// https://reproducible-builds.org/specs/source-date-epoch/
Result<std::uint64_t> time_of_creation() {
    const char* const epoch = std::getenv("SOURCE_DATE_EPOCH"); // NOLINT(concurrency-mt-unsafe): one thread
    if (epoch == nullptr)
        return base::realtime_us() / 1'000'000;
    if (const auto seconds = base::parse_uint(epoch))
        return *seconds;
    return base::fail(Errc::InvalidArgument, "SOURCE_DATE_EPOCH is not a number of seconds");
}

Result<void> write_files(BundleFiles& files, const images::Contents& contents,
                         const content::SigningKey& key) {
    GPUHOST_CHECK(images::write_bundle(files, contents.manifest, key,
                                       [&](const images::Member& member) { return contents.open(member); }));
    return files.finish();
}

Result<images::BundleSpec> read_spec(const std::string& path) {
    GPUHOST_TRY(text, read_small_file(path, base::ini_size_limit));
    return images::parse_bundle_spec(text, path);
}

Result<images::Contents> collect(const images::BundleSpec& spec, const std::string& path,
                                 const std::string& scratch, bool dry_run) {
    GPUHOST_TRY(created, time_of_creation());
    return images::collect(spec, {directory_of(path), scratch, created, dry_run});
}

Result<int> name_only(Session& session, const std::string& path) {
    GPUHOST_TRY(spec, read_spec(path));
    GPUHOST_TRY(contents, collect(spec, path, directory_of(path), true));
    GPUHOST_TRY(hosts, fit_to_hosts(session, contents));
    Json document = content_of(contents.manifest);
    add_hosts(document, hosts);
    if (session.wants_json())
        session.print_json(document);
    else
        session.page(fit(session.out(), render_content(document) + render_hosts(hosts)));
    return verdict(hosts);
}

Result<int> run(Session& session) {
    const std::string& path = session.arguments().words()[0];
    if (session.arguments().has(dry_run_option))
        return name_only(session, path);
    GPUHOST_TRY(spec, read_spec(path)); // a mistake in it is reported before a passphrase is asked for
    GPUHOST_TRY(target, chosen_target(session));
    GPUHOST_TRY(created, create_bundle(session, spec, path, target));
    if (session.wants_json()) {
        session.print_json(created.document);
        return verdict(created.hosts);
    }
    session.page(fit(session.out(), render_hosts(created.hosts)));
    session.note(created.text);
    return verdict(created.hosts);
}

constexpr std::array examples{
    Example{"bundle create site.spec -o site.bundle --sign-key=site.p12", "make a signed bundle"},
    Example{"bundle create site.spec --dry-run", "show what would be in it"}};

} // namespace

Result<BundleTarget> chosen_target(const Session& session) {
    GPUHOST_TRY(path, chosen_output(session));
    GPUHOST_TRY(volume_size, chosen_volume_size(session));
    GPUHOST_TRY(key, chosen_key(session));
    return BundleTarget{std::move(path), volume_size, std::move(key)};
}

Result<CreatedBundle> create_bundle(const Session& session, const images::BundleSpec& spec,
                                    const std::string& spec_path, const BundleTarget& target) {
    GPUHOST_TRY(contents, collect(spec, spec_path, directory_of(target.path), false));
    GPUHOST_TRY(hosts, fit_to_hosts(session, contents));
    BundleFiles files(target.path, target.volume_size);
    GPUHOST_CHECK(write_files(files, contents, target.key));
    Json document = content_of(contents.manifest);
    document["file"] = target.path;
    document["files"] = files.names();
    document["images"] = contents.manifest.images.size();
    add_hosts(document, hosts);
    std::string text =
        "Wrote bundle " + contents.manifest.name + ", generation " +
        std::to_string(contents.manifest.generation) + ", with " + described(contents.manifest) + " and " +
        human_bytes(document["bytes"].get<std::uint64_t>()) + " to " + described(files) + ".\n";
    return CreatedBundle{std::move(document), std::move(hosts), std::move(text)};
}

const Verb bundle_create_verb{
    "bundle create",
    "SPEC",
    "make a signed bundle",
    "Makes one signed file of the images, drivers and packages that SPEC names. Images come from OCI image "
    "layouts and from archives as 'docker save' writes them. gpuhost-bundle(5) describes SPEC, keys and the "
    "file, a tar that skopeo and containerd read as an OCI image layout. With SOURCE_DATE_EPOCH set, and a "
    "key whose signatures have no random part, the same input makes the same bytes. With --volume-size the "
    "bundle is split into PATH.001, PATH.002 and so on, which 'bundle import PATH.*' joins again. With "
    "--for, once for each host, the bundle is the smallest one for these hosts. It prints what was left out "
    "and why, and what a host would lack (exit status 4). Needs no daemon and no privileges.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
