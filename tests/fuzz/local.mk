# SPDX-License-Identifier: Apache-2.0
# A fuzzed parser has one FOO.cpp, its program below, and corpus/FOO/. See fuzz.hpp.
fuzz_programs = \
    %D%/fuzz-archive \
    %D%/fuzz-bundle \
    %D%/fuzz-cdi \
    %D%/fuzz-cms \
    %D%/fuzz-deb \
    %D%/fuzz-dns \
    %D%/fuzz-docker \
    %D%/fuzz-foreign \
    %D%/fuzz-gate \
    %D%/fuzz-geometry \
    %D%/fuzz-ini \
    %D%/fuzz-initramfs \
    %D%/fuzz-inventory \
    %D%/fuzz-job \
    %D%/fuzz-journal \
    %D%/fuzz-json \
    %D%/fuzz-keys \
    %D%/fuzz-kmsg \
    %D%/fuzz-kubeconfig \
    %D%/fuzz-kubelet \
    %D%/fuzz-makeself \
    %D%/fuzz-manifest \
    %D%/fuzz-mig \
    %D%/fuzz-modprobe \
    %D%/fuzz-module \
    %D%/fuzz-node \
    %D%/fuzz-oci \
    %D%/fuzz-offer \
    %D%/fuzz-plugin_config \
    %D%/fuzz-procfs \
    %D%/fuzz-redact \
    %D%/fuzz-registry \
    %D%/fuzz-rpc_client \
    %D%/fuzz-rpc_server \
    %D%/fuzz-rpm \
    %D%/fuzz-run_manifest \
    %D%/fuzz-settings \
    %D%/fuzz-signature \
    %D%/fuzz-supported_gpus \
    %D%/fuzz-toml \
    %D%/fuzz-unified_image
check_PROGRAMS += $(fuzz_programs)
EXTRA_DIST += $(fuzz_corpus)
fuzz_cppflags = $(AM_CPPFLAGS) $(KMOD_CFLAGS) $(ARCHIVE_CFLAGS) $(CRYPTO_CFLAGS)

if FUZZING
fuzz_flags = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_main =
else
TESTS += $(fuzz_programs)
fuzz_flags = $(AM_LDFLAGS)
fuzz_main = %D%/libreplay.a
check_LIBRARIES += %D%/libreplay.a
%C%_libreplay_a_SOURCES = %D%/fuzz.hpp %D%/replay.cpp
endif

%C%_fuzz_archive_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_archive_LDFLAGS = $(fuzz_flags)
%C%_fuzz_archive_LDADD = $(fuzz_main) $(content_libs)
%C%_fuzz_archive_SOURCES = %D%/archive.cpp

%C%_fuzz_bundle_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_bundle_LDFLAGS = $(fuzz_flags)
%C%_fuzz_bundle_LDADD = $(fuzz_main) $(images_libs)
%C%_fuzz_bundle_SOURCES = %D%/bundle.cpp

%C%_fuzz_cdi_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_cdi_LDFLAGS = $(fuzz_flags)
%C%_fuzz_cdi_LDADD = $(fuzz_main) $(runtime_libs)
%C%_fuzz_cdi_SOURCES = %D%/cdi.cpp

%C%_fuzz_cms_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_cms_LDFLAGS = $(fuzz_flags)
%C%_fuzz_cms_LDADD = $(fuzz_main) $(content_libs)
%C%_fuzz_cms_SOURCES = %D%/cms.cpp

%C%_fuzz_deb_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_deb_LDFLAGS = $(fuzz_flags)
%C%_fuzz_deb_LDADD = $(fuzz_main) $(kmod_libs)
%C%_fuzz_deb_SOURCES = %D%/deb.cpp

%C%_fuzz_dns_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_dns_LDFLAGS = $(fuzz_flags)
%C%_fuzz_dns_LDADD = $(fuzz_main) $(images_libs) $(RESOLV_LIBS)
%C%_fuzz_dns_SOURCES = %D%/dns.cpp

%C%_fuzz_docker_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_docker_LDFLAGS = $(fuzz_flags)
%C%_fuzz_docker_LDADD = $(fuzz_main) $(runtime_libs)
%C%_fuzz_docker_SOURCES = %D%/docker.cpp

