# SPDX-License-Identifier: Apache-2.0
# One program per subsystem; PATH/FOO_test.cpp tests PATH/FOO.cpp. rollout-tests runs the cluster's agents on
# a simulated network and clock.
unit_programs = %D%/base-tests %D%/core-tests %D%/content-tests %D%/http-tests %D%/rpc-tests %D%/devices-tests %D%/images-tests %D%/kmod-tests %D%/runtime-tests %D%/cluster-tests %D%/rollout-tests %D%/host-tests %D%/exporter-tests %D%/ctl-tests
check_PROGRAMS += $(unit_programs)
TESTS += $(unit_programs)
sync_seam = -Wl,--wrap=fsync -Wl,--wrap=fdatasync
read_seam = -Wl,--wrap=read -Wl,--wrap=pread
time_seam = -Wl,--wrap=clock_gettime -Wl,--wrap=_ZNSt13random_device9_M_getvalEv

%C%_base_tests_CPPFLAGS = $(test_cppflags)
%C%_base_tests_LDFLAGS = $(AM_LDFLAGS) $(sync_seam)
%C%_base_tests_LDADD = $(test_libs) $(test_inputs) $(yaml_libs)
%C%_base_tests_SOURCES = \
    %D%/base/arguments_test.cpp \
    %D%/base/become_test.cpp \
    %D%/base/elf_test.cpp \
    %D%/base/hex_test.cpp \
    %D%/base/kernels_test.cpp \
    %D%/base/process_test.cpp \
    %D%/base/prometheus_test.cpp \
    %D%/base/root_sync_test.cpp \
    %D%/base/root_test.cpp \
    %D%/base/text_test.cpp \
    %D%/base/yaml_test.cpp \
    tests/support/sync_seam.c \
    tests/support/sync_seam.h

%C%_core_tests_CPPFLAGS = $(test_cppflags)
%C%_core_tests_LDFLAGS = $(AM_LDFLAGS) $(sync_seam)
%C%_core_tests_LDADD = $(test_libs) $(core_libs)
%C%_core_tests_SOURCES = \
    %D%/core/cluster_desired_test.cpp \
    %D%/core/former_names_test.cpp \
    %D%/core/journal_test.cpp \
    %D%/core/settings_test.cpp \
    %D%/core/transaction_test.cpp \
    tests/support/sync_seam.c \
    tests/support/sync_seam.h

%C%_content_tests_CPPFLAGS = $(test_cppflags)
%C%_content_tests_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=EVP_md5
%C%_content_tests_LDADD = $(test_libs) $(test_inputs) $(content_libs)
%C%_content_tests_SOURCES = \
    %D%/content/archive/archive_test.cpp \
    %D%/content/archive/initramfs_test.cpp \
    %D%/content/archive/tar_writer_test.cpp \
    %D%/content/archive/tree_test.cpp \
    %D%/content/archive/unified_image_test.cpp \
    %D%/content/crypto/base64_test.cpp \
    %D%/content/crypto/client_certificate_test.cpp \
    %D%/content/crypto/cms_test.cpp \
    %D%/content/crypto/module_signature_test.cpp \
    %D%/content/crypto/sha256_test.cpp \
    %D%/content/module_key.hpp \
    %D%/content/package/makeself_test.cpp \
    %D%/content/package/rpm_test.cpp \
    %D%/content/package/run_manifest_test.cpp

%C%_http_tests_CPPFLAGS = $(test_cppflags)
%C%_http_tests_LDADD = $(test_libs) $(test_inputs) $(http_libs) $(content_libs)
%C%_http_tests_SOURCES = %D%/http/client_test.cpp

%C%_rpc_tests_CPPFLAGS = $(test_cppflags) $(kubelet_cppflags)
%C%_rpc_tests_LDADD = $(test_libs) $(kubelet_libs)
%C%_rpc_tests_SOURCES = \
    %D%/rpc/client_session_test.cpp \
    %D%/rpc/frames.hpp \
    %D%/rpc/kubelet/codec_test.cpp \
    %D%/rpc/kubelet/pods_test.cpp \
    %D%/rpc/message_test.cpp \
    %D%/rpc/server_session_test.cpp \
    %D%/rpc/server_test.cpp \
    %D%/rpc/sessions.hpp
$(%C%_rpc_tests_OBJECTS): | $(kubelet_headers)

