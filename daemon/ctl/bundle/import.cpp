// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/bundle_call.hpp"
#include "daemon/ctl/bundle/files.hpp"
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/session.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option unsigned_images{"unsigned", "", "accept images without a signature"};
constexpr Option name{"name", "NAME", "the name of an unsigned bundle; default: the file's name"};
constexpr Option image_name{"image-name", "REPOSITORY:TAG",
                            "the name of the only image in the file, instead of the name there"};
constexpr std::array options{allow_downgrade_option, unsigned_images, name,        image_name,
                             option::dry_run,        option::no_wait, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(files, open_bundle_files(session.arguments().words()));
    client::Options wanted;
    if (session.arguments().has(allow_downgrade_option))
        wanted.emplace("allow-downgrade", true);
    if (session.arguments().has(unsigned_images))
        wanted.emplace("unsigned", true);
    for (const Option& option : {name, image_name})
        if (auto called = session.arguments().value(option)) {
            if (!session.arguments().has(unsigned_images))
                return base::fail(base::Errc::InvalidArgument,
                                  "--" + std::string(option.name) + " needs --unsigned",
                                  "Leave it out: a signed bundle contains its names.");
            wanted.emplace(option.name, *std::move(called));
        }
    return run_operation(session, client::request_of(client::bundle_call("Import", {files}), wanted));
}

constexpr std::array examples{
    Example{"bundle import /media/site.bundle", "import a bundle from a medium"},
    Example{"bundle import site.bundle.001 --dry-run", "check one in volumes, without importing it"}};

} // namespace

const Verb bundle_import_verb{
    "bundle import",
    "FILE…|DIRECTORY|-",
    "import a bundle",
    "Imports a bundle from its file, from its volumes in order, or from standard input. The signature is "
    "verified against the certificates in /etc/gpuhost/trust.d before anything is written. Only missing "
    "blobs are written, and the content becomes visible only when all of it is imported. An interrupted "
    "import continues where it stopped. With --unsigned the input is an archive as 'docker save' writes it, "
    "or an OCI image layout in a tar or a directory; AllowUnsigned= in gpuhostd.conf(5) must permit it.",
    1,
    100'000, // input_files.hpp has the real limit and reports it with a better error
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
