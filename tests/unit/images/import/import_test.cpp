// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/import/import.hpp"
#include "images/store/garbage.hpp"
#include "tests/support/sync_seam.h"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/images/bundles.hpp"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::images {
namespace {

using base::Errc;
using base::Result;
using base::UniqueFd;

class Import : public ::testing::Test {
  protected:
    Import() { EXPECT_TRUE(trust_.add(site_.certificate, "site")); }

    /// Runs an import as the worker does. Stops after receive unless `commit`.
    Result<BundleRecord> import(const std::string& bytes, const ImportPolicy& policy = {},
                                bool commit = true) {
        return import_from(tests::memory_file(bytes), policy, commit);
    }
    Result<BundleRecord> import_pipe(const std::string& bytes) {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) < 0)
            return base::fail_errno("pipe", errno);
        UniqueFd from(ends[0]);
        UniqueFd to(ends[1]);
        const pid_t writer = ::fork();
        if (writer == 0)
            ::_exit(base::write_all(to.get(), bytes, "pipe") ? 0 : 1);
        to.reset();
        auto imported = import_from(std::move(from), {}, true); // closes the pipe, so that the writer ends
        ::waitpid(writer, nullptr, 0);
        return imported;
    }
    Result<BundleRecord> import_from(UniqueFd fd, const ImportPolicy& policy, bool commit) {
        GPUHOST_TRY(input, BundleInput::open({{fd.get(), "site.bundle"}}));
        GPUHOST_TRY(bundle, BundleReader::open(std::move(input), trust_));
        GPUHOST_TRY(plan, plan_import(root_, bundle.signed_manifest(), host_, policy));
        plan_ = plan;
        read_ = 0;
        GPUHOST_CHECK(receive_bundle(root_, bundle, host_, [this](std::uint64_t n) { read_ += n; }));
        if (!commit)
            return BundleRecord();
        GPUHOST_TRY(received, received_bundle(root_));
        if (!received)
            return base::fail(Errc::Failed, "nothing was received");
        GPUHOST_TRY(record, commit_bundle(root_, *received, trust_, host_));
        GPUHOST_CHECK(finalize_import(root_, received->digest));
        return std::move(record);
    }
    [[nodiscard]] std::string write(const tests::TestBundle& bundle) const {
        return bundle.write(site_).value();
    }
    /// Returns every file below the state directory with its content.
    [[nodiscard]] std::map<std::string, std::string>
    state(const std::string& path = "/var/lib/gpuhost") const {
        std::map<std::string, std::string> files;
        for (const std::string& name : root_.list(path).value_or(std::vector<std::string>())) {
            const std::string at = path + "/" + name;
            if (const auto content = root_.read(at))
                files[at] = *content;
            else
                files.merge(state(at));
        }
        return files;
    }
    /// Returns visible files, without partial imports.
    [[nodiscard]] std::map<std::string, std::string> visible() const {
        auto files = state();
        std::erase_if(files,
                      [](const auto& file) { return file.first.find("/incoming/") != std::string::npos; });
        return files;
    }
    [[nodiscard]] std::string blob(const std::string& hex) const {
        return root_.read(std::string(blobs_directory) + "/" + hex, 1U << 24U).value_or("(absent)");
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    tests::Identity site_ = tests::make_identity({});
    content::TrustAnchors trust_;
    HostFacts host_{"linux/amd64", {"6.1.0-50-amd64"}};
    ImportPlan plan_;
    std::uint64_t read_ = 0;
};

tests::TestBundle example() {
    tests::TestBundle bundle;
    bundle.add("{}", "index.json");
    for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{4096}, std::size_t{3'000'000}})
        bundle.add(std::string(size, 'x') + std::to_string(size));
    return bundle;
}