%C%_devices_tests_CPPFLAGS = $(test_cppflags) $(kubelet_cppflags) $(SYSTEMD_CFLAGS)
%C%_devices_tests_LDADD = $(test_libs) $(plugin_libs) $(devices_libs)
%C%_devices_tests_SOURCES = \
    %D%/devices/health/health_test.cpp \
    %D%/devices/health/kernel_line_test.cpp \
    %D%/devices/labels_test.cpp \
    %D%/devices/list_strategy_test.cpp \
    %D%/devices/mig/commands_test.cpp \
    %D%/devices/mig/component_test.cpp \
    %D%/devices/mig/geometry_test.cpp \
    %D%/devices/mig/kept_test.cpp \
    %D%/devices/mig/restore_plan_test.cpp \
    %D%/devices/offer_test.cpp \
    %D%/devices/plugin/allocation_test.cpp \
    %D%/devices/plugin_test.cpp \
    %D%/devices/publish/component_test.cpp \
    %D%/devices/publish/plugin_config_test.cpp \
    %D%/devices/linked_test.cpp \
    %D%/devices/resources_test.cpp
$(%C%_devices_tests_OBJECTS): | $(kubelet_headers)

%C%_images_tests_CPPFLAGS = $(test_cppflags)
%C%_images_tests_LDFLAGS = $(AM_LDFLAGS) $(sync_seam) $(read_seam) -Wl,--wrap=clock_gettime -Wl,--wrap=posix_fadvise -Wl,--wrap=sync_file_range
%C%_images_tests_LDADD = $(test_libs) $(test_inputs) $(images_libs) $(RESOLV_LIBS) $(MICROHTTPD_LIBS) $(GNUTLS_LIBS)
%C%_images_tests_SOURCES = \
    %D%/images/bundle/host_facts_test.cpp \
    %D%/images/bundle/oci_test.cpp \
    %D%/images/bundle/reference_test.cpp \
    %D%/images/bundle/spec_test.cpp \
    %D%/images/bundle_test.cpp \
    %D%/images/bundles.cpp \
    %D%/images/bundles.hpp \
    %D%/images/clock_test.cpp \
    %D%/images/create/create_test.cpp \
    %D%/images/docker_archives.hpp \
    %D%/images/foreign.hpp \
    %D%/images/foreign/foreign_shapes_test.cpp \
    %D%/images/foreign/foreign_test.cpp \
    %D%/images/host/containerd_config_test.cpp \
    %D%/images/host/crio_pins_test.cpp \
    %D%/images/host/kubelet_test.cpp \
    %D%/images/host/mirrors_test.cpp \
    %D%/images/host/placement_test.cpp \
    %D%/images/host/registries_conf_test.cpp \
    %D%/images/hostile_import_test.cpp \
    %D%/images/hostile_input.hpp \
    %D%/images/hostile_input_test.cpp \
    %D%/images/import/blob_stream_test.cpp \
    %D%/images/import/foreign_import_test.cpp \
    %D%/images/import/import_test.cpp \
    %D%/images/page_cache_test.cpp \
    %D%/images/peers/blob_fetch_test.cpp \
    %D%/images/peers/dns_sd_test.cpp \
    %D%/images/peers/peers_test.cpp \
    %D%/images/peers/transfer_test.cpp \
    %D%/images/read_errors_test.cpp \
    %D%/images/registry/peer_service_test.cpp \
    %D%/images/registry/registry_test.cpp \
    %D%/images/registry/server_test.cpp \
    %D%/images/store/link_tree_test.cpp \
    %D%/images/store/packages_test.cpp \
    %D%/images/store/references_test.cpp \
    %D%/images/store/scrub_test.cpp \
    tests/support/fake_peer_client.cpp \
    tests/support/fake_peer_client.hpp \
    tests/support/read_seam.c \
    tests/support/read_seam.h \
    tests/support/sync_seam.c \
    tests/support/sync_seam.h