%C%_fuzz_foreign_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_foreign_LDFLAGS = $(fuzz_flags)
%C%_fuzz_foreign_LDADD = $(fuzz_main) $(images_libs)
%C%_fuzz_foreign_SOURCES = %D%/foreign.cpp

%C%_fuzz_gate_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_gate_LDFLAGS = $(fuzz_flags)
%C%_fuzz_gate_LDADD = $(fuzz_main) $(cluster_libs)
%C%_fuzz_gate_SOURCES = %D%/gate.cpp

%C%_fuzz_geometry_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_geometry_LDFLAGS = $(fuzz_flags)
%C%_fuzz_geometry_LDADD = $(fuzz_main) daemon/devices/mig/libmig.a $(runtime_libs)
%C%_fuzz_geometry_SOURCES = %D%/geometry.cpp

%C%_fuzz_ini_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_ini_LDFLAGS = $(fuzz_flags)
%C%_fuzz_ini_LDADD = $(fuzz_main) $(base_libs)
%C%_fuzz_ini_SOURCES = %D%/ini.cpp

%C%_fuzz_initramfs_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_initramfs_LDFLAGS = $(fuzz_flags)
%C%_fuzz_initramfs_LDADD = $(fuzz_main) $(content_libs)
%C%_fuzz_initramfs_SOURCES = %D%/initramfs.cpp

%C%_fuzz_inventory_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_inventory_LDFLAGS = $(fuzz_flags)
%C%_fuzz_inventory_LDADD = $(fuzz_main) $(images_libs)
%C%_fuzz_inventory_SOURCES = %D%/inventory.cpp

%C%_fuzz_job_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_job_LDFLAGS = $(fuzz_flags)
%C%_fuzz_job_LDADD = $(fuzz_main) $(core_libs)
%C%_fuzz_job_SOURCES = %D%/job.cpp

%C%_fuzz_journal_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_journal_LDFLAGS = $(fuzz_flags)
%C%_fuzz_journal_LDADD = $(fuzz_main) $(core_libs)
%C%_fuzz_journal_SOURCES = %D%/journal.cpp

%C%_fuzz_json_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_json_LDFLAGS = $(fuzz_flags)
%C%_fuzz_json_LDADD = $(fuzz_main) $(base_libs)
%C%_fuzz_json_SOURCES = %D%/json.cpp

%C%_fuzz_keys_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_keys_LDFLAGS = $(fuzz_flags)
%C%_fuzz_keys_LDADD = $(fuzz_main) $(kmod_libs)
%C%_fuzz_keys_SOURCES = %D%/keys.cpp

%C%_fuzz_kmsg_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_kmsg_LDFLAGS = $(fuzz_flags)
%C%_fuzz_kmsg_LDADD = $(fuzz_main) $(devices_libs)
%C%_fuzz_kmsg_SOURCES = %D%/kmsg.cpp

%C%_fuzz_kubeconfig_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_kubeconfig_LDFLAGS = $(fuzz_flags)
%C%_fuzz_kubeconfig_LDADD = $(fuzz_main) $(cluster_libs)
%C%_fuzz_kubeconfig_SOURCES = %D%/kubeconfig.cpp

%C%_fuzz_kubelet_CPPFLAGS = $(fuzz_cppflags) $(kubelet_cppflags)
%C%_fuzz_kubelet_LDFLAGS = $(fuzz_flags)
%C%_fuzz_kubelet_LDADD = $(fuzz_main) $(kubelet_libs)
%C%_fuzz_kubelet_SOURCES = %D%/kubelet.cpp
$(%C%_fuzz_kubelet_OBJECTS): | $(kubelet_headers)

%C%_fuzz_makeself_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_makeself_LDFLAGS = $(fuzz_flags)
%C%_fuzz_makeself_LDADD = $(fuzz_main) $(content_libs)
%C%_fuzz_makeself_SOURCES = %D%/makeself.cpp

%C%_fuzz_manifest_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_manifest_LDFLAGS = $(fuzz_flags)
%C%_fuzz_manifest_LDADD = $(fuzz_main) $(kmod_libs)
%C%_fuzz_manifest_SOURCES = %D%/manifest.cpp

%C%_fuzz_mig_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_mig_LDFLAGS = $(fuzz_flags)
%C%_fuzz_mig_LDADD = $(fuzz_main) $(runtime_libs)
%C%_fuzz_mig_SOURCES = %D%/mig.cpp