TEST_F(Import, ImportsABundle) {
    const tests::TestBundle bundle = example();
    const auto record = import(write(bundle));
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(plan_.missing_blobs, 4U);
    EXPECT_EQ(read_, plan_.missing_bytes + 2);
    EXPECT_EQ(record->blobs, 4U);
    for (const Member& member : bundle.manifest.members) {
        if (!member.is_blob())
            continue;
        EXPECT_TRUE(blob(member.hex) == bundle.contents.at(member.hex)) << member.hex;
        EXPECT_EQ(root_.stat(std::string(blobs_directory) + "/" + member.hex)->st_mode & 07777U, 0444U);
    }
    const auto read = Catalogue(root_).record("site-images");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(to_json(*read), to_json(*record));
    EXPECT_EQ(read->signer.subject, "CN=Release key");
    EXPECT_EQ(Catalogue(root_).blobs("site-images")->size(), 4U);
    EXPECT_TRUE(root_.list(incoming_directory)->empty());
}

TEST_F(Import, SecondImportChangesNothing) {
    const std::string bytes = write(example());
    ASSERT_TRUE(import(bytes));
    EXPECT_FALSE(plan_.complete);
    const auto before = visible();
    ASSERT_TRUE(import(bytes));
    EXPECT_TRUE(plan_.complete);
    EXPECT_EQ(plan_.missing_bytes, 0U);
    const auto after = visible();
    EXPECT_EQ(after.size(), before.size());
}

TEST_F(Import, BlobsAreNamedOnlyAfterTheirSync) {
    const std::string bytes = write(example());
    for (int good = 0;; ++good) { // each run has one more successful sync
        static int left = 0;
        left = good;
        seam_sync = [](int fd) {
            seam_count = 0; // its record is short, and not used here
            if (left-- > 0)
                return __real_fdatasync(fd);
            errno = EIO;
            return -1;
        };
        const auto record = import(bytes);
        seam_sync = nullptr;
        if (record) {
            EXPECT_GE(good, 4 + 1) << "the content of each blob, and the store's directory";
            break;
        }
        if (good < 4) { // after the last rename, a failed directory sync leaves a complete bundle
            EXPECT_TRUE(Catalogue(root_).names()->empty()) << good;
            EXPECT_TRUE(root_.list(blobs_directory).value_or(std::vector<std::string>()).empty())
                << "no name before all syncs: " << good;
        }
    }
    EXPECT_EQ(Catalogue(root_).names()->size(), 1U);
}

TEST_F(Import, MissingBlobIsImportedAgain) {
    const tests::TestBundle bundle = example();
    ASSERT_TRUE(import(write(bundle)));
    const std::string hex = bundle.manifest.members[2].hex;
    ASSERT_TRUE(BlobStore(root_).remove(hex));
    ASSERT_TRUE(import(write(bundle)));
    EXPECT_EQ(plan_.missing_blobs, 1U);
    EXPECT_FALSE(plan_.complete);
    EXPECT_TRUE(blob(hex) == bundle.contents.at(hex));
}

TEST_F(Import, DamagedBundleIsNotVisible) {
    ASSERT_TRUE(import(write([] {
        tests::TestBundle other;
        other.manifest.name = "other";
        other.add("other");
        return other;
    }())));
    const auto before = visible();
    const tests::TestBundle bundle = example();
    const std::string bytes = write(bundle);
    for (const auto& [hex, content] : bundle.contents) {
        if (content.size() < 3)
            continue;
        std::string damaged = bytes;
        const std::size_t at = damaged.find(content) + content.size() / 2;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        const auto failed = import(damaged);
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().code, Errc::BadContent);
        EXPECT_NE(failed.error().message.find("sha256:" + hex), std::string::npos) << failed.error().message;
        EXPECT_TRUE(visible() == before);
        ASSERT_TRUE(root_.remove_tree(incoming_directory)); // the next import must not find this blob
    }
    for (std::size_t size = 100; size < bytes.size(); size += 40'009) {
        ASSERT_FALSE(import(bytes.substr(0, size)));
        EXPECT_TRUE(visible() == before);
    }
    ASSERT_TRUE(import(bytes)) << "leftovers do no harm";
    EXPECT_TRUE(blob(bundle.manifest.members[4].hex) == bundle.contents.at(bundle.manifest.members[4].hex));
}

