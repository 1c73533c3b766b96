# SPDX-License-Identifier: Apache-2.0
# Builds the real programs for a fake root and a private bus. They have their own main files and objects, with
# tests/support/fake_loader.cpp instead of the files that call the kernel (kmod/load/loader_libkmod.cpp,
# kmod/device_node.cpp).
check_PROGRAMS += %D%/fake-daemon %D%/fake-worker
%C%_fake_daemon_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
%C%_fake_daemon_SOURCES = daemon/programs/gpuhostd.cpp %D%/short_deadlines.c %D%/../support/fake_loader.cpp tests/support/fake_trusted_program.cpp
%C%_fake_daemon_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=sd_event_add_time_relative
%C%_fake_daemon_LDADD = $(daemon_libs)
%C%_fake_worker_SOURCES = %D%/fake_worker.cpp %D%/../support/fake_loader.cpp tests/support/fake_host_programs.cpp tests/support/fake_trusted_program.cpp
%C%_fake_worker_LDADD = $(components_libs)

# Fakes org.gpuhost1, for tests of gpuhostctl.
check_PROGRAMS += %D%/fake-service
%C%_fake_service_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
%C%_fake_service_SOURCES = %D%/fake_service.cpp
%C%_fake_service_LDADD = $(base_libs) $(SYSTEMD_LIBS)

# Makes a program's syncs ineffective, for the test of power cuts.
check_PROGRAMS += %D%/no-sync.so
%C%_no_sync_so_SOURCES = %D%/no_sync.c
%C%_no_sync_so_CFLAGS = -fPIC
%C%_no_sync_so_LDFLAGS = -shared

# Simulates a directory server that does not answer, for the test of authorization.
check_PROGRAMS += %D%/no-names.so
%C%_no_names_so_SOURCES = %D%/no_names.c
%C%_no_names_so_CFLAGS = -fPIC
%C%_no_names_so_LDFLAGS = -shared

# Makes a worker die at one of its changes, for the test of runtimes.
check_PROGRAMS += %D%/die-at.so
%C%_die_at_so_SOURCES = %D%/die_at.c
%C%_die_at_so_CFLAGS = -fPIC
%C%_die_at_so_LDFLAGS = -shared

# Simulates a disk that can't read a part of a blob, for the test of the registry.
check_PROGRAMS += %D%/bad-disk.so
%C%_bad_disk_so_SOURCES = %D%/bad_disk.c
%C%_bad_disk_so_CFLAGS = -fPIC
%C%_bad_disk_so_LDFLAGS = -shared

# Simulates messages that the kernel has overwritten, for the test of the health of GPUs.
check_PROGRAMS += %D%/lost-messages.so
%C%_lost_messages_so_SOURCES = %D%/lost_messages.c
%C%_lost_messages_so_CFLAGS = -fPIC
%C%_lost_messages_so_LDFLAGS = -shared

# A hostile image's replacement of the ldconfig that gpuhost-cdi-hook runs.
check_PROGRAMS += %D%/hook-probe
%C%_hook_probe_SOURCES = %D%/hook_probe.c
%C%_hook_probe_LDFLAGS = $(AM_LDFLAGS) $(STATIC_LDFLAGS)

# Prints what our reader finds in a kubeconfig, for the table that is also compared with kubectl.
check_PROGRAMS += %D%/kubeconfig-probe
%C%_kubeconfig_probe_SOURCES = %D%/kubeconfig_probe.cpp
%C%_kubeconfig_probe_LDADD = $(cluster_libs)

host_tests = %D%/adopt_test.py %D%/authority_test.py %D%/report_test.py %D%/doctor_test.py %D%/secure_boot_test.py %D%/build_test.py %D%/bundle_archive_test.py %D%/bundle_changed_test.py %D%/bundle_crash_test.py %D%/bundle_driver_test.py %D%/bundle_files_test.py %D%/bundle_full_test.py %D%/bundle_packages_test.py %D%/bundle_test.py \
    %D%/bundle_unsigned_test.py %D%/bus_test.py %D%/cdi_publish_test.py %D%/cdi_test.py %D%/cli_test.py %D%/cockpit_test.py %D%/collect_test.py %D%/config_test.py %D%/converge_test.py %D%/crash_test.py %D%/ctl_test.py %D%/daemon_test.py %D%/dashboard_test.py %D%/devices_test.py %D%/discovery_test.py %D%/documents_test.py %D%/driver_import_test.py %D%/export_test.py %D%/exporter_test.py %D%/flood_test.py %D%/harness_test.py %D%/hook_runtime_test.py %D%/hook_test.py %D%/initramfs_test.py %D%/inventory_test.py %D%/kernels_test.py %D%/journals_test.py %D%/key_test.py %D%/kubeconfig_test.py %D%/mig_crash_test.py %D%/mig_test.py %D%/pager_test.py %D%/power_test.py \
    %D%/policy_test.py %D%/peers_test.py %D%/refusing_disk_test.py %D%/registry_test.py %D%/release_test.py %D%/reload_test.py %D%/rescue_test.py %D%/runtime_configure_test.py %D%/runtime_crash_test.py %D%/runtime_power_test.py %D%/runtime_test.py %D%/selinux_test.py \
    %D%/cluster_link_test.py %D%/cluster_test.py %D%/cluster_desired_test.py %D%/fleet_test.py %D%/gpus_test.py %D%/gpu_health_test.py %D%/gpu_labels_test.py %D%/toolkit_bundle_test.py %D%/toolkit_crash_test.py %D%/toolkit_test.py %D%/undo_test.py %D%/upgrade_test.py %D%/validations_test.py %D%/removal_test.py %D%/verdict_test.py
TESTS += $(host_tests)
EXTRA_DIST += $(host_tests) %D%/archive_files.py %D%/signing_files.py %D%/container_files.py %D%/crash.py %D%/devices_files.py %D%/driver_files.py %D%/el_files.py %D%/cluster_site.py %D%/cockpit_page.py %D%/fake_api.py %D%/fake_host.py %D%/fake_kubelet.py %D%/gates.py %D%/image_files.py %D%/initramfs_files.py %D%/mig_files.py %D%/nvlib.json %D%/one_version.py %D%/own_mounts.py %D%/package_files.py %D%/peer_files.py %D%/power_faults.py %D%/private_bus.py %D%/record_journals.py %D%/recorded_disk.py %D%/registry_service.py \
    %D%/run_files.py %D%/runtime_files.py %D%/terminal.py %D%/toolkit_files.py %D%/trees.py %D%/journals

clean-local: clean-power-cuts
.PHONY: clean-power-cuts
clean-power-cuts:
	rm -rf power-cuts-ext4 power-cuts-xfs
