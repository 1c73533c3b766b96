# SPDX-License-Identifier: Apache-2.0
# Figures, each beside a baseline of the same run. Not in make check: a busy machine is no defect. make bench-vm: tests/vm.
EXTRA_DIST += %D%/bundle %D%/daemon

.PHONY: bench
bench: all $(check_PROGRAMS)
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/daemon
	top_srcdir=$(top_srcdir) top_builddir=. $(PYTHON) $(top_srcdir)/tests/bench/bundle