TEST_F(Import, ContinuesInsideAPartialBlob) {
    const tests::TestBundle bundle = example();
    const std::string bytes = write(bundle);
    ASSERT_FALSE(import(bytes.substr(0, bytes.size() - 1'500'000)));
    const std::string large = bundle.manifest.members[4].hex;
    const auto part = root_.read(
        std::string(incoming_directory) + "/" + identity(bundle.manifest) + "/" + large, 1U << 22U);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_GT(part->size(), 1'000'000U);
    // Only missing bytes may be read again: the earlier part does not exist.
    std::string rest = bytes;
    const std::size_t at = rest.find(bundle.contents.at(large));
    std::fill_n(rest.begin() + static_cast<std::ptrdiff_t>(at), part->size(), '?');
    ASSERT_TRUE(import(rest));
    EXPECT_TRUE(blob(large) == bundle.contents.at(large));
}

/// Uses one thread per blob on several cores.
TEST_F(Import, LargeBlobsAreWrittenInParallel) {
    tests::TestBundle bundle = example();
    for (const char filling : std::string("abcdef"))
        bundle.add(std::string((8U << 20U) + static_cast<unsigned>(filling), filling));
    const std::string bytes = write(bundle);
    const auto before = visible();
    for (const char damaged : std::string("abcdef")) {
        std::string bad = bytes;
        bad[bad.find(std::string(4096, damaged)) + 5'000] = '?';
        const auto refused = import(bad);
        ASSERT_FALSE(refused) << damaged;
        EXPECT_EQ(refused.error().code, Errc::BadContent) << refused.error().message;
        EXPECT_TRUE(visible() == before);
        ASSERT_TRUE(root_.remove_tree(incoming_directory));
    }
    const auto cut = import(bytes.substr(0, bytes.size() - (9U << 20U)));
    ASSERT_FALSE(cut);
    EXPECT_NE(cut.error().message.find("before the end of the bundle"), std::string::npos)
        << cut.error().message;
    const auto record = import(bytes);
    ASSERT_TRUE(record) << record.error().message;
    std::uint64_t all = 0;
    for (const Member& member : bundle.manifest.members) {
        all += member.size;
        EXPECT_TRUE(!member.is_blob() || content::sha256(blob(member.hex)) == member.hex);
    }
    EXPECT_EQ(read_, all);
}

TEST_F(Import, PartsLeftByAPowerCutAreVerified) {
    const tests::TestBundle bundle = example();
    const std::string bytes = write(bundle);
    const std::string incoming = "var/lib/gpuhost/store/incoming/" + identity(bundle.manifest) + "/";
    const std::string large = bundle.manifest.members[4].hex;
    const std::string& content = bundle.contents.at(large);
    for (const bool pipe : {false, true})
        for (const std::string& left :
             {std::string(content.size(), '\0'), std::string(content.size() / 2, '\0'),
              content.substr(0, content.size() / 2), content, content + "more"}) {
            directory_.write(incoming + large, left);
            const auto imported = pipe ? import_pipe(bytes) : import(bytes);
            ASSERT_TRUE(imported) << imported.error().message;
            EXPECT_TRUE(blob(large) == content);
            EXPECT_EQ(read_, plan_.missing_bytes + 2) << "progress counts each byte once";
            ASSERT_TRUE(remove_bundle(root_, "site-images"));
        }
}

TEST_F(Import, DamageInTheBundleIsBadContent) {
    const tests::TestBundle bundle = example();
    std::string bytes = write(bundle);
    const std::string large = bundle.manifest.members[4].hex;
    const std::string& content = bundle.contents.at(large);
    directory_.write("var/lib/gpuhost/store/incoming/" + identity(bundle.manifest) + "/" + large, "x");
    bytes[bytes.find(content) + content.size() / 2] = '?';
    EXPECT_EQ(import(bytes).error().code, Errc::BadContent);
    EXPECT_EQ(import_pipe(bytes).error().code, Errc::BadContent);
}

TEST_F(Import, OlderGenerationIsRefusedUnlessAllowed) {
    tests::TestBundle bundle = example();
    const std::string seven = write(bundle);
    bundle.add("other content");
    const std::string other_seven = write(bundle);
    bundle.manifest.generation = 6;
    const std::string six = write(bundle);
    bundle.manifest.generation = 8;
    const std::string eight = write(bundle);
    ASSERT_TRUE(import(seven));
    EXPECT_EQ(import(six).error().code, Errc::Refused);
    EXPECT_EQ(import(other_seven).error().code, Errc::Refused);
    ASSERT_TRUE(import(eight));
    EXPECT_EQ(Catalogue(root_).record("site-images")->generation, 8U);
    ASSERT_TRUE(import(six, {true}));
    EXPECT_EQ(Catalogue(root_).record("site-images")->generation, 6U);
    EXPECT_EQ(Catalogue(root_).names()->size(), 1U);
}

TEST_F(Import, NewerGenerationWithEarlierDateIsRefused) {
    tests::TestBundle bundle = example();
    bundle.manifest.created = 300;
    ASSERT_TRUE(import(write(bundle)));
    ++bundle.manifest.generation;
    bundle.manifest.created = 100;
    const auto refused = import(write(bundle));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::Refused);
    EXPECT_NE(refused.error().message.find("is dated"), std::string::npos) << refused.error().message;
    bundle.manifest.created = 300;
    EXPECT_TRUE(import(write(bundle))) << "a constant date is allowed";
    ++bundle.manifest.generation;
    bundle.manifest.created = 100;
    EXPECT_TRUE(import(write(bundle), {true}));
}