%C%_fuzz_module_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_module_LDFLAGS = $(fuzz_flags)
%C%_fuzz_module_LDADD = $(fuzz_main) $(kmod_libs)
%C%_fuzz_module_SOURCES = %D%/module.cpp

%C%_fuzz_node_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_node_LDFLAGS = $(fuzz_flags)
%C%_fuzz_node_LDADD = $(fuzz_main) $(cluster_libs)
%C%_fuzz_node_SOURCES = %D%/node.cpp

%C%_fuzz_oci_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_oci_LDFLAGS = $(fuzz_flags)
%C%_fuzz_oci_LDADD = $(fuzz_main) $(images_libs)
%C%_fuzz_oci_SOURCES = %D%/oci.cpp

%C%_fuzz_offer_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_offer_LDFLAGS = $(fuzz_flags)
%C%_fuzz_offer_LDADD = $(fuzz_main) daemon/devices/libdevices.a $(base_libs)
%C%_fuzz_offer_SOURCES = %D%/offer.cpp

%C%_fuzz_modprobe_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_modprobe_LDFLAGS = $(fuzz_flags)
%C%_fuzz_modprobe_LDADD = $(fuzz_main) $(ctl_libs)
%C%_fuzz_modprobe_SOURCES = %D%/modprobe.cpp

%C%_fuzz_plugin_config_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_plugin_config_LDFLAGS = $(fuzz_flags)
%C%_fuzz_plugin_config_LDADD = $(fuzz_main) $(devices_libs)
%C%_fuzz_plugin_config_SOURCES = %D%/plugin_config.cpp

%C%_fuzz_procfs_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_procfs_LDFLAGS = $(fuzz_flags)
%C%_fuzz_procfs_LDADD = $(fuzz_main) $(kmod_libs)
%C%_fuzz_procfs_SOURCES = %D%/procfs.cpp

%C%_fuzz_redact_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_redact_LDFLAGS = $(fuzz_flags)
%C%_fuzz_redact_LDADD = $(fuzz_main) $(ctl_libs)
%C%_fuzz_redact_SOURCES = %D%/redact.cpp

%C%_fuzz_registry_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_registry_LDFLAGS = $(fuzz_flags)
%C%_fuzz_registry_LDADD = $(fuzz_main) $(images_libs)
%C%_fuzz_registry_SOURCES = %D%/registry.cpp

%C%_fuzz_rpc_client_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_rpc_client_LDFLAGS = $(fuzz_flags)
%C%_fuzz_rpc_client_LDADD = $(fuzz_main) $(rpc_libs)
%C%_fuzz_rpc_client_SOURCES = %D%/rpc_client.cpp

%C%_fuzz_rpc_server_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_rpc_server_LDFLAGS = $(fuzz_flags)
%C%_fuzz_rpc_server_LDADD = $(fuzz_main) $(rpc_libs)
%C%_fuzz_rpc_server_SOURCES = %D%/rpc_server.cpp

%C%_fuzz_rpm_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_rpm_LDFLAGS = $(fuzz_flags)
%C%_fuzz_rpm_LDADD = $(fuzz_main) $(content_libs)
%C%_fuzz_rpm_SOURCES = %D%/rpm.cpp

%C%_fuzz_run_manifest_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_run_manifest_LDFLAGS = $(fuzz_flags)
%C%_fuzz_run_manifest_LDADD = $(fuzz_main) $(content_libs)
%C%_fuzz_run_manifest_SOURCES = %D%/run_manifest.cpp

%C%_fuzz_settings_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_settings_LDFLAGS = $(fuzz_flags)
%C%_fuzz_settings_LDADD = $(fuzz_main) $(core_libs)
%C%_fuzz_settings_SOURCES = %D%/settings.cpp

%C%_fuzz_signature_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_signature_LDFLAGS = $(fuzz_flags)
%C%_fuzz_signature_LDADD = $(fuzz_main) $(content_libs)
%C%_fuzz_signature_SOURCES = %D%/signature.cpp
%C%_fuzz_supported_gpus_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_supported_gpus_LDFLAGS = $(fuzz_flags)
%C%_fuzz_supported_gpus_LDADD = $(fuzz_main) $(kmod_libs)
%C%_fuzz_supported_gpus_SOURCES = %D%/supported_gpus.cpp

