# SPDX-License-Identifier: Apache-2.0
gpuhostlibexecdir = $(libexecdir)/gpuhost

noinst_LIBRARIES += %D%/librooms.a
%C%_librooms_a_SOURCES = %D%/programs/components.cpp %D%/programs/components.hpp %D%/programs/bus_objects.cpp

sbin_PROGRAMS += gpuhostd
gpuhostd_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhostd_SOURCES = %D%/programs/gpuhostd.cpp
gpuhostd_LDADD = $(rooms_libs)

gpuhostlibexec_PROGRAMS = gpuhost-worker gpuhost-fetch
sbin_PROGRAMS += gpuhost-registry
gpuhost_registry_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_registry_SOURCES = %D%/programs/gpuhost_registry.cpp
gpuhost_registry_LDADD = $(images_libs) $(MICROHTTPD_LIBS) $(GNUTLS_LIBS) $(SYSTEMD_LIBS)

sbin_PROGRAMS += gpuhost-cluster
gpuhost_cluster_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_cluster_SOURCES = %D%/programs/gpuhost_cluster/main.cpp %D%/programs/gpuhost_cluster/fleet.cpp %D%/programs/gpuhost_cluster/fleet.hpp %D%/programs/gpuhost_cluster/host.cpp %D%/programs/gpuhost_cluster/host.hpp %D%/programs/gpuhost_cluster/look.cpp %D%/programs/gpuhost_cluster/look.hpp %D%/programs/gpuhost_cluster/program.cpp %D%/programs/gpuhost_cluster/program.hpp \
    %D%/programs/gpuhost_cluster/wish.cpp %D%/programs/gpuhost_cluster/wish.hpp
gpuhost_cluster_LDADD = $(cluster_libs) $(MICROHTTPD_LIBS) $(ctl_libs) $(host_libs)

# Its own program, so that nobody else has an HTTP client in him.
gpuhost_fetch_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_fetch_SOURCES = %D%/programs/gpuhost_fetch.cpp
gpuhost_fetch_LDADD = $(ctl_libs) $(http_libs) $(RESOLV_LIBS)

# Started with each container: it needs no library of the host, and but for JSON little of ours.
gpuhostlibexec_PROGRAMS += gpuhost-cdi-hook
gpuhost_cdi_hook_SOURCES = %D%/programs/gpuhost_cdi_hook.cpp
gpuhost_cdi_hook_LDFLAGS = $(AM_LDFLAGS) $(STATIC_LDFLAGS)
gpuhost_cdi_hook_LDADD = daemon/runtime/libruntime.a $(base_libs)

# Its own process, for a library that we have not written.
gpuhostlibexec_PROGRAMS += gpuhost-nvml
gpuhost_nvml_SOURCES = %D%/programs/gpuhost_nvml.cpp %D%/runtime/gpu/nvml_library.cpp %D%/runtime/gpu/nvml_library.hpp
gpuhost_nvml_LDADD = daemon/runtime/libruntime.a daemon/base/libinstalled.a $(base_libs) -ldl

gpuhost_worker_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_worker_SOURCES = %D%/programs/gpuhost_worker.cpp
gpuhost_worker_LDADD = $(rooms_libs)