TEST_F(Import, RemovalKeepsTheLeastGeneration) {
    tests::TestBundle bundle = example();
    const std::string seven = write(bundle);
    bundle.manifest.generation = 6;
    const std::string six = write(bundle);
    ASSERT_TRUE(import(seven));
    ASSERT_TRUE(remove_bundle(root_, "site-images"));
    EXPECT_EQ(import(six).error().code, Errc::Refused);
    ASSERT_TRUE(import(seven));
    ASSERT_TRUE(remove_bundle(root_, "site-images"));
    ASSERT_TRUE(import(six, {true}));
    ASSERT_TRUE(remove_bundle(root_, "site-images"));
    EXPECT_TRUE(import(six)) << "the last imported generation counts";
    ASSERT_TRUE(remove_bundle(root_, "site-images"));
    directory_.write("var/lib/gpuhost/catalogue/.generations", "nonsense");
    EXPECT_EQ(import(six).error().code, Errc::BadContent);
    EXPECT_TRUE(import(six, {true}));
    EXPECT_EQ(remove_bundle(root_, "site-images").error().code, Errc::BadContent);
    EXPECT_EQ(directory_.read("var/lib/gpuhost/catalogue/.generations"), "nonsense");
}

TEST_F(Import, RemovalWithDamagedRecordKeepsTheGeneration) {
    tests::TestBundle bundle = example();
    const std::string seven = write(bundle);
    bundle.manifest.generation = 6;
    const std::string six = write(bundle);
    ASSERT_TRUE(import(seven));
    directory_.write("var/lib/gpuhost/catalogue/site-images/record.json", "damaged");
    ASSERT_TRUE(remove_bundle(root_, "site-images"));
    EXPECT_EQ(import(six).error().code, Errc::Refused);
    ASSERT_TRUE(import(seven));
    for (const char* file : {"record.json", "manifest.p7s"})
        directory_.write("var/lib/gpuhost/catalogue/site-images/" + std::string(file), "damaged");
    EXPECT_EQ(remove_bundle(root_, "site-images").error().code, Errc::BadContent);
    ASSERT_TRUE(import(seven, {true}));
    EXPECT_TRUE(remove_bundle(root_, "site-images"));
}

