# SPDX-License-Identifier: Apache-2.0
# Figures, each beside a baseline of the same run. Not part of make check, which must pass on a busy machine.
# make bench-vm: tests/vm.
EXTRA_DIST += %D%/bundle %D%/cdi %D%/cluster_loop %D%/devices \
    %D%/runtime %D%/daemon %D%/holders %D%/hook %D%/registry %D%/rpc %D%/run_import %D%/rollout \
    %D%/rollouts/__init__.py \
    %D%/rollouts/admission.py \
    %D%/rollouts/audit.py \
    %D%/rollouts/driver_pods.py \
    %D%/rollouts/figures.py \
    %D%/rollouts/library.py \
    %D%/rollouts/ours.py \
    %D%/rollouts/parts.py \
    %D%/rollouts/stage.py \
    %D%/rollouts/states.py \
    %D%/rollouts/watching.py

EXTRA_PROGRAMS += %D%/admission %D%/blob-client %D%/holders-scan %D%/loop-watch.so
CLEANFILES += %D%/admission %D%/blob-client %D%/holders-scan %D%/loop-watch.so
%C%_loop_watch_so_SOURCES = %D%/loop_watch.c
%C%_loop_watch_so_CFLAGS = -fPIC
%C%_loop_watch_so_LDFLAGS = -shared
%C%_loop_watch_so_LDADD = -ldl
%C%_holders_scan_SOURCES = %D%/holders.cpp
%C%_holders_scan_LDADD = $(components_libs)
%C%_admission_SOURCES = %D%/admission.cpp
%C%_admission_LDADD = $(cluster_libs)
%C%_blob_client_SOURCES = %D%/blob_client.cpp
%C%_blob_client_CXXFLAGS = $(AM_CXXFLAGS) -pthread
%C%_blob_client_LDFLAGS = $(AM_LDFLAGS) -pthread

.PHONY: bench bench-cluster
bench: all $(check_PROGRAMS) %D%/blob-client %D%/holders-scan %D%/loop-watch.so
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/daemon
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/bundle
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/registry
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/hook
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/holders
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/run_import
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/cdi
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/devices
	$(PYTHON) $(top_srcdir)/tests/bench/cluster_loop

# Needs root and Go, as make check-cluster does.
bench-cluster: gpuhost-cluster tests/cluster/fleet/fleet tests/cluster/rpc/rpc-probe %D%/admission
	top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/rpc
	$(PYTHON) $(top_srcdir)/tests/bench/rollout --build .
