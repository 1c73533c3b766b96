# SPDX-License-Identifier: Apache-2.0
gpuhostlibexecdir = $(libexecdir)/gpuhost

noinst_LIBRARIES += %D%/librooms.a
%C%_librooms_a_SOURCES = %D%/rooms.cpp %D%/rooms.hpp %D%/rooms_bus.cpp

sbin_PROGRAMS += gpuhostd
gpuhostd_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhostd_SOURCES = %D%/main.cpp
gpuhostd_LDADD = $(rooms_libs)

gpuhostlibexec_PROGRAMS = gpuhost-worker gpuhost-fetch
sbin_PROGRAMS += gpuhost-registry
gpuhost_registry_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_registry_SOURCES = %D%/registry_main.cpp
gpuhost_registry_LDADD = $(images_libs) $(MICROHTTPD_LIBS) $(GNUTLS_LIBS) $(SYSTEMD_LIBS)

sbin_PROGRAMS += gpuhost-cluster
gpuhost_cluster_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_cluster_SOURCES = %D%/cluster_main.cpp %D%/cluster_fleet.cpp %D%/cluster_fleet.hpp %D%/cluster_host.cpp %D%/cluster_host.hpp %D%/cluster_look.cpp %D%/cluster_look.hpp %D%/cluster_program.cpp %D%/cluster_program.hpp \
    %D%/cluster_wish.cpp %D%/cluster_wish.hpp
gpuhost_cluster_LDADD = $(cluster_libs) $(MICROHTTPD_LIBS) $(ctl_libs) $(host_libs)

# Its own program, so that nobody else has an HTTP client in him.
gpuhost_fetch_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_fetch_SOURCES = %D%/fetch_main.cpp
gpuhost_fetch_LDADD = $(ctl_libs) $(http_libs) $(RESOLV_LIBS)

# Started with each container: it needs no library of the host, and but for JSON little of ours.
gpuhostlibexec_PROGRAMS += gpuhost-cdi-hook
gpuhost_cdi_hook_SOURCES = %D%/hook_main.cpp
gpuhost_cdi_hook_LDFLAGS = $(AM_LDFLAGS) $(STATIC_LDFLAGS)
gpuhost_cdi_hook_LDADD = daemon/runtime/libruntime.a $(base_libs)

# Its own process, for a library that we have not written.
gpuhostlibexec_PROGRAMS += gpuhost-nvml
gpuhost_nvml_SOURCES = %D%/nvml_main.cpp %D%/runtime/gpu/nvml_library.cpp %D%/runtime/gpu/nvml_library.hpp
gpuhost_nvml_LDADD = daemon/runtime/libruntime.a daemon/base/libinstalled.a $(base_libs) -ldl

gpuhost_worker_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
gpuhost_worker_SOURCES = %D%/worker_main.cpp
gpuhost_worker_LDADD = $(rooms_libs)