check_PROGRAMS += %D%/stub-nvml.so
%C%_stub_nvml_so_SOURCES = tests/support/stub_nvml.c tests/support/stub_nvml.h tests/support/stub_nvml_mig.c
%C%_stub_nvml_so_CFLAGS = -fPIC
%C%_stub_nvml_so_LDFLAGS = -shared
check_PROGRAMS += %D%/stub-cuda.so
%C%_stub_cuda_so_SOURCES = tests/support/stub_cuda.c
%C%_stub_cuda_so_CFLAGS = -fPIC
%C%_stub_cuda_so_LDFLAGS = -shared
check_PROGRAMS += %D%/stub-jit.so
%C%_stub_jit_so_SOURCES = tests/support/stub_jit.c
%C%_stub_jit_so_CFLAGS = -fPIC
%C%_stub_jit_so_LDFLAGS = -shared -Wl,-soname,libnvidia-ptxjitcompiler.so.1
EXTRA_%C%_kmod_tests_DEPENDENCIES = %D%/stub-nvml.so %D%/stub-cuda.so %D%/stub-jit.so
%C%_kmod_tests_CPPFLAGS = $(test_cppflags)
%C%_kmod_tests_LDADD = $(test_libs) $(test_inputs) $(kmod_libs)
%C%_kmod_tests_SOURCES = \
    %D%/kmod/boot/initramfs_images_test.cpp \
    %D%/kmod/boot/initramfs_test.cpp \
    %D%/kmod/boot/removed_kernels_test.cpp \
    %D%/kmod/boot/selection_files_test.cpp \
    %D%/kmod/build/build_test.cpp \
    %D%/kmod/build/job_server_test.cpp \
    %D%/kmod/build/log_test.cpp \
    %D%/kmod/build/sign_test.cpp \
    %D%/kmod/device/devices_test.cpp \
    %D%/kmod/device/isolated_test.cpp \
    %D%/kmod/holder/holders_test.cpp \
    %D%/kmod/holder/parse_test.cpp \
    %D%/kmod/import_test.cpp \
    %D%/kmod/kernel_tree.cpp \
    %D%/kmod/kernel_tree.hpp \
    %D%/kmod/load/autoload_block_test.cpp \
    %D%/kmod/load/console_test.cpp \
    %D%/kmod/load/converge_test.cpp \
    %D%/kmod/module/graph_test.cpp \
    %D%/kmod/module/info_test.cpp \
    %D%/kmod/module/kernel_state_test.cpp \
    %D%/kmod/plan/driver_component_test.cpp \
    %D%/kmod/plan/driver_plan_test.cpp \
    %D%/kmod/plan/requests_test.cpp \
    %D%/kmod/plan/select_plan_test.cpp \
    %D%/kmod/plan/steps_test.cpp \
    %D%/kmod/real_packages_test.cpp \
    %D%/kmod/store/flavour_choice_test.cpp \
    %D%/kmod/store/layout_test.cpp \
    %D%/kmod/store/manifest_test.cpp \
    %D%/kmod/store/remove_test.cpp \
    %D%/kmod/store/store_test.cpp \
    %D%/kmod/store_fixture.hpp \
    %D%/kmod/trust/kernel_keys_test.cpp \
    %D%/kmod/trust/module_trust_test.cpp \
    tests/support/fake_host_programs.cpp \
    tests/support/fake_loader.cpp

%C%_runtime_tests_CPPFLAGS = $(test_cppflags)
%C%_runtime_tests_LDADD = $(test_libs) $(test_inputs) $(runtime_libs)
%C%_runtime_tests_SOURCES = \
    %D%/runtime/cdi/component_test.cpp \
    %D%/runtime/cdi/driver_root_test.cpp \
    %D%/runtime/cdi/generate_test.cpp \
    %D%/runtime/cdi/spec_test.cpp \
    %D%/runtime/configure/docker_edit_test.cpp \
    %D%/runtime/gpu/gpus_test.cpp \
    %D%/runtime/hook/container_root_test.cpp \
    %D%/runtime/hook/container_state_test.cpp \
    %D%/runtime/hook/cuda_compat_test.cpp \
    %D%/runtime/hook/device_params_test.cpp \
    %D%/runtime/hook/ldconfig_test.cpp \
    %D%/runtime/hook/options_test.cpp \
    %D%/runtime/hook/search_path_test.cpp \
    %D%/runtime/hook/symlinks_test.cpp \
    %D%/runtime/inspect/cdi_support_test.cpp \
    %D%/runtime/inspect/containerd_files_test.cpp \
    %D%/runtime/inspect/containerd_merge_test.cpp \
    %D%/runtime/inspect/containerd_registries_test.cpp \
    %D%/runtime/mig_test.cpp \
    %D%/runtime/cdi/other_specs_test.cpp %D%/runtime/configure/busy_test.cpp \
    %D%/runtime/cdi/spec_files_test.cpp \
    %D%/runtime/cdi/validations_test.cpp \
    %D%/runtime/configure/change_test.cpp \
    %D%/runtime/configure/restart_test.cpp \
    %D%/runtime/configure/undo_test.cpp \
    %D%/runtime/inspect/config_test.cpp \
    %D%/runtime/inspect/find_test.cpp \
    %D%/runtime/inspect/state_test.cpp \
    %D%/runtime/toml/toml_edit_test.cpp \
    %D%/runtime/toml/toml_test.cpp \
    %D%/runtime/toml/toml_writer_test.cpp \
    %D%/runtime/toolkit/choice_test.cpp \
    %D%/runtime/toolkit/config_test.cpp