TEST_F(Import, TruncatedDocumentOfAnArtifactIsReplaced) {
    tests::TestBundle bundle = example();
    const auto descriptor = [&](const std::string& content, const char* type) {
        return base::Json{
            {"mediaType", type}, {"digest", "sha256:" + bundle.add(content)}, {"size", content.size()}};
    };
    BundleArtifact artifact;
    artifact.kind = "files";
    artifact.name = "manuals";
    base::Json file = descriptor("a manual", "application/octet-stream");
    file["annotations"] = {{"org.opencontainers.image.title", "manual.txt"}};
    const std::string document =
        base::dump({{"schemaVersion", 2},
                    {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                    {"artifactType", artifact_type(artifact)},
                    {"config", descriptor("{}", "application/vnd.oci.empty.v1+json")},
                    {"layers", {std::move(file)}}});
    artifact.hex = bundle.add(document);
    artifact.size = document.size();
    bundle.manifest.artifacts.push_back(artifact);
    const std::string bytes = write(bundle);
    ASSERT_TRUE(import(bytes));
    for (const std::string& hex : {artifact.hex, content::sha256("a manual")}) {
        const std::string path = std::string(blobs_directory) + "/" + hex;
        ASSERT_TRUE(root_.remove(path)); // the file is read-only
        directory_.write(path.substr(1), "cut");
        const auto again = import(bytes);
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(blob(hex), bundle.contents.at(hex));
    }
}

TEST_F(Import, DeltaNeedsItsBase) {
    tests::TestBundle whole = example();
    tests::TestBundle delta = whole;
    delta.manifest.generation = 8;
    const std::string added = delta.add("added");
    for (std::size_t i = 1; i < 5; ++i)
        delta.manifest.members[i].absent = true;
    const std::string bytes = write(delta);
    const auto refused = import(bytes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::NotFound);
    EXPECT_NE(refused.error().message.find("leaves out 4 blobs"), std::string::npos)
        << refused.error().message;
    EXPECT_NE(refused.error().message.find("sha256:" + delta.manifest.members[1].hex), std::string::npos);
    ASSERT_TRUE(import(write(whole)));
    const auto record = import(bytes);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->blobs, 5U) << "it also owns the omitted blobs";
    EXPECT_EQ(blob(added), "added");
}

TEST_F(Import, DeltaAndWholeAreTheSameBundle) {
    tests::TestBundle whole = example();
    tests::TestBundle delta = whole;
    delta.manifest.members[2].absent = true;
    ASSERT_TRUE(import(write(whole)));
    ASSERT_TRUE(import(write(delta)));
    EXPECT_TRUE(plan_.complete);
    ASSERT_TRUE(import(write(whole)));
    EXPECT_TRUE(plan_.complete);
}

TEST_F(Import, ImportsOnlyMembersForThisHost) {
    tests::TestBundle bundle;
    const std::string all = bundle.add("for all");
    const std::string arm = bundle.add("for arm");
    bundle.manifest.members.back().hosts = {"linux/arm64"};
    const std::string kernel = bundle.add("for this kernel");
    bundle.manifest.members.back().hosts = {"kernel=5.15.0-1", "kernel=6.1.0-50-amd64"};
    const std::string both = bundle.add("for this kernel here");
    bundle.manifest.members.back().hosts = {"linux/amd64,kernel=6.1.0-50-amd64"};
    const std::string elsewhere = bundle.add("for this kernel elsewhere");
    bundle.manifest.members.back().hosts = {"linux/arm64,kernel=6.1.0-50-amd64",
                                            "linux/amd64,kernel=5.15.0-1"};
    const auto record = import(write(bundle));
    ASSERT_TRUE(record);
    EXPECT_EQ(record->blobs, 3U);
    EXPECT_EQ(blob(both), "for this kernel here");
    EXPECT_EQ(blob(elsewhere), "(absent)");
    EXPECT_EQ(blob(all), "for all");
    EXPECT_EQ(blob(arm), "(absent)");
    EXPECT_EQ(blob(kernel), "for this kernel");
}

