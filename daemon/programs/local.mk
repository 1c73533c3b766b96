# SPDX-License-Identifier: Apache-2.0
# may include: all
gpuhostlibexecdir = $(libexecdir)/gpuhost

noinst_LIBRARIES += %D%/libcomponents.a
%C%_libcomponents_a_SOURCES = %D%/components.cpp %D%/components.hpp %D%/bus_objects.cpp \
    %D%/step_code.cpp

sbin_PROGRAMS += gpuhostd
gpuhostd_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhostd_SOURCES = %D%/gpuhostd.cpp
gpuhostd_LDADD = $(daemon_libs)

gpuhostlibexec_PROGRAMS = gpuhost-worker gpuhost-fetch
sbin_PROGRAMS += gpuhost-registry
gpuhost_registry_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_registry_SOURCES = %D%/gpuhost_registry.cpp
gpuhost_registry_LDADD = $(images_libs) $(MICROHTTPD_LIBS) $(GNUTLS_LIBS) $(SYSTEMD_LIBS)

sbin_PROGRAMS += gpuhost-exporter
gpuhost_exporter_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_exporter_SOURCES = %D%/gpuhost_exporter.cpp
gpuhost_exporter_LDADD = daemon/exporter/libexporter.a $(metrics_libs) $(client_libs)

sbin_PROGRAMS += gpuhost-cluster
gpuhost_cluster_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_cluster_SOURCES = \
    %D%/gpuhost_cluster/daemon_observer.cpp \
    %D%/gpuhost_cluster/daemon_observer.hpp \
    %D%/gpuhost_cluster/desired_publisher.cpp \
    %D%/gpuhost_cluster/desired_publisher.hpp \
    %D%/gpuhost_cluster/device_files.cpp \
    %D%/gpuhost_cluster/device_files.hpp \
    %D%/gpuhost_cluster/fleet.cpp \
    %D%/gpuhost_cluster/fleet.hpp \
    %D%/gpuhost_cluster/host.cpp \
    %D%/gpuhost_cluster/host.hpp \
    %D%/gpuhost_cluster/main.cpp \
    %D%/gpuhost_cluster/node_devices.cpp \
    %D%/gpuhost_cluster/node_devices.hpp \
    %D%/gpuhost_cluster/operation_result.cpp \
    %D%/gpuhost_cluster/operation_result.hpp \
    %D%/gpuhost_cluster/pod_access.cpp \
    %D%/gpuhost_cluster/pod_access.hpp \
    %D%/gpuhost_cluster/program.cpp \
    %D%/gpuhost_cluster/program.hpp \
    %D%/gpuhost_cluster/version_check.cpp \
    %D%/gpuhost_cluster/version_check.hpp
gpuhost_cluster_LDADD = daemon/devices/libdevices.a $(cluster_libs) $(metrics_libs) $(client_libs) $(host_libs)

sbin_PROGRAMS += gpuhost-devices
gpuhost_devices_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_devices_SOURCES = %D%/gpuhost_devices.cpp
gpuhost_devices_LDADD = $(plugin_libs)

# Only this program and gpuhost-cluster link an HTTP client.
gpuhost_fetch_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_fetch_SOURCES = %D%/gpuhost_fetch.cpp
gpuhost_fetch_LDADD = $(client_libs) $(images_libs) $(http_libs) $(RESOLV_LIBS)

# Runs at the start of each container. Uses no library of the host, and little of ours besides JSON.
gpuhostlibexec_PROGRAMS += gpuhost-cdi-hook
gpuhost_cdi_hook_SOURCES = %D%/gpuhost_cdi_hook.cpp
gpuhost_cdi_hook_LDFLAGS = $(AM_LDFLAGS) $(STATIC_LDFLAGS)
gpuhost_cdi_hook_LDADD = daemon/runtime/libruntime.a $(base_libs)

# A separate process for a third-party library.
gpuhostlibexec_PROGRAMS += gpuhost-nvml
gpuhost_nvml_SOURCES = %D%/gpuhost_nvml.cpp \
    daemon/devices/mig/nvml_geometry.cpp daemon/devices/mig/nvml_geometry.hpp \
    daemon/devices/mig/nvml_restore.cpp daemon/devices/mig/nvml_restore.hpp \
    daemon/runtime/gpu/nvml_library.cpp daemon/runtime/gpu/nvml_library.hpp
gpuhost_nvml_LDADD = daemon/devices/mig/libmig.a daemon/runtime/libruntime.a daemon/base/libinstalled.a $(base_libs) -ldl

gpuhost_worker_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_worker_SOURCES = %D%/gpuhost_worker.cpp
gpuhost_worker_LDADD = $(components_libs)
