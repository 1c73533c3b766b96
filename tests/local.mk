# SPDX-License-Identifier: Apache-2.0
# make check needs neither root nor a network nor a display. Every test prints TAP.
AM_TESTS_ENVIRONMENT = \
    CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
    top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
    top_builddir='$(abs_top_builddir)'; export top_builddir; \
    PYTHON='$(PYTHON)'; export PYTHON; \
    CLANG_FORMAT='$(CLANG_FORMAT)'; export CLANG_FORMAT; \
    PYTHONPATH='$(abs_top_srcdir)/tests/support'; export PYTHONPATH; \
    PYTHONDONTWRITEBYTECODE=1; export PYTHONDONTWRITEBYTECODE;
# Prints the ten slowest tests of a run.
check-local: check-TESTS
	@cat /dev/null $(TEST_LOGS) | sed -n 's/^# took //p' | sort -rn | sed 's/^/slowest: /;10q'
TEST_EXTENSIONS = .py
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/packaging/autotools/tap-driver.sh
PY_LOG_DRIVER = $(LOG_DRIVER)
LOG_COMPILER = $(PYTHON) $(top_srcdir)/tests/support/limited $${TEST_SECONDS:-600}
PY_LOG_COMPILER = $(LOG_COMPILER) $(PYTHON)
EXTRA_DIST += %D%/support/build-in %D%/support/changed-tests %D%/support/check-commits %D%/support/check-arm64 %D%/support/check-release %D%/support/check-rpm %D%/support/compatibility %D%/support/doc_blocks.py %D%/support/documents.py %D%/support/kubeconfigs.py %D%/support/limited %D%/support/mirror %D%/support/lines.py %D%/support/programs.py %D%/support/ran_with.py %D%/support/tap.py

if HAVE_GTEST
include %D%/support/local.mk
include %D%/unit/local.mk
endif
include %D%/host/local.mk
include %D%/source/local.mk
include %D%/vm/local.mk
include %D%/cluster/local.mk
include %D%/fuzz/local.mk
include %D%/bench/local.mk

# Print programs that need no other process, so they are fast under a sanitizer, the programs of host tests, and
# our libraries.
.PHONY: list-units list-host-programs list-libraries
list-units:
	@printf '%s\n' $(unit_programs) $(fuzz_programs)
list-host-programs:
	@printf '%s\n' $(filter tests/host/%,$(check_PROGRAMS))
list-libraries:
	@printf '%s\n' $(noinst_LIBRARIES)