TEST_F(Import, SpaceIsCheckedBeforeTheFirstByte) {
    BundleManifest manifest{"large", 1, 1, {{std::string(64, 'a'), std::uint64_t{1} << 49U, "", {}, false}},
                            {},      {}};
    const auto key = content::SigningKey::from_pem(site_.key, site_.certificate, "");
    const auto plan = [&]() -> Result<ImportPlan> {
        const std::string der = key->sign(to_text(manifest), 1).value();
        const UniqueFd fd =
            tests::memory_file(manifest_header(der.size()) + der); // only these bytes are read
        GPUHOST_TRY(input, BundleInput::open({{fd.get(), "x"}}));
        GPUHOST_TRY(bundle, BundleReader::open(std::move(input), trust_));
        return plan_import(root_, bundle.signed_manifest(), host_, {});
    };
    const auto refused = plan();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::NoSpace);
    EXPECT_NE(refused.error().message.find(" MiB are needed, but only "), std::string::npos)
        << refused.error().message;
    EXPECT_TRUE(visible().empty());
    // Bytes of an interrupted import are not written again.
    manifest.members[0].size = root_.free_bytes("/").value() + (1U << 20U);
    EXPECT_EQ(plan().error().code, Errc::NoSpace);
    const std::string part =
        std::string(incoming_directory) + "/" + identity(manifest) + "/" + std::string(64, 'a');
    directory_.write(part.substr(1), "");
    const auto fd = root_.open_file(part, O_RDWR);
    ASSERT_TRUE(fd);
    ASSERT_EQ(::ftruncate(fd->get(), static_cast<off_t>(manifest.members[0].size - 1)), 0);
    EXPECT_TRUE(plan());
}

TEST_F(Import, TemporaryCatalogueEntriesAreRemoved) {
    directory_.write("var/lib/gpuhost/catalogue/..absent-site.123.tmp", "");
    directory_.write("var/lib/gpuhost/catalogue/.generations", "{}");
    ASSERT_TRUE(import(write(example())));
    EXPECT_FALSE(root_.exists("/var/lib/gpuhost/catalogue/..absent-site.123.tmp"));
    EXPECT_TRUE(root_.exists("/var/lib/gpuhost/catalogue/.generations"));
}

TEST_F(Import, ImportCanBeUndoneUntilFinalized) {
    tests::TestBundle bundle = example();
    const std::string seven = write(bundle);
    bundle.manifest.generation = 8;
    const std::string eight = write(bundle);
    const auto commit = [&] {
        const auto received = received_bundle(root_);
        return commit_bundle(root_, received->value(), trust_, host_);
    };
    const auto undo_put = [&] { return undo_receive(root_, received_bundle(root_)->value()); };
    const auto generations = [&] {
        std::string found;
        const auto names = Catalogue(root_).names();
        for (const std::string& name : *names)
            found += name + " " + std::to_string(Catalogue(root_).record(name)->generation);
        return found;
    };
    // The first bundle with its name: before the commit, after it, and after a second commit.
    for (const int commits : {0, 1, 2}) {
        ASSERT_TRUE(import(seven, {}, false));
        for (int i = 0; i < commits; ++i)
            ASSERT_TRUE(commit());
        EXPECT_EQ(generations(), commits == 0 ? "" : "site-images 7");
        ASSERT_TRUE(undo_put());
        ASSERT_TRUE(undo_put());
        EXPECT_EQ(generations(), "") << commits;
        EXPECT_TRUE(root_.list(catalogue_directory).value_or(std::vector<std::string>()).empty()) << commits;
    }
    ASSERT_TRUE(import(seven));
    // A bundle that replaces another.
    for (const int commits : {0, 1, 2}) {
        ASSERT_TRUE(import(eight, {}, false));
        for (int i = 0; i < commits; ++i)
            ASSERT_TRUE(commit());
        EXPECT_EQ(generations(), commits == 0 ? "site-images 7" : "site-images 8");
        ASSERT_TRUE(undo_put());
        ASSERT_TRUE(undo_put());
        EXPECT_EQ(generations(), "site-images 7") << commits;
    }
    // The same bundle again, for a lost blob.
    ASSERT_TRUE(BlobStore(root_).remove(bundle.manifest.members[2].hex));
    for (const int commits : {0, 1, 2}) {
        ASSERT_TRUE(import(seven, {}, false));
        for (int i = 0; i < commits; ++i)
            ASSERT_TRUE(commit());
        ASSERT_TRUE(undo_put());
        EXPECT_EQ(generations(), "site-images 7") << commits;
        EXPECT_EQ(root_.list(catalogue_directory)->size(), 1U);
    }
    ASSERT_TRUE(import(eight));
    EXPECT_EQ(generations(), "site-images 8");
    EXPECT_EQ(root_.list(catalogue_directory)->size(), 1U) << "no backup is left";
    EXPECT_TRUE(root_.list(incoming_directory)->empty());
}

