# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += \
    %D%/design/bundles.md \
    %D%/design/cdi.md \
    %D%/design/cluster.md \
    %D%/design/driver.md \
    %D%/design/gpuhostctl.md \
    %D%/design/one-swap.md \
    %D%/design/runtimes.md \
    %D%/design/tests.md \
    %D%/design/transactions.md \
    %D%/design/workers.md