%C%_cluster_tests_CPPFLAGS = $(test_cppflags)
%C%_cluster_tests_LDADD = $(test_libs) $(cluster_libs)
%C%_cluster_tests_SOURCES = \
    %D%/cluster/kube/credentials_test.cpp \
    %D%/cluster/kube/kubeconfig_test.cpp \
    %D%/cluster/kube/shortened_test.cpp \
    %D%/cluster/kubeconfigs.hpp \
    %D%/cluster/node/gpu_labels_test.cpp \
    %D%/cluster/node/metrics_test.cpp \
    %D%/cluster/node/node_change_test.cpp \
    %D%/cluster/node/readiness_test.cpp \
    %D%/cluster/node/write_damper_test.cpp \
    %D%/cluster/operator_scenarios_test.cpp \
    %D%/cluster/policy/check_test.cpp \
    %D%/cluster/policy/gate_test.cpp \
    %D%/cluster/policy/policy_test.cpp \
    %D%/cluster/policy/windows_test.cpp \
    %D%/cluster/rollout/admission_test.cpp \
    %D%/cluster/rollout/fleet_document_test.cpp \
    %D%/cluster/rollout/gate_keeper_test.cpp \
    %D%/cluster/upgrade/pods_test.cpp \
    %D%/cluster/upgrade/upgrade_table_test.cpp \
    %D%/cluster/upgrade/upgrade_test.cpp \
    %D%/cluster/upgrade_rig.hpp

%C%_rollout_tests_CPPFLAGS = $(test_cppflags)
%C%_rollout_tests_LDFLAGS = $(AM_LDFLAGS) $(time_seam)
%C%_rollout_tests_LDADD = $(test_libs) $(cluster_libs) $(ctl_libs)
%C%_rollout_tests_SOURCES = \
    %D%/cluster/kube/watch_test.cpp \
    %D%/cluster/kubeconfigs.hpp \
    %D%/cluster/node/host_agent_test.cpp \
    %D%/cluster/rollout_hosts_test.cpp \
    %D%/cluster/rollout_story.hpp \
    %D%/cluster/rollout_test.cpp \
    %D%/cluster/upgrade/agent_test.cpp \
    %D%/cluster/upgrade/event_sender_test.cpp \
    %D%/cluster/upgrade/gpu_users_test.cpp \
    %D%/cluster/upgrade/pod_mover_test.cpp \
    %D%/programs/gpuhost_cluster/daemon_observer_test.cpp \
    %D%/programs/gpuhost_cluster/device_files_test.cpp \
    %D%/programs/gpuhost_cluster/host_test.cpp \
    %D%/programs/gpuhost_cluster/node_devices_test.cpp \
    daemon/programs/gpuhost_cluster/host.cpp \
    daemon/programs/gpuhost_cluster/host.hpp \
    daemon/programs/gpuhost_cluster/daemon_observer.cpp \
    daemon/programs/gpuhost_cluster/daemon_observer.hpp \
    daemon/programs/gpuhost_cluster/device_files.cpp \
    daemon/programs/gpuhost_cluster/device_files.hpp \
    daemon/programs/gpuhost_cluster/node_devices.cpp \
    daemon/programs/gpuhost_cluster/node_devices.hpp \
    daemon/programs/gpuhost_cluster/operation_result.cpp \
    daemon/programs/gpuhost_cluster/operation_result.hpp \
    daemon/programs/gpuhost_cluster/pod_access.cpp \
    daemon/programs/gpuhost_cluster/pod_access.hpp \
    daemon/programs/gpuhost_cluster/version_check.cpp \
    daemon/programs/gpuhost_cluster/version_check.hpp \
    tests/support/fake_daemon.cpp \
    tests/support/fake_daemon.hpp \
    tests/support/simulated_server.cpp \
    tests/support/simulated_server.hpp

%C%_exporter_tests_CPPFLAGS = $(test_cppflags)
%C%_exporter_tests_LDADD = $(test_libs) daemon/exporter/libexporter.a $(metrics_libs) $(client_libs)
%C%_exporter_tests_SOURCES = \
    %D%/exporter/metrics_test.cpp \
    %D%/exporter/textfile_test.cpp