TEST_F(Import, InterruptedCommitHasTheSameResult) {
    const tests::TestBundle bundle = example();
    const std::string bytes = write(bundle);
    ASSERT_TRUE(import(bytes, {}, false));
    const std::string incoming = std::string(incoming_directory) + "/" + identity(bundle.manifest) + "/";
    // Some blobs have their names already; one of them is sealed.
    ASSERT_TRUE(root_.make_directories(blobs_directory));
    for (const std::size_t at : {std::size_t{1}, std::size_t{2}}) {
        const std::string hex = bundle.manifest.members[at].hex;
        ASSERT_TRUE(root_.rename(incoming + hex, std::string(blobs_directory) + "/" + hex));
    }
    const auto record = import(bytes);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(plan_.present_blobs, 2U);
    EXPECT_EQ(root_.list(blobs_directory)->size(), 4U);
    EXPECT_FALSE(root_.exists(incoming));
}

TEST_F(Import, BlobThatAScrubRemovedFailsTheCommit) {
    tests::TestBundle bundle = example();
    ASSERT_TRUE(import(write(bundle)));
    bundle.add("only in eight");
    bundle.manifest.generation = 8;
    const std::string bytes = write(bundle);
    ASSERT_TRUE(import(bytes, {}, false));
    EXPECT_EQ(plan_.missing_blobs, 1U);
    const std::string shared = bundle.manifest.members[2].hex;
    ASSERT_TRUE(BlobStore(root_).remove(shared)); // in parallel to the import
    const auto record = commit_bundle(root_, **received_bundle(root_), trust_, host_);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, Errc::Interrupted);
    EXPECT_EQ(record.error().message,
              "blob sha256:" + shared + ": found damaged during the import, and removed");
    EXPECT_EQ(Catalogue(root_).record("site-images")->generation, 7U);
    ASSERT_TRUE(import(bytes));
    EXPECT_EQ(blob(shared), bundle.contents.at(shared));
}

TEST_F(Import, PartsOfOtherBundlesAreRemoved) {
    directory_.write("var/lib/gpuhost/store/incoming/" + std::string(64, 'f') + "/" + std::string(64, 'a'),
                     "left");
    ASSERT_TRUE(import(write(example())));
    EXPECT_TRUE(root_.list(incoming_directory)->empty());
}

TEST_F(Import, OwnedBlobsAreCheckedAtImport) {
    tests::TestBundle bundle = example();
    bundle.add("for another kernel");
    bundle.manifest.members.back().hosts = {"kernel=7.0.0"};
    const std::string bytes = write(bundle);
    ASSERT_TRUE(import(bytes));
    directory_.write("var/lib/gpuhost/catalogue/site-images/blobs", "");
    ASSERT_TRUE(import(bytes));
    EXPECT_FALSE(plan_.complete);
    EXPECT_EQ(Catalogue(root_).blobs("site-images")->size(), 4U);
    host_.kernels.push_back("7.0.0"); // installed meanwhile; its blob was imported with another bundle
    directory_.write(std::string(blobs_directory).substr(1) + "/" + bundle.manifest.members.back().hex,
                     "for another kernel");
    ASSERT_TRUE(import(bytes));
    EXPECT_FALSE(plan_.complete);
    EXPECT_EQ(Catalogue(root_).blobs("site-images")->size(), 5U);
    ASSERT_TRUE(import(bytes));
    EXPECT_TRUE(plan_.complete);
}