%C%_fuzz_toml_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_toml_LDFLAGS = $(fuzz_flags)
%C%_fuzz_toml_LDADD = $(fuzz_main) $(runtime_libs)
%C%_fuzz_toml_SOURCES = %D%/toml.cpp

%C%_fuzz_unified_image_CPPFLAGS = $(fuzz_cppflags)
%C%_fuzz_unified_image_LDFLAGS = $(fuzz_flags)
%C%_fuzz_unified_image_LDADD = $(fuzz_main) $(content_libs)
%C%_fuzz_unified_image_SOURCES = %D%/unified_image.cpp

fuzz_corpus = \
    %D%/corpus/archive/climbing.tar.gz \
    %D%/corpus/archive/one.xz \
    %D%/corpus/archive/package-gzip.deb \
    %D%/corpus/archive/package-xz.deb \
    %D%/corpus/archive/package-zstd.deb \
    %D%/corpus/archive/sparse-gnu-0.1.tar.gz \
    %D%/corpus/archive/sparse-gnu-1.0.tar.gz \
    %D%/corpus/archive/sparse-gnu-old.tar.gz \
    %D%/corpus/archive/sparse-sun-cut.tar.gz \
    %D%/corpus/archive/sparse-sun.tar.gz \
    %D%/corpus/archive/tree.tar.gz \
    %D%/corpus/bundle/delta.json \
    %D%/corpus/bundle/header \
    %D%/corpus/bundle/images.json \
    %D%/corpus/bundle/packages.json \
    %D%/corpus/bundle/referrers.json \
    %D%/corpus/cdi/aliases.yaml \
    %D%/corpus/cdi/bytes.yaml \
    %D%/corpus/cdi/deep.yaml \
    %D%/corpus/cdi/everything.json \
    %D%/corpus/cdi/gpu.yaml \
    %D%/corpus/cdi/itself.yaml \
    %D%/corpus/cdi/many.yaml \
    %D%/corpus/cdi/problems.yaml \
    %D%/corpus/cdi/twice.json \
    %D%/corpus/cms/detached.der \
    %D%/corpus/cms/list.pem \
    %D%/corpus/cms/signed.der \
    %D%/corpus/cms/site.pem \
    %D%/corpus/deb/driver.deb \
    %D%/corpus/deb/source.deb \
    %D%/corpus/dns/instances \
    %D%/corpus/dns/loop \
    %D%/corpus/dns/nothing \
    %D%/corpus/dns/server \
    %D%/corpus/dns/strange \
    %D%/corpus/docker/broken.json \
    %D%/corpus/docker/empty.json \
    %D%/corpus/docker/members.json \
    %D%/corpus/docker/nothing.json \
    %D%/corpus/docker/numbers.json \
    %D%/corpus/docker/odd.json \
    %D%/corpus/docker/twice.json \
    %D%/corpus/docker/types.json \
    %D%/corpus/docker/windows.json \
    %D%/corpus/foreign/docker-1.9.tar.gz \
    %D%/corpus/foreign/docker-24.tar.gz \
    %D%/corpus/foreign/layout.tar.gz \
    %D%/corpus/foreign/manifest.json \
    %D%/corpus/foreign/small.tar \
    %D%/corpus/foreign/sparse-gnu-0.1.tar.gz \
    %D%/corpus/foreign/sparse-gnu-1.0.tar.gz \
    %D%/corpus/foreign/sparse-gnu-old.tar.gz \
    %D%/corpus/foreign/sparse-sun-cut.tar.gz \
    %D%/corpus/foreign/sparse-sun.tar.gz \
    %D%/corpus/gate/alerts.json \
    %D%/corpus/gate/empty.json \
    %D%/corpus/gate/error.json \
    %D%/corpus/gate/matrix.json \
    %D%/corpus/gate/partial.json \
    %D%/corpus/gate/policy.json \
    %D%/corpus/gate/query.json \
    %D%/corpus/gate/scalar.json \
    %D%/corpus/geometry/geometry \
    %D%/corpus/geometry/place \
    %D%/corpus/geometry/restored \
    %D%/corpus/geometry/twice \
    %D%/corpus/ini/broken.conf \
    %D%/corpus/ini/bytes.conf \
    %D%/corpus/ini/joined.conf \
    %D%/corpus/ini/lone-backslash.conf \
    %D%/corpus/ini/plain.conf \
    %D%/corpus/initramfs/digits \
    %D%/corpus/initramfs/early-gzip \
    %D%/corpus/initramfs/huge \
    %D%/corpus/initramfs/plain \
    %D%/corpus/initramfs/two-early-zstd \
    %D%/corpus/inventory/host.json \
    %D%/corpus/inventory/least.json \
    %D%/corpus/inventory/word \
    %D%/corpus/inventory/word-os \
    %D%/corpus/job/events \
    %D%/corpus/job/events-failed \
    %D%/corpus/job/request.json \
    %D%/corpus/journal/committed.bare \
    %D%/corpus/journal/committed.jsonl \
    %D%/corpus/journal/rolled-back.bare \
    %D%/corpus/journal/rolled-back.jsonl \
    %D%/corpus/json/deep.json \
    %D%/corpus/json/deeper.json \
    %D%/corpus/json/error.json \
    %D%/corpus/json/numbers.json \
    %D%/corpus/json/utf8.json \
    %D%/corpus/keys/proc-keys \
    %D%/corpus/keys/signature-list-cut \
    %D%/corpus/keys/signature-lists \
    %D%/corpus/kmsg/forged \
    %D%/corpus/kmsg/lost \
    %D%/corpus/kmsg/mig \
    %D%/corpus/kmsg/swap \
    %D%/corpus/kubeconfig/exec.yaml \
    %D%/corpus/kubeconfig/files.yaml \
    %D%/corpus/kubeconfig/impersonation.yaml \
    %D%/corpus/kubeconfig/key-newline.yaml \
    %D%/corpus/kubeconfig/kubeadm.yaml \
    %D%/corpus/kubeconfig/map-newline.yaml \
    %D%/corpus/kubeconfig/merged.yaml \
    %D%/corpus/kubeconfig/newline.yaml \
    %D%/corpus/kubeconfig/pem.yaml \
    %D%/corpus/kubeconfig/scalars.yaml \
    %D%/corpus/kubeconfig/self.yaml \
    %D%/corpus/kubeconfig/tag-newline.yaml \
    %D%/corpus/kubeconfig/token.json \
    %D%/corpus/kubeconfig/twice.yaml \
    %D%/corpus/kubelet/allocate \
    %D%/corpus/kubelet/allocated \
    %D%/corpus/kubelet/cut \
    %D%/corpus/kubelet/pods \
    %D%/corpus/kubelet/preferred \
    %D%/corpus/kubelet/status \
    %D%/corpus/kubelet/unknown \
    %D%/corpus/kubelet/utf8 \
    %D%/corpus/makeself/huge \
    %D%/corpus/makeself/nvidia \
    %D%/corpus/makeself/own \
    %D%/corpus/makeself/substitution \
    %D%/corpus/makeself/twice \
    %D%/corpus/manifest/modules.json \
    %D%/corpus/manifest/userland.json \
    %D%/corpus/mig/answer \
    %D%/corpus/mig/error \
    %D%/corpus/mig/minors \
    %D%/corpus/mig/nvlinks \
    %D%/corpus/mig/twice \
    %D%/corpus/modprobe/cmdline \
    %D%/corpus/modprobe/debian.conf \
    %D%/corpus/modprobe/odd.conf \
    %D%/corpus/module/module.ko \
    %D%/corpus/module/signed.ko \
    %D%/corpus/node/cut \
    %D%/corpus/node/events \
    %D%/corpus/node/no-object \
    %D%/corpus/node/shapes \
    %D%/corpus/oci/both.json \
    %D%/corpus/oci/index.json \
    %D%/corpus/oci/manifest.json \
    %D%/corpus/oci/name \
    %D%/corpus/oci/name-digest \
    %D%/corpus/offer/answer \
    %D%/corpus/offer/mixed \
    %D%/corpus/offer/nvlinks \
    %D%/corpus/offer/single \
    %D%/corpus/offer/twice \
    %D%/corpus/plugin_config/broken.yaml \
    %D%/corpus/plugin_config/everything.yaml \
    %D%/corpus/plugin_config/mistakes.yaml \
    %D%/corpus/plugin_config/mps.yaml \
    %D%/corpus/plugin_config/plain.json \
    %D%/corpus/procfs/cgroup-old \
    %D%/corpus/procfs/cgroup-pod \
    %D%/corpus/procfs/devices \
    %D%/corpus/procfs/maps \
    %D%/corpus/procfs/params \
    %D%/corpus/procfs/symvers \
    %D%/corpus/redact/key.pem \
    %D%/corpus/redact/log \
    %D%/corpus/registry/absolute \
    %D%/corpus/registry/climbing \
    %D%/corpus/registry/conditional \
    %D%/corpus/registry/manifest \
    %D%/corpus/registry/page \
    %D%/corpus/registry/range \
    %D%/corpus/registry/referrers \
    %D%/corpus/rpc_client/answer \
    %D%/corpus/rpc_client/bytes \
    %D%/corpus/rpc_client/error \
    %D%/corpus/rpc_client/goaway \
    %D%/corpus/rpc_client/http1 \
    %D%/corpus/rpc_client/reset \
    %D%/corpus/rpc_client/status \
    %D%/corpus/rpc_server/bytes \
    %D%/corpus/rpc_server/compressed \
    %D%/corpus/rpc_server/echo \
    %D%/corpus/rpc_server/http1 \
    %D%/corpus/rpc_server/large \
    %D%/corpus/rpc_server/later \
    %D%/corpus/rpc_server/reset \
    %D%/corpus/rpc_server/watch \
    %D%/corpus/rpm/climbing.rpm \
    %D%/corpus/rpm/gzip.rpm \
    %D%/corpus/rpm/index.rpm \
    %D%/corpus/rpm/zstd.rpm \
    %D%/corpus/run_manifest/climbing \
    %D%/corpus/run_manifest/directory \
    %D%/corpus/run_manifest/driver \
    %D%/corpus/run_manifest/short \
    %D%/corpus/settings/0 \
    %D%/corpus/settings/1 \
    %D%/corpus/settings/2 \
    %D%/corpus/settings/3 \
    %D%/corpus/settings/4 \
    %D%/corpus/settings/5 \
    %D%/corpus/settings/6 \
    %D%/corpus/settings/span-huge \
    %D%/corpus/settings/span-negative \
    %D%/corpus/signature/certificate.der \
    %D%/corpus/signature/certificate.pem \
    %D%/corpus/signature/issuer.ko \
    %D%/corpus/signature/keyid.ko \
    %D%/corpus/signature/not-zero.ko \
    %D%/corpus/signature/too-long.ko \
    %D%/corpus/supported_gpus/driver.json \
    %D%/corpus/supported_gpus/no-list.json \
    %D%/corpus/supported_gpus/strange.json \
    %D%/corpus/toml/broken.toml \
    %D%/corpus/toml/deep.toml \
    %D%/corpus/toml/dots.toml \
    %D%/corpus/toml/everything.toml \
    %D%/corpus/toml/imports-empty.toml \
    %D%/corpus/toml/imports-line.toml \
    %D%/corpus/toml/imports-lines.toml \
    %D%/corpus/toml/imports-ours.toml \
    %D%/corpus/toml/imports-table.toml \
    %D%/corpus/toml/k3s.toml \
    %D%/corpus/toml/quotes-short.toml \
    %D%/corpus/toml/quotes.toml \
    %D%/corpus/toml/version1.toml \
    %D%/corpus/toml/version3.toml \
    %D%/corpus/unified_image/cut \
    %D%/corpus/unified_image/none \
    %D%/corpus/unified_image/overlapping \
    %D%/corpus/unified_image/profiles \
    %D%/corpus/unified_image/whole

# Fuzzes each parser, in an --enable-fuzzing build: make fuzz FUZZ_SECONDS=60
.PHONY: fuzz
fuzz: $(fuzz_programs)
	set -e; for program in $(fuzz_programs); do \
	    name=$${program##*/fuzz-}; echo "  FUZZ     $$name"; $(MKDIR_P) %D%/found/$$name; \
	    $$program -max_total_time=$${FUZZ_SECONDS:-30} -timeout=5 -print_final_stats=1 -verbosity=0 \
	        -artifact_prefix=%D%/found/$$name/ %D%/found/$$name $(srcdir)/%D%/corpus/$$name; \
	done
