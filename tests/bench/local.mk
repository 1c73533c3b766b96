# SPDX-License-Identifier: Apache-2.0
# Figures, each beside a baseline of the same run. Not in make check: a busy machine is no defect. make bench-vm: tests/vm.
EXTRA_DIST += %D%/bundle %D%/cdi %D%/runtime %D%/daemon %D%/hook %D%/registry

EXTRA_PROGRAMS += %D%/blob-client
CLEANFILES += %D%/blob-client
%C%_blob_client_SOURCES = %D%/blob_client.cpp
%C%_blob_client_CXXFLAGS = $(AM_CXXFLAGS) -pthread
%C%_blob_client_LDFLAGS = $(AM_LDFLAGS) -pthread

.PHONY: bench
bench: all $(check_PROGRAMS) %D%/blob-client
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/daemon
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/bundle
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/registry
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/hook
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/cdi