TEST_F(Import, DamagedRecordIsReplacedOnlyIfAllowed) {
    const std::string bytes = write(example());
    ASSERT_TRUE(import(bytes));
    const auto before = visible();
    directory_.write("var/lib/gpuhost/catalogue/site-images/record.json", "{");
    EXPECT_EQ(Catalogue(root_).record("site-images").error().code, Errc::BadContent);
    EXPECT_EQ(Catalogue(root_).names()->size(), 1U);
    EXPECT_EQ(import(bytes).error().code, Errc::BadContent) << "the current generation is unknown";
    ASSERT_TRUE(import(bytes, {true}));
    EXPECT_EQ(plan_.missing_blobs, 0U);
    EXPECT_EQ(Catalogue(root_).record("site-images")->blobs, 4U);
    EXPECT_EQ(visible().size(), before.size());
}

TEST_F(Import, LinksAndPipesInTheCatalogueAreRefused) {
    ASSERT_TRUE(import(write(example())));
    const std::string record = "/var/lib/gpuhost/catalogue/site-images/record.json";
    directory_.write("secret", "{}");
    ASSERT_TRUE(root_.symlink_atomic("/secret", record));
    EXPECT_FALSE(Catalogue(root_).record("site-images"));
    ASSERT_TRUE(root_.remove(record));
    ASSERT_EQ(::mkfifo(root_.host_path(record).c_str(), 0600), 0);
    EXPECT_FALSE(Catalogue(root_).record("site-images")) << "and does not wait for a writer";
}

TEST_F(Import, RemovalDeletesBlobsWithoutOtherOwners) {
    tests::TestBundle first = example();
    const std::string shared = first.add("shared");
    const std::string own = first.add("own");
    tests::TestBundle second;
    second.manifest.name = "second";
    second.add("shared");
    ASSERT_TRUE(import(write(first)));
    ASSERT_TRUE(import(write(second)));
    const auto freed = remove_bundle(root_, "site-images");
    ASSERT_TRUE(freed) << freed.error().message;
    EXPECT_EQ(freed->blobs, 5U);
    EXPECT_EQ(blob(own), "(absent)");
    EXPECT_EQ(blob(shared), "shared");
    EXPECT_EQ(*Catalogue(root_).names(), std::vector<std::string>{"second"});
    EXPECT_EQ(remove_bundle(root_, "site-images")->blobs, 0U) << "a second removal changes nothing";
}

TEST_F(Import, BlobsOmittedByANewGenerationAreGarbage) {
    tests::TestBundle bundle = example();
    const std::string old = bundle.add("only in seven");
    ASSERT_TRUE(import(write(bundle)));
    bundle.manifest.members.pop_back();
    bundle.manifest.generation = 8;
    ASSERT_TRUE(import(write(bundle)));
    EXPECT_EQ(remove_garbage(root_)->blobs, 1U);
    EXPECT_EQ(blob(old), "(absent)");
    EXPECT_EQ(root_.list(blobs_directory)->size(), 4U);
}

TEST_F(Import, UnreadableOwnersPreventGarbageCollection) {
    const tests::TestBundle bundle = example();
    ASSERT_TRUE(import(write(bundle)));
    tests::TestBundle other;
    other.manifest.name = "other";
    other.add("other");
    ASSERT_TRUE(import(write(other)));
    const std::string hex = bundle.manifest.members[1].hex;
    for (const std::string& text : {std::string("zz 1\n"), hex + "\n", hex + " x\n", hex + " 5 5\n"}) {
        directory_.write("var/lib/gpuhost/catalogue/site-images/blobs", text);
        const auto freed = remove_garbage(root_);
        ASSERT_FALSE(freed) << text;
        EXPECT_EQ(freed.error().code, Errc::BadContent);
        EXPECT_FALSE(remove_bundle(root_, "other"));
        EXPECT_EQ(Catalogue(root_).names()->size(), 2U) << "a record is removed only if its blobs can be";
    }
    EXPECT_EQ(root_.list(blobs_directory)->size(), 5U);
    EXPECT_TRUE(remove_bundle(root_, "site-images")) << "its own list need not be readable";
    ASSERT_TRUE(root_.remove_tree(catalogue_directory));
    EXPECT_EQ(remove_garbage(root_)->blobs, 0U) << "a missing catalogue owns everything";
}

} // namespace
} // namespace gpuhost::images