%C%_host_tests_CPPFLAGS = $(test_cppflags)
%C%_host_tests_LDADD = $(test_libs) $(components_libs)
%C%_host_tests_SOURCES = \
    %D%/host/event_test.cpp \
    %D%/host/fake_launcher.hpp \
    %D%/host/journal_sink_test.cpp \
    %D%/host/manager/cluster_side_test.cpp \
    %D%/host/manager/kubelet_files_test.cpp \
    %D%/host/manager/manager_test.cpp \
    %D%/host/transaction/history_test.cpp \
    %D%/host/transaction/runner_test.cpp \
    %D%/host/worker/job_files_test.cpp \
    %D%/host/worker/launcher_direct_test.cpp \
    %D%/host/worker/launcher_systemd_test.cpp \
    %D%/host/worker/sandbox_test.cpp \
    %D%/host/worker/worker_test.cpp \
    %D%/programs/step_code_test.cpp

%C%_ctl_tests_CPPFLAGS = $(test_cppflags)
%C%_ctl_tests_LDADD = $(test_libs) $(test_inputs) $(ctl_libs)
%C%_ctl_tests_SOURCES = \
    %D%/client/async_client_test.cpp \
    %D%/ctl/bundle/output_test.cpp \
    %D%/ctl/cdi/view_test.cpp \
    %D%/ctl/cli/arguments_test.cpp \
    %D%/ctl/cli/help_test.cpp \
    %D%/ctl/cli/input_files_test.cpp \
    %D%/ctl/cli/line_diff_test.cpp \
    %D%/ctl/cli/output_file_test.cpp \
    %D%/ctl/cli/pager_test.cpp \
    %D%/ctl/cli/progress_test.cpp \
    %D%/ctl/cli/source_directory_test.cpp \
    %D%/ctl/cli/system_query_test.cpp \
    %D%/ctl/cli/table_test.cpp \
    %D%/ctl/cli/text_test.cpp \
    %D%/ctl/cli/view_operation_test.cpp \
    %D%/ctl/cli/view_plan_test.cpp \
    %D%/ctl/cli/width_test.cpp \
    %D%/ctl/cli/wrap_test.cpp \
    %D%/ctl/cluster/service_test.cpp \
    %D%/ctl/collect/apt_text_test.cpp \
    %D%/ctl/collect/collection_test.cpp \
    %D%/ctl/collect/distribution_test.cpp \
    %D%/ctl/completion_test.cpp \
    %D%/ctl/config/view_test.cpp \
    %D%/ctl/dashboard/documents.hpp \
    %D%/ctl/dashboard/frame_test.cpp \
    %D%/ctl/dashboard/layout_test.cpp \
    %D%/ctl/dashboard/model_test.cpp \
    %D%/ctl/dashboard/styled_test.cpp \
    %D%/ctl/dashboard/view_test.cpp \
    %D%/ctl/doctor/facts_test.cpp \
    %D%/ctl/doctor/modprobe_rules_test.cpp \
    %D%/ctl/doctor/verb_test.cpp \
    %D%/ctl/documents.hpp \
    %D%/ctl/driver/view_history_test.cpp \
    %D%/ctl/driver/view_test.cpp \
    %D%/ctl/fleet/view_test.cpp \
    %D%/ctl/gpu/view_test.cpp \
    %D%/ctl/host/verdict_test.cpp \
    %D%/ctl/host/view_status_test.cpp \
    %D%/ctl/report/newest_first_test.cpp \
    %D%/ctl/report/redact_test.cpp \
    %D%/ctl/report/verb_test.cpp \
    %D%/ctl/runtime/view_runtime_change_test.cpp \
    %D%/ctl/runtime/view_test.cpp \
    %D%/ctl/secure_boot/view_test.cpp \
    %D%/ctl/upgrade/choice_test.cpp \
    %D%/ctl/upgrade/input_test.cpp

# The same seam in a program that uses cmocka directly.
if HAVE_CMOCKA
check_PROGRAMS += %D%/base-cmocka
TESTS += %D%/base-cmocka
%C%_base_cmocka_CPPFLAGS = $(test_cppflags) $(CMOCKA_CFLAGS)
%C%_base_cmocka_LDFLAGS = $(AM_LDFLAGS) $(sync_seam)
%C%_base_cmocka_LDADD = $(base_libs) $(CMOCKA_LIBS)
%C%_base_cmocka_SOURCES = \
    %D%/base/root_shim.cpp \
    %D%/base/root_shim.h \
    %D%/base/root_sync_cmocka.c \
    tests/support/sync_seam.c \
    tests/support/sync_seam.h
endif
